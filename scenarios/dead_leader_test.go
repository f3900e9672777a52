package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// mourning is a cluster of two replicasets in a bubble of virtual time, with a sharded table whose keys are known by
// owner, and a global one.
func mourning(t *testing.T, scenario func(t *testing.T, w *world, keys map[string][]int), opts ...options.Option) {
	t.Helper()
	cfg := picotest.Config{Statements: 200_000, Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.open(nil, opts...)
		w.must("create table t (id int primary key, v int) option (timeout = 3.0)")
		w.must("create table g (id int primary key, v int) distributed globally")
		time.Sleep(time.Second)
		keys := map[string][]int{}
		for i := range 200 {
			w.must("insert into t values ($1, 0)", i)
			p, err := w.c.Explain(t.Context(), "insert into t values ($1, 0)", i)
			if err != nil || p.Reason != "routed" {
				t.Fatalf("%+v, %v", p, err)
			}
			keys[p.Replicaset] = append(keys[p.Replicaset], i)
		}
		w.must("insert into g values (1, 0)")
		scenario(t, w, keys)
	})
}

// kind is one kind of statement under a leader's death.
type kind struct {
	name string
	run  func(ctx context.Context, w *world, n int) error
}

func kindsOf(healthy, orphaned []int) []kind {
	one := func(query string, ids []int) func(context.Context, *world, int) error {
		return func(ctx context.Context, w *world, n int) error {
			var v int
			return w.QueryRowContext(ctx, query, ids[n%len(ids)]).Scan(&v)
		}
	}
	write := func(query string, ids []int) func(context.Context, *world, int) error {
		return func(ctx context.Context, w *world, n int) error {
			_, err := w.ExecContext(ctx, query, ids[n%len(ids)])
			return err
		}
	}
	return []kind{
		{"healthy select", one("select v from t where id = $1", healthy)},
		{"healthy update", write("update t set v = v + 1 where id = $1", healthy)},
		{"healthy delete", write("delete from t where id = $1 and v < 0", healthy)},
		{"orphaned select", one("select v from t where id = $1", orphaned)},
		{"orphaned update", write("update t set v = v + 1 where id = $1", orphaned)},
		{"unkeyed select", one("select count(*) from t where v >= $1 - 1000", []int{0})},
		{"join", one("select count(*) from t join g on t.id = g.id where t.v >= $1 - 1000", []int{0})},
		{"global select", one("select v from g where id = $1", []int{1})},
	}
}

// tallied counts how statements of a kind ended, and the slowest.
type tallied struct {
	done, unknown, failed int
	slowest               time.Duration
	err                   error
}

// mourn kills or freezes the leader of default_2 under 16 workers, two for each kind, and gives what came of it.
func mourn(t *testing.T, w *world, keys map[string][]int, strike func(*picotest.Node)) map[string]*tallied {
	t.Helper()
	victim := w.cluster.Leader("default_2")
	var mu sync.Mutex
	all := map[string]*tallied{}
	end := make(chan struct{})
	var group sync.WaitGroup
	for _, k := range kindsOf(keys["default_1"], keys["default_2"]) {
		all[k.name] = &tallied{}
		for range 2 {
			group.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-end:
						return
					case <-time.After(20 * time.Millisecond):
					}
					ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
					began := time.Now()
					err := k.run(ctx, w, n)
					took := time.Since(began)
					cancel()
					mu.Lock()
					c := all[k.name]
					switch {
					case err == nil:
						c.done++
						c.slowest = max(c.slowest, took)
					case picodata.IsOutcomeUnknown(err):
						c.unknown++
					default:
						c.failed++
						c.err = err
					}
					mu.Unlock()
				}
			})
		}
	}
	time.Sleep(2 * time.Second)
	strike(victim)
	time.Sleep(10 * time.Second)
	mu.Lock()
	before := map[string]int{}
	for name, c := range all {
		before[name] = c.done
	}
	mu.Unlock()
	time.Sleep(50 * time.Second)
	close(end)
	group.Wait()
	for _, k := range []string{"orphaned select", "orphaned update", "unkeyed select", "join"} {
		if all[k].done <= before[k] {
			t.Errorf("%s: none succeeded after the failover", k)
		}
	}
	for name, c := range all {
		t.Logf("%-16s %5d done, %d unknown, %d failed, slowest %v, last error %v", name, c.done, c.unknown, c.failed, c.slowest, c.err)
	}
	return all
}

