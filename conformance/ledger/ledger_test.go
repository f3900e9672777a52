package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/conformance/internal/account"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// virtual runs an event on a simulated cluster of two replicasets, in a bubble of virtual time with the server's own
// times, and hands over what it came to.
func virtual(t *testing.T, name string, change func(c *picotest.Cluster, cfg *config), check func(t *testing.T, r *result)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(nil, picotest.Config{Network: picotest.Memory, Seed: 1, Statements: -1})
		defer c.Close()
		cfg := config{
			dsn: c.AdminDSN(), options: []options.Option{options.WithDialFunc(c.DialContext)}, hooks: simulated(c), log: io.Discard,
			workers: 16, limit: 40 * time.Second, pause: 200 * time.Millisecond, before: 10 * time.Second, after: time.Second, patience: 3 * time.Minute,
		}
		if change != nil {
			change(c, &cfg)
		}
		r, err := open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := choose(name, names())
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.event(t.Context(), chosen[0])
		if err := errors.Join(err, r.close()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := res.print(&out, false); err != nil {
			t.Fatal(err)
		}
		t.Log(out.String())
		check(t, res)
	})
}

// clean wants a result with nothing doubled, lied about or lost, and every kind at work.
func clean(t *testing.T, r *result) {
	t.Helper()
	if n := wrong([]*result{r}, true); n > 0 {
		t.Errorf("%d things are wrong: %s", n, strings.Join(r.notes, "\n"))
	}
	for _, l := range r.lines {
		if l.acknowledged == 0 {
			t.Errorf("%s: none was acknowledged", l.kind)
		}
	}
}

// A leader is killed under 16 workers and 13 kinds of statement, with some of them on it. Nothing fails for good, and a worker has one
// statement of unknown outcome at most: the one that was under way. With routing=keys statements by key that need another
// replicaset go nowhere else, so that they never wait for the dead one, which takes half a minute.
func TestKillOfALeader(t *testing.T) {
	for _, routing := range []options.Routing{options.RoutingKeys, options.RoutingInsert} {
		t.Run(routing.String(), func(t *testing.T) {
			var held atomic.Int64
			virtual(t, "kill-leader", func(c *picotest.Cluster, cfg *config) {
				cfg.options = append(cfg.options, options.WithRouting(routing))
				kill := cfg.hooks.kill
				cfg.hooks.kill = func(ctx context.Context, instance string) error {
					hold := c.Node(instance).Hold(picotest.UserTables())
					if err := hold.Wait(ctx, 3); err != nil {
						return err
					}
					held.Store(int64(hold.Held()))
					err := kill(ctx, instance)
					hold.ReleaseAll()
					return err
				}
			}, func(t *testing.T, r *result) {
				clean(t, r)
				s := r.sum()
				if s.unknown > 16 || r.inFlight == 0 || held.Load() == 0 { // a Batch is one call, and has several statements there
					t.Errorf("%d of unknown outcome; %d were under way, %d of them held", s.unknown, r.inFlight, held.Load())
				}
				if s.late > 0 {
					t.Errorf("%d statements that began after the death are of unknown outcome: they were sent to where they hang", s.late)
				}
				if s.refused > 0 {
					t.Errorf("%d failed for good: %s", s.refused, s.reasons())
				}
				for _, l := range r.lines[:3] {
					if l.slowest < 20*time.Second {
						t.Errorf("%s: %v at the slowest: none waited for the next leader, so this shows nothing", l.kind, l.slowest)
					}
					if routing == options.RoutingKeys && (l.elsewhere < 0 || l.elsewhere > 100*time.Millisecond) {
						t.Errorf("%s: %v at the replicaset that nothing happened to", l.kind, l.elsewhere)
					}
				}
			})
		})
	}
}

