package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// service is one that runs in the test, on a simulated cluster.
type service struct {
	t    *testing.T
	url  string
	stop func() error
}

func startService(t *testing.T, c *picotest.Cluster) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx, slog.New(slog.DiscardHandler), c.AdminDSN(), listener) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error("the service ended with:", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return &service{t, "http://" + listener.Addr().String(), stop}
}

// do sends a request and reads the answer into v, unless it is nil.
func (s *service) do(method, path, body string, v any) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if p, ok := v.(*string); ok {
		*p = string(text)
	} else if v != nil {
		if err := json.Unmarshal(text, v); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return answer.StatusCode
}

// TestShop: orders are stored once however often they are sent, pages miss none, and totals agree.
func TestShop(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := startService(t, c)
	for i := 1; i <= 25; i++ {
		for range 2 {
			if code := s.do("PUT", fmt.Sprintf("/customers/7/orders/%d", i), fmt.Sprintf(`{"item": "tea", "amount": %d}`, i), nil); code != http.StatusOK {
				t.Fatalf("order %d: %d", i, code)
			}
		}
	}
	var got total
	if s.do("GET", "/customers/7/total", "", &got); got != (total{7, 25, 325}) {
		t.Errorf("%+v", got)
	}
	if s.do("GET", "/customers/8/total", "", &got); got != (total{Customer: 8}) {
		t.Errorf("a customer without orders: %+v", got)
	}
	var ids []int64
	for after := int64(0); ; {
		var page []order
		s.do("GET", fmt.Sprintf("/customers/7/orders?after=%d&limit=10", after), "", &page)
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			ids = append(ids, o.ID)
		}
		after = ids[len(ids)-1]
	}
	if len(ids) != 25 || ids[0] != 1 || ids[24] != 25 {
		t.Errorf("the pages have %v", ids)
	}
	for _, bad := range []string{`{"item": ""}`, `nonsense`, `{"item": "tea", "amount": -1}`} {
		if code := s.do("PUT", "/customers/7/orders/99", bad, nil); code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, code)
		}
	}
	if code := s.do("GET", "/customers/x/total", "", nil); code != http.StatusBadRequest {
		t.Errorf("a customer x: %d", code)
	}
}

// TestLoad: a load is in few statements, and harmless the second time.
func TestLoad(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := startService(t, c)
	s.do("GET", "/healthz", "", nil)
	var orders []order
	for i := range 1200 {
		orders = append(orders, order{Customer: int64(1 + i%3), ID: int64(1 + i), Item: "tea", Amount: 2})
	}
	text, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	c.ResetCounters()
	for range 2 {
		if code := s.do("POST", "/load", string(text), nil); code != http.StatusOK {
			t.Fatalf("%d", code)
		}
	}
	n := 0
	for _, st := range c.Statements(picotest.SQL(`INSERT INTO "orders"`)) {
		if st.Hops != 0 {
			t.Errorf("rows were forwarded: %d hops", st.Hops)
		}
		if st.ErrText == "" { // a machine so slow that a login takes 250 ms has a chunk go to another node, which refuses it (forward = off)
			n++
		}
	}
	if n != 16 { // a load: 500 and 300 = 256+32+8+4 of one owner, 400 = 256+128+16 of the other
		t.Errorf("%d INSERTs for two loads of 1200 rows, want 16", n)
	}
	var got total
	if s.do("GET", "/customers/2/total", "", &got); got != (total{2, 400, 800}) {
		t.Errorf("%+v", got)
	}
}

// TestSwitchover: leaders change under load, and no request fails.
func TestSwitchover(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := startService(t, c)
	s.do("GET", "/healthz", "", nil)
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := 1; i <= 50; i++ {
				if code := s.do("PUT", fmt.Sprintf("/customers/%d/orders/%d", w+1, i), `{"item": "tea", "amount": 1}`, nil); code != http.StatusOK {
					t.Errorf("customer %d, order %d: %d", w+1, i, code)
				}
			}
		})
	}
	c.SwitchLeader("default_1", "i2")
	c.SwitchLeader("default_2", "i4")
	wait.Wait()
	for w := range 4 {
		var got total
		if s.do("GET", fmt.Sprintf("/customers/%d/total", w+1), "", &got); got != (total{int64(w + 1), 50, 50}) {
			t.Errorf("%+v", got)
		}
	}
}

// TestStop: a request that is under way when the service stops is answered, and the connections are closed.
func TestStop(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := startService(t, c)
	s.do("GET", "/healthz", "", nil)
	hold := c.Hold(picotest.SQL("FROM totals"))
	code := make(chan int, 1)
	go func() { code <- s.do("GET", "/customers/1/total", "", nil) }()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	hold.ReleaseAll()
	if got := <-code; got != http.StatusOK {
		t.Errorf("the request under way was answered with %d", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for _, n := range c.Nodes() {
		if err := c.WaitConnections(t.Context(), n.Name(), 0); err != nil {
			t.Errorf("connections to %s were left open: %v", n.Name(), err)
		}
	}
}

// TestMetrics: the nodes and the statements are among the metrics.
func TestMetrics(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := startService(t, c)
	s.do("GET", "/customers/1/total", "", nil)
	var text string
	s.do("GET", "/metrics", "", &text)
	for _, name := range []string{"picodata_", `node="i1"`} {
		if !strings.Contains(text, name) {
			t.Errorf("no %s among the metrics", name)
		}
	}
}