// A leader is killed under load, and the cluster needs half a minute to notice: what its replicaset has to answer waits in
// the driver and succeeds with the next leader, and the rest doesn't notice.
func TestDeadLeaderHoldsUpOnlyItsOwn(t *testing.T) {
	for _, routing := range []options.Routing{options.RoutingKeys, options.RoutingInsert} {
		t.Run(routing.String(), func(t *testing.T) {
			mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
				all := mourn(t, w, keys, func(n *picotest.Node) { n.Kill() })
				unknown := 0
				for name, c := range all {
					unknown += c.unknown
					if c.failed > 0 {
						t.Errorf("%s: %d failed: %v", name, c.failed, c.err)
					}
				}
				if unknown > 16 {
					t.Errorf("%d of unknown outcome by 16 workers", unknown)
				}
				for _, name := range []string{"healthy select", "healthy update", "healthy delete", "global select"} {
					c := all[name]
					if routing == options.RoutingKeys && (c.slowest > 100*time.Millisecond || c.unknown > 0) {
						t.Errorf("%s: slowest %v, %d unknown", name, c.slowest, c.unknown)
					}
					// What was on its way through another node at the death hangs there: reads are taken back soon, and each
					// of the two workers may lose the writes of the moment until keys are known.
					if c.slowest > 2*time.Second || c.unknown > 4 || c.done < 2000 {
						t.Errorf("%s: %d done, slowest %v, %d unknown", name, c.done, c.slowest, c.unknown)
					}
				}
				if n := w.cluster.Hanging(); n > 16 {
					t.Errorf("%d statements hang on servers", n)
				}
				if len(w.c.Stats().DeadLeaders) != 0 {
					t.Errorf("%v", w.c.Stats().DeadLeaders)
				}
			}, options.WithRouting(routing))
		})
	}
}

// A leader freezes: its connections stay, nothing answers. It is found out by a probe.
func TestFrozenLeaderHoldsUpOnlyItsOwn(t *testing.T) {
	mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
		all := mourn(t, w, keys, func(n *picotest.Node) { n.Freeze() })
		for _, name := range []string{"healthy select", "healthy update", "global select"} {
			if c := all[name]; c.slowest > 6*time.Second || c.unknown+c.failed > 0 {
				t.Errorf("%s: slowest %v, %d unknown, %d failed: %v", name, c.slowest, c.unknown, c.failed, c.err)
			}
		}
	}, options.WithRouting(options.RoutingKeys))
}

// dead_leader=fail tells at once, and a context's end tells that nothing was sent.
func TestDeadLeaderFails(t *testing.T) {
	for _, fail := range []bool{true, false} {
		t.Run(fmt.Sprint("fail=", fail), func(t *testing.T) {
			mode := options.DeadLeaderWait
			if fail {
				mode = options.DeadLeaderFail
			}
			mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
				orphan := keys["default_2"][0]
				victim := w.cluster.Leader("default_2")
				victim.Kill()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				// What was idle there is used up.
				for range 5 {
					_, _ = w.ExecContext(ctx, "update t set v = 1 where id = $1", orphan)
					if len(w.c.Stats().DeadLeaders) > 0 {
						break
					}
				}
				began := time.Now()
				ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := w.ExecContext(ctx, "update t set v = 1 where id = $1", orphan)
				var le *picodata.LeaderlessError
				if !errors.As(err, &le) || le.Instance != victim.Name() || le.Replicaset != "default_2" || !picodata.IsRetryable(err) || picodata.IsOutcomeUnknown(err) {
					t.Fatalf("%v", err)
				}
				if took := time.Since(began); fail != (took < time.Second) || !fail && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v: %v", took, err)
				}
				if d := w.c.Stats().DeadLeaders; len(d) != 1 || d[0].Node.Name != victim.Name() {
					t.Errorf("%+v", d)
				}
			}, options.WithRouting(options.RoutingKeys), options.WithDeadLeader(mode))
		})
	}
}

// Statements of a batch wait for a dead leader together, and the others don't wait with them.
func TestBatchDoesNotWaitForTheDead(t *testing.T) {
	mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
		orphans, healthy := keys["default_2"], keys["default_1"]
		w.cluster.Leader("default_2").Kill()
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = w.ExecContext(ctx, "update t set v = 1 where id = $1", orphans[0])
			cancel()
		}
		if len(w.c.Stats().DeadLeaders) != 1 {
			t.Fatal("nobody is known to be dead")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, ctx := range []context.Context{ctx, t.Context()} { // shorter than dead_leader_timeout, and without an end
			b := picodata.NewBatch()
			for _, id := range orphans[:5] {
				b.Queue("update t set v = 2 where id = $1", id)
			}
			read := b.Queue("select v from t where id = $1", healthy[0])
			began := time.Now()
			var le *picodata.LeaderlessError
			if err := b.Run(ctx, w.DB); !errors.As(err, &le) || !strings.Contains(err.Error(), "5 of 6") {
				t.Errorf("%v", err)
			}
			var v int
			if err := read.Scan(&v); err != nil {
				t.Errorf("the healthy one: %v", err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("five waits one after the other: %v", took)
			}
		}
	}, options.WithRouting(options.RoutingKeys), options.WithDeadLeaderTimeout(2*time.Second))
}