// What is planted is found: a driver that runs a write twice, one that says of a write that ran that it didn't, and a cluster
// that loses a row.
func TestFaultyDriversAreFound(t *testing.T) {
	type exec = func(ctx context.Context, query string, args ...any) (sql.Result, error)
	faulty := func(fault func(exec, context.Context, string, ...any) (sql.Result, error)) func(*sql.DB) func(context.Context, string, ...any) (sql.Result, error) {
		return func(db *sql.DB) func(context.Context, string, ...any) (sql.Result, error) {
			return func(ctx context.Context, query string, args ...any) (sql.Result, error) {
				return fault(db.ExecContext, ctx, query, args...)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(cfg *config)
		found  func(l *line) int
	}{
		{"twice", func(cfg *config) {
			cfg.exec = faulty(func(run exec, ctx context.Context, query string, args ...any) (sql.Result, error) {
				if _, err := run(ctx, query, args...); err != nil {
					return nil, err
				}
				return run(ctx, query, args...)
			})
		}, func(l *line) int { return l.doubled }},
		{"lies", func(cfg *config) {
			cfg.exec = faulty(func(run exec, ctx context.Context, query string, args ...any) (sql.Result, error) {
				_, err := run(ctx, query, args...)
				return nil, errors.Join(err, errors.New("it didn't run"))
			})
		}, func(l *line) int { return l.lied }},
		{"loses", func(cfg *config) {
			cfg.tamper = func(ctx context.Context, admin *sql.DB) error {
				_, err := admin.ExecContext(ctx, "DELETE FROM ledger_rows WHERE id >= $1 AND id < $2", stride, stride+seeds)
				return err
			}
		}, func(l *line) int { return l.lost }},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, "ddl", func(_ *picotest.Cluster, cfg *config) { c.change(cfg) }, func(t *testing.T, r *result) {
				if c.found(r.lines[0]) == 0 { // keyed INSERT
					t.Errorf("not found: %+v", *r.lines[0])
				}
				if n := wrong([]*result{r}, true); n == 0 {
					t.Error("nothing counts as wrong")
				}
			})
		})
	}
}

// Every row of the table, on the server's own times.
func TestEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("runs all events")
	}
	for _, name := range names() {
		t.Run(name, func(t *testing.T) { virtual(t, name, nil, clean) })
	}
}

// What comparing finds, each kind of finding in the column that it belongs into.
func TestSettle(t *testing.T) {
	b := newBook()
	const a, up, del = stride + 100, 2*stride + 100, 4*stride + 100
	b.wrote(b.rows, 0, account.Acknowledged, a, a+1, a+2)
	b.wrote(b.rows, 0, account.Refused, a+3)
	b.wrote(b.rows, 0, account.InDoubt, a+4, a+5)
	b.counted(1, account.Acknowledged, up, up+1)
	b.wrote(b.rows, 3, account.Acknowledged, del, del+1, del+2)
	b.removed(del, account.Acknowledged)
	b.removed(del+1, account.Refused)
	b.removed(del+2, account.InDoubt)
	b.settle(contents{
		rows:    map[int]int{a: 1, a + 2: 2, a + 3: 1, a + 4: 1, a + 6: 1, del: 1},
		numbers: map[int]int{up: 3},
	})
	for i, want := range map[int][3]int{0: {1, 1, 2}, 1: {2, 1, 0}, 3: {0, 1, 1}} {
		if l := b.lines[i]; l.doubled != want[0] || l.lost != want[1] || l.lied != want[2] {
			t.Errorf("%s: %d doubled, %d lost, %d lied, want %v", l.kind, l.doubled, l.lost, l.lied, want)
		}
	}
}

// A hook's command gets names as single words, and its failure is told with what it printed.
func TestCommand(t *testing.T) {
	if err := command("test {instance} = \"a'b c\" && test {replicaset} = r")(t.Context(), "r", "a'b c"); err != nil {
		t.Error(err)
	}
	err := onInstance("echo no such unit {instance} >&2; exit 3")(t.Context(), "i1")
	if err == nil || !strings.Contains(err.Error(), "no such unit i1") {
		t.Errorf("got %v", err)
	}
	if onInstance("") != nil {
		t.Error("a hook without a command")
	}
}

// Mistakes on the command line are told before anything is touched.
func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-events nope", "want some of switchover"}, {"-format html", "want text or markdown"}, {"-workers 0", "more than 0"}, {"now", "flags alone"},
	} {
		if err := ledger(t.Context(), strings.Fields(c.args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// Of a cluster that others run, events happen as far as something says how: a switchover in SQL, and no kill.
func TestADSNAlone(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Scale: 0.01})
	var out bytes.Buffer
	err := ledger(t.Context(), []string{"-dsn", c.AdminDSN(), "-events", "switchover,kill-leader", "-before", "50ms", "-after", "50ms", "-format", "markdown", "-lost"}, &out, io.Discard)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"kill-leader is left out", "| kind | acknowledged |", "| keyed INSERT | ", "| switchover | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if rows, err := c.Query("SELECT name FROM _pico_table WHERE name = 'ledger_rows'"); err != nil || len(rows) > 0 {
		t.Errorf("left behind: %v, %v", rows, err)
	}
}
