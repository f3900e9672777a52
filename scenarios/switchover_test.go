package scenarios_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A change of a leader that takes its time costs no statement that is proved to touch one bucket: by its key in every
// routing mode, or as an INSERT of one row. Each takes effect once.
func TestALongSwitchoverCostsNothing(t *testing.T) {
	for name, routing := range map[string]options.Routing{"insert": options.RoutingInsert, "keys": options.RoutingKeys, "off": options.RoutingOff} {
		t.Run(name, func(t *testing.T) {
			cfg := pairs()
			cfg.SwitchWindow = 3 * time.Second // far more than a few retries take
			bubble(t, cfg, func(t *testing.T, w *world) {
				w.open(nil, options.WithRouting(routing))
				w.must("create table t (id int primary key, n int) distributed by (id)")
				const rows = 40
				for i := range rows {
					w.must("insert into t values ($1, 0)", i)
				}
				w.must("update t set n = n + 1 where id = $1", 0) // tables are known from here on
				time.Sleep(2 * time.Second)
				done := w.cluster.SwitchLeader("default_1", "i2")
				var all answers
				var undone atomic.Int64
				for i := range rows {
					all.begin(func() error {
						_, err := w.ExecContext(t.Context(), "update t set n = n + 1 where id = $1", i)
						if err != nil {
							undone.Add(1)
						}
						return err
					})
					all.begin(func() error {
						_, err := w.ExecContext(t.Context(), "insert into t values ($1, 1)", 1000+i)
						return err
					})
				}
				all.group.Wait()
				<-done.Done()
				if _, errs := all.count(); len(errs) != 0 {
					t.Errorf("%d failed: %v", len(errs), errs[0])
				}
				var sum, count int
				if err := w.QueryRow("select sum(n), count(*) from t").Scan(&sum, &count); err != nil {
					t.Fatal(err)
				}
				if count != 2*rows || sum != 2*rows+1 {
					t.Errorf("%d rows with a sum of %d, want %d and %d", count, sum, 2*rows, 2*rows+1)
				}
				if s := w.c.Stats().Statements; s.Retries == 0 || s.BudgetSpent != 0 {
					t.Errorf("%+v: the test shows nothing, or the budget bounds what time should", s)
				}
			})
		})
	}
}

// A refusal that doesn't pass ends after switchover_timeout, or with the context, with the server's error.
func TestSwitchoverTimeout(t *testing.T) {
	for _, c := range []struct {
		name    string
		opts    []options.Option
		context time.Duration
		least   time.Duration
		most    time.Duration
	}{
		// The last pause, up to 1¼ s, begins before the end.
		{"by itself", []options.Option{options.WithSwitchoverTimeout(4 * time.Second)}, 0, 4 * time.Second, 5500 * time.Millisecond},
		{"by the context", nil, 2 * time.Second, 2 * time.Second, 2 * time.Second},
		{"without it max_retries counts", []options.Option{options.WithSwitchoverTimeout(0)}, 0, 0, time.Second},
		{"max_retries=0 leaves it out", []options.Option{options.WithMaxRetries(0)}, 0, 0, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, threeNodes(), func(t *testing.T, w *world) {
				w.open(nil, c.opts...)
				w.must("create table t (id int primary key, n int) distributed by (id)")
				fault := w.cluster.Fail("XX000", "sbroad: retry is required: DML was sent to the replica during master switchover", picotest.SQL("insert into t")).Times(-1)
				ctx := t.Context()
				if c.context > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.context)
					defer cancel()
				}
				began := time.Now()
				_, err := w.ExecContext(ctx, "insert into t values ($1, 0)", 1)
				took := time.Since(began)
				var e *picodata.Error
				if !errors.As(err, &e) || e.Kind != picodata.KindSwitchover || picodata.IsOutcomeUnknown(err) {
					t.Errorf("got %v", err)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %v", took)
				}
				if n := fault.Count(); took > time.Second && n < int(took/(200*time.Millisecond)) {
					t.Errorf("%d attempts in %v", n, took)
				}
			})
		})
	}
}