// With read_preference=any and routing=keys reads by key don't notice that a leader dies, nor do those whose one replicaset
// the caller names.
func TestReadsByKeySurviveALeader(t *testing.T) {
	mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
		stop := w.work(8, 10*time.Millisecond, func() {
			began := time.Now()
			var v int
			if err := w.QueryRowContext(t.Context(), "select v from t where id = $1", keys["default_2"][rand.IntN(len(keys["default_2"]))]).Scan(&v); err != nil {
				t.Error(err)
			}
			ctx := picodata.ToReplicaset(t.Context(), "default_2")
			if err := w.QueryRowContext(ctx, "select v from g where id = $1", 1).Scan(&v); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("two reads took %v", took)
			}
		})
		time.Sleep(2 * time.Second)
		w.cluster.Leader("default_2").Kill()
		time.Sleep(60 * time.Second)
		stop()
	}, options.WithRouting(options.RoutingKeys), options.WithReadPreference(options.ReadPreferenceAny))
}

// stale_reads=degraded: reads of a dead leader's rows are answered at once by its replica, writes wait, and with the next
// leader everything goes where it belongs again.
func TestStaleReads(t *testing.T) {
	for _, mode := range []options.StaleReads{options.StaleReadsOff, options.StaleReadsDegraded} {
		t.Run(mode.String(), func(t *testing.T) {
			mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
				orphan := keys["default_2"][0]
				victim := w.cluster.Leader("default_2")
				victim.Kill()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				for len(w.c.Stats().DeadLeaders) == 0 && ctx.Err() == nil { // what was idle there is used up
					_, _ = w.ExecContext(ctx, "update t set v = 1 where id = $1", orphan)
				}
				read := func(query string, args ...any) error {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					var v any
					return w.QueryRowContext(ctx, query, args...).Scan(&v)
				}
				w.cluster.ResetCounters()
				began := time.Now()
				reads := 1
				if mode == options.StaleReadsDegraded {
					reads = 10
				}
				for range reads {
					if err := read("select v from t where id = $1", orphan); (err == nil) != (mode == options.StaleReadsDegraded) {
						t.Fatalf("%v: %v", mode, err)
					}
				}
				if took := time.Since(began); mode == options.StaleReadsDegraded && took > time.Second {
					t.Errorf("ten reads took %v", took)
				}
				if n := w.c.Stats().Routing["stale_read"]; (n == 10) != (mode == options.StaleReadsDegraded) {
					t.Errorf("%v: %d counted", mode, n)
				}
				// What may not be stale, or isn't one owner's, waits.
				for _, query := range []string{"select count(*) from t where v >= $1", "select v from t where id = $1 option (read_preference = leader)"} {
					if err := read(query, orphan); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v", query, err)
					}
				}
				ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if _, err := w.ExecContext(ctx, "update t set v = 1 where id = $1", orphan); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a write: %v", err)
				}
				for n := 0; n < 60_000 && (w.leaders()["default_2"] == "" || w.leaders()["default_2"] == victim.Name()); n++ {
					time.Sleep(time.Millisecond)
				}
				before := w.c.Stats().Routing["stale_read"]
				if err := read("select v from t where id = $1", orphan); err != nil || w.c.Stats().Routing["stale_read"] != before {
					t.Errorf("with the next leader: %v, %d counted", err, w.c.Stats().Routing["stale_read"]-before)
				}
			}, options.WithRouting(options.RoutingKeys), options.WithStaleReads(mode))
		})
	}
}

// Nobody is at a leader when it dies. The first statement for it is the one that finds out, by a dial that is refused: it waits like
// all others, and isn't handed to another node, where it would hang and end as of unknown outcome. So do those of a Batch.
func TestFirstStatementAfterADeathWaits(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprint("batch=", batch), func(t *testing.T) {
			mourning(t, func(t *testing.T, w *world, keys map[string][]int) {
				const query = "update t set v = v + 1 where id = $1"
				orphan, other := keys["default_2"][0], keys["default_1"][0]
				w.must(query, orphan)
				w.must(query, other)
				w.cluster.Leader("default_2").Kill()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				var err error
				if batch {
					b := picodata.NewBatch()
					first, second := b.Queue(query, orphan), b.Queue(query, other)
					_ = b.Run(ctx, w.DB)
					if err = first.Err(); second.Err() != nil {
						t.Errorf("a neighbour: %v", second.Err())
					}
				} else {
					_, err = w.ExecContext(ctx, query, orphan)
				}
				var leaderless *picodata.LeaderlessError
				if !errors.As(err, &leaderless) || picodata.IsOutcomeUnknown(err) {
					t.Errorf("want a wait for the next leader, got %v", err)
				}
				if n := w.cluster.Hanging(); n > 0 {
					t.Errorf("%d statements hang on servers", n)
				}
			}, options.WithRouting(options.RoutingKeys))
		})
	}
}
