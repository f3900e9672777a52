package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/picodata/go-picodata"
)

// requestTimeout bounds a request, and so every statement of it: the driver tries again within it, and not beyond.
const requestTimeout = 5 * time.Second

// maxPage is how many orders one page has at most.
const maxPage = 100

// server answers requests.
type server struct {
	store  *store
	logger *slog.Logger
}

func handler(s *store, t *telemetry, logger *slog.Logger) http.Handler {
	h := &server{s, logger}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /customers/{customer}/orders/{id}", h.put)
	mux.HandleFunc("GET /customers/{customer}/orders", h.list)
	mux.HandleFunc("GET /customers/{customer}/total", h.total)
	mux.HandleFunc("POST /load", h.load)
	mux.HandleFunc("GET /healthz", h.health)
	mux.Handle("GET /metrics", t.handler())
	return traced(mux)
}

// traced makes a span of each request, whose children are the statements' spans, and bounds it.
func traced(next http.Handler) http.Handler {
	tracer := otel.Tracer("shop")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		ctx, span := tracer.Start(ctx, r.Method)
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// put stores an order under an id that the client makes: sent again, it changes nothing.
func (h *server) put(w http.ResponseWriter, r *http.Request) {
	var o order
	customer := h.number(w, r, "customer")
	if customer == 0 {
		return
	}
	id := h.number(w, r, "id")
	if id == 0 {
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&o); err != nil || o.Item == "" || o.Amount <= 0 {
		http.Error(w, `want {"item": "tea", "amount": 150}`, http.StatusBadRequest)
		return
	}
	o.Customer, o.ID, o.Created = customer, id, time.Now().UTC().Truncate(time.Microsecond)
	h.answer(w, o, h.store.add(r.Context(), &o))
}

func (h *server) list(w http.ResponseWriter, r *http.Request) {
	customer := h.number(w, r, "customer")
	if customer == 0 {
		return
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > maxPage {
		limit = maxPage
	}
	list, err := h.store.page(r.Context(), customer, after, limit)
	h.answer(w, list, err)
}

func (h *server) total(w http.ResponseWriter, r *http.Request) {
	if customer := h.number(w, r, "customer"); customer != 0 {
		t, err := h.store.total(r.Context(), customer)
		h.answer(w, t, err)
	}
}

// load takes a JSON array of orders.
func (h *server) load(w http.ResponseWriter, r *http.Request) {
	var orders []order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&orders); err != nil {
		http.Error(w, "want a JSON array of orders", http.StatusBadRequest)
		return
	}
	h.answer(w, map[string]int{"loaded": len(orders)}, h.store.load(r.Context(), orders))
}

// health says whether a statement can be run.
func (h *server) health(w http.ResponseWriter, r *http.Request) {
	h.answer(w, map[string]string{"status": "ok"}, h.store.db.PingContext(r.Context()))
}

// number reads a positive number of the path; 0 = there is none, and the client was told.
func (h *server) number(w http.ResponseWriter, r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		http.Error(w, name+": want a positive number", http.StatusBadRequest)
		return 0
	}
	return n
}

// answer sends a value, or what an error means to a client.
func (h *server) answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		h.logger.Warn("request failed", "error", err, "retryable", picodata.IsRetryable(err))
		w.Header().Set("Retry-After", "1")
		switch {
		case picodata.IsOutcomeUnknown(err):
			// Nobody can tell whether it was stored. Every write of this service can be repeated, so the client is asked to.
			http.Error(w, "it isn't known whether this was stored; send it again", http.StatusServiceUnavailable)
		case picodata.IsRetryable(err), errors.Is(err, context.DeadlineExceeded):
			http.Error(w, "the database is busy; send it again", http.StatusServiceUnavailable)
		default:
			w.Header().Del("Retry-After")
			http.Error(w, "internal error", http.StatusInternalServerError)
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
