package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// blackOut sends every address of the cluster to nowhere, and ends what is connected.
func (w *world) blackOut(where string) {
	for _, n := range w.cluster.Nodes() {
		w.route(n.Addr(), where)
		n.DropConnections()
	}
}

// acquire_timeout bounds a statement's whole wait, however often dials fail meanwhile, and the error tells what
// they failed of instead of giving advice about caps.
func TestAcquireTimeoutBoundsTheWholeWait(t *testing.T) {
	for _, where := range []string{"black hole", "refused"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, threeNodes(), func(t *testing.T, w *world) {
				w.open(nil, options.WithAcquireTimeout(5*time.Second), options.WithConnectTimeout(2*time.Second), options.WithMaxRetries(100))
				w.must("select 1")
				w.blackOut(where)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it meets the ends of the old connections
				_, _ = w.ExecContext(ctx, "select 1")
				cancel()
				for _, timed := range []bool{false, true} {
					ctx := t.Context()
					if timed {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, time.Hour)
						defer cancel()
					}
					began := time.Now()
					_, err := w.ExecContext(ctx, "insert into t values (1)")
					if took := time.Since(began); took > 5*time.Second || timed && took < 4*time.Second {
						t.Errorf("with a deadline: %v: it took %v: %v", timed, took, err)
					}
					var timeout *picodata.AcquireTimeoutError
					var dial *picodata.DialError
					if !errors.As(err, &dial) || !picodata.IsRetryable(err) {
						t.Errorf("the causes of the dials aren't told: %v", err)
					}
					if errors.As(err, &timeout) && timeout.Waited != 5*time.Second || strings.Contains(err.Error(), "raise the caps") {
						t.Errorf("got %v", err)
					}
				}
			})
		})
	}
}

// Nodes that refuse connections or don't exist end a first statement after a few rounds, whatever time its context
// has; a cluster that was reached before is waited for as long as the context says.
func TestColdStart(t *testing.T) {
	static := []options.Option{options.WithMode(options.Bootstrap), options.WithTopology(false), options.WithRouting(options.RoutingOff)}
	for name, opts := range map[string][]options.Option{"discovery": nil, "a fixed list": static} {
		t.Run(name, func(t *testing.T) {
			bubble(t, threeNodes(), func(t *testing.T, w *world) {
				for _, n := range w.cluster.Nodes() {
					w.route(n.Addr(), "refused")
				}
				w.open(nil, append(opts, options.WithAcquireTimeout(time.Minute))...)
				for _, timed := range []bool{false, true} {
					ctx := t.Context()
					if timed {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, time.Hour)
						defer cancel()
					}
					began := time.Now()
					err := w.PingContext(ctx)
					// The second one hears what the next dial of ejected nodes has come to.
					if took := time.Since(began); took > 2*time.Second || !timed && took > time.Second || !errors.Is(err, syscall.ECONNREFUSED) || !picodata.IsRetryable(err) {
						t.Errorf("with a deadline: %v: %v after %v", timed, err, took)
					}
					for _, n := range w.cluster.Nodes() {
						if w.dialled(n.Addr()) == 0 {
							t.Errorf("%s wasn't tried", n.Name())
						}
					}
				}
				for _, n := range w.cluster.Nodes() {
					w.route(n.Addr(), n.Addr())
				}
				w.must("select 1")
				w.blackOut("refused")
				time.AfterFunc(10*time.Second, func() {
					for _, n := range w.cluster.Nodes() {
						w.route(n.Addr(), n.Addr())
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
				defer cancel()
				if err := w.PingContext(ctx); err != nil {
					t.Errorf("it was reached before, and the context had time: %v", err)
				}
			})
		})
	}
}

// A context's error is retryable where it is proved that nothing of the statement ran: it came while the statement waited
// for a connection or for a leader, or before a byte was sent. errors.Is finds the context's error in any case.
func TestContextErrorTellsWhetherTheStatementRan(t *testing.T) {
	bubble(t, threeNodes(), func(t *testing.T, w *world) {
		w.open(nil, options.WithMaxConns(3), options.WithMaxConnsPerInstance(1))
		w.must("create table t (id int primary key, v int)")
		w.must("insert into t values (1, 0)")
		soon := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second) }
		check := func(what string, err error, retryable, unknown bool) {
			t.Helper()
			if !errors.Is(err, context.DeadlineExceeded) || picodata.IsRetryable(err) != retryable || picodata.IsOutcomeUnknown(err) != unknown {
				t.Errorf("%s: retryable %v, unknown %v: %v", what, picodata.IsRetryable(err), picodata.IsOutcomeUnknown(err), err)
			}
		}
		run := func(query string, read bool) error {
			ctx, cancel := soon()
			defer cancel()
			if read {
				var v int
				return w.QueryRowContext(ctx, query).Scan(&v)
			}
			_, err := w.ExecContext(ctx, query)
			return err
		}
		hold := w.cluster.Hold(picotest.SQL("from t"))
		check("a read that was sent", run("select v from t where id = 1", true), false, false)
		hold.ReleaseAll()
		hold = w.cluster.Hold(picotest.SQL("update t"))
		check("a write that was sent", run("update t set v = 1", false), false, true)
		hold.ReleaseAll()
		time.Sleep(time.Second)
		var rows []*sql.Rows
		for range 3 {
			r, err := w.QueryContext(t.Context(), "select v from t")
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		before := len(w.cluster.Statements(picotest.SQL("from t"))) + len(w.cluster.Statements(picotest.SQL("update t")))
		check("a read without a connection", run("select v from t where id = 1", true), true, false)
		check("a write without a connection", run("update t set v = 1", false), true, false)
		b := picodata.NewBatch()
		b.Queue("update t set v = 1")
		ctx, cancel := soon()
		defer cancel()
		check("a batch without a connection", b.Run(ctx, w.DB), true, false)
		if n := len(w.cluster.Statements(picotest.SQL("from t"))) + len(w.cluster.Statements(picotest.SQL("update t"))); n != before {
			t.Errorf("%d statements were sent", n-before)
		}
		for _, r := range rows {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
