package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What statements go through while a leader dies or changes, as the recordings of real clusters show it: everything
// sharded hangs for half a minute, and what hung doesn't wake when it is over.

// Everything that waits when a leader dies is answered within a second of the new leader's appearance: reads
// with their rows, writes as the caller asked.
func TestStatementsCaughtByALeadersDeath(t *testing.T) {
	for _, limit := range []time.Duration{0, 2 * time.Second} {
		t.Run(fmt.Sprintf("stuck_statement_timeout=%v", limit), func(t *testing.T) {
			// Through an instance of another tier everything needs a hop, and what needs one hangs.
			tiers := []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"}}
			bubble(t, picotest.Config{Tiers: tiers}, func(t *testing.T, w *world) {
				const rows = 40
				w.filled(rows, options.WithStuckStatementTimeout(limit), options.WithAllowedTiers("cold"))
				pinned, err := w.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer pinned.Close()
				if err := pinned.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				prepared, err := w.PrepareContext(t.Context(), "select v from t where id = $1")
				if err != nil {
					t.Fatal(err)
				}
				defer prepared.Close()
				before := w.c.Stats()

				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				w.cluster.Node("i3").Kill()
				var reads, writes, patient answers
				for i := range rows {
					reads.begin(func() error {
						var v int
						return w.QueryRowContext(ctx, "select v from t where id = $1", i).Scan(&v)
					})
					reads.begin(func() error {
						var v int
						return prepared.QueryRowContext(ctx, i).Scan(&v)
					})
				}
				for range 5 {
					reads.begin(func() error { // spans both replicasets, without arguments
						var n int
						err := w.QueryRowContext(ctx, "select count(*) from t").Scan(&n)
						if err == nil && n != rows {
							err = fmt.Errorf("%d rows", n)
						}
						return err
					})
				}
				reads.begin(func() error {
					var v int
					return pinned.QueryRowContext(ctx, "select v from t where id = $1", 1).Scan(&v)
				})
				const idempotent = 3
				for i := range idempotent {
					reads.begin(func() error {
						_, err := w.ExecContext(picodata.IdempotentAnyTime(ctx), "update t set v = 2 where id = $1", i)
						return err
					})
				}
				total := 2*rows + 5 + 1 + idempotent
				const written = 10
				for i := range written {
					writes.begin(func() error {
						ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
						defer cancel()
						if i%2 == 0 { // one that may run in the server later is left to its context
							ctx = picodata.Idempotent(ctx)
						}
						_, err := w.ExecContext(ctx, "update t set v = 1 where id = $1", 10+i)
						return err
					})
				}
				patient.begin(func() error {
					ctx, cancel := context.WithTimeout(picodata.ToInstance(picodata.NoRetry(ctx), "i5"), 5*time.Minute)
					defer cancel()
					var v int
					return w.QueryRowContext(ctx, "select v from t where id = $1", 2).Scan(&v)
				})
				if err := w.hang(total + written + 1); err != nil {
					done, early := reads.count()
					_, earlyWrites := writes.count()
					t.Fatalf("%v; %d reads done; %d of %d hang; reads that failed: %v; writes: %v", err, done, w.cluster.Hanging(), total+written+1, early, earlyWrites)
				}
				time.Sleep(20 * time.Second)
				if n, errs := reads.count(); n > 0 {
					t.Fatalf("%d reads ended before the governor noticed: %v", n, errs)
				}
				w.untilLeads("default_2", "i4")
				seen := time.Now()
				time.Sleep(time.Second)
				synctest.Wait()
				if n, errs := reads.count(); n != total || len(errs) > 0 {
					t.Errorf("a second after the new leader was seen %d of %d reads are answered; errors: %v", n, total, errs)
				}
				reads.mu.Lock()
				t.Logf("the last read was answered %v after the new leader was seen", reads.last.Sub(seen))
				reads.mu.Unlock()
				after := w.c.Stats()
				if n := after.Statements.Revived - before.Statements.Revived; n != uint64(total) {
					t.Errorf("%d statements were revived, want %d", n, total)
				}
				if after.Statements.BudgetSpent != before.Statements.BudgetSpent {
					t.Errorf("waiting statements cost budget: %+v", after.Statements)
				}
				for _, n := range after.Nodes { // i3 isn't among them any more
					if n.Ejections > 0 {
						t.Errorf("waiting statements cost %s its health", n.Name)
					}
				}
				// New statements work at once; the writes that hung still do.
				w.must("update t set v = 7 where id = $1", 30)
				if n, _ := writes.count(); n > 0 {
					t.Errorf("%d writes ended", n)
				}
				if limit > 0 {
					time.Sleep(limit)
					synctest.Wait()
					n, errs := writes.count()
					if n != written || len(errs) != written {
						t.Errorf("after stuck_statement_timeout %d of %d writes have ended", n, written)
					}
					for _, err := range errs {
						if !picodata.IsOutcomeUnknown(err) || errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("a write: %v", err)
						}
					}
					if n, errs := patient.count(); n != 1 || len(errs) != 1 || picodata.IsOutcomeUnknown(errs[0]) {
						t.Errorf("a read that must not be run again: %v", errs)
					}
				} else {
					time.Sleep(5 * time.Minute)
				}
				writes.group.Wait()
				patient.group.Wait()
				if _, errs := writes.count(); limit == 0 {
					for _, err := range errs {
						if !picodata.IsOutcomeUnknown(err) || !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("a write: %v", err)
						}
					}
				}
				reads.group.Wait()
			})
		})
	}
}

// The same with what else can keep a statement waiting: a replica that is dead and not yet known to be, a leader that is
// frozen with its connections open, a stop during which forwarded reads get no answer.
func TestReadsCaughtOtherwise(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []options.Option
		harm func(w *world)
		over func(w *world) bool
	}{
		{"a dead replica", []options.Option{options.WithReadPreference(options.ReadPreferenceReplica)},
			func(w *world) { w.cluster.Node("i4").Kill() },
			func(w *world) bool { return !w.online("i4") }},
		{"a frozen leader", nil,
			func(w *world) { w.cluster.Node("i3").Freeze() },
			func(w *world) bool { return w.leaders()["default_2"] == "i4" }},
		{"a leader that is back before anybody missed it", nil,
			func(w *world) {
				w.cluster.Node("i3").Kill()
				time.AfterFunc(5*time.Second, func() { w.cluster.Node("i3").Start() })
			},
			func(w *world) bool { in, ok := w.c.Topology().ByName("i3"); return ok && in.Incarnation > 1 }},
		{"the only instance of its replicaset", nil,
			func(w *world) { w.cluster.Expel("i4"); w.cluster.Node("i3").Kill() },
			func(w *world) bool { return !w.online("i3") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, picotest.Config{}, func(t *testing.T, w *world) {
				w.filled(40, c.opts...)
				mine := map[int]bool{} // rows of default_1, which lives on
				for i := range 40 {
					var b uint64
					if err := w.QueryRowContext(t.Context(), "select bucket_id from t where id = $1", i).Scan(&b); err != nil {
						t.Fatal(err)
					}
					mine[i] = w.cluster.BucketOwner("default", b) == "default_1"
				}
				c.harm(w)
				var reads answers
				total := 0
				for i := range 40 {
					if !mine[i] && strings.HasPrefix(c.name, "the only") {
						continue
					}
					total++
					reads.begin(func() error {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						var v int
						return w.QueryRowContext(ctx, "select v from t where id = $1", i).Scan(&v)
					})
				}
				for range 100_000 {
					if c.over(w) {
						break
					}
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				n, errs := reads.count()
				if c.name == "a dead replica" {
					// Reads of default_2 have no replica to go to: they may hang on, the server's rule.
					if len(errs) > 0 {
						t.Errorf("errors: %v", errs)
					}
				} else if n != total || len(errs) > 0 {
					t.Errorf("%d of %d reads are answered; errors: %v", n, total, errs)
				}
				t.Logf("%d of %d reads answered, %d revived", n, total, w.c.Stats().Statements.Revived)
				reads.group.Wait()
			})
		})
	}
}

// A leader's planned change ends no statement that isn't stuck: a read that takes its time is left alone for a
// while and run again once at most, a write isn't touched.
func TestSlowStatementsOutliveASwitch(t *testing.T) {
	bubble(t, picotest.Config{}, func(t *testing.T, w *world) {
		w.filled(10, options.WithMaxRetries(0)) // waking is no retry
		hold := w.cluster.Hold(picotest.SQL("from t"))
		var quick, slow, write answers
		quick.begin(func() error { _, err := w.ExecContext(t.Context(), "select v from t where id = $1", 1); return err })
		if err := hold.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := w.cluster.SwitchLeader("default_2", "i4").Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.c.Stats()
		w.untilLeads("default_2", "i4")
		time.Sleep(100 * time.Millisecond)
		hold.Release(1)
		quick.group.Wait()
		if n := w.c.Stats().Statements.Revived; n != 0 {
			t.Errorf("a read that took a moment was run again")
		}
		hold.ReleaseAll()
		time.Sleep(time.Second) // nothing that begins now has to do with that switch

		reading := w.cluster.Hold(picotest.SQL("select v from t where id = $1"))
		writing := w.cluster.Hold(picotest.SQL("update t"))
		slow.begin(func() error { _, err := w.ExecContext(t.Context(), "select v from t where id = $1", 1); return err })
		write.begin(func() error { _, err := w.ExecContext(t.Context(), "update t set v = 5 where id = $1", 1); return err })
		if err := errors.Join(reading.Wait(t.Context(), 1), writing.Wait(t.Context(), 1)); err != nil {
			t.Fatal(err)
		}
		if err := w.cluster.SwitchLeader("default_2", "i3").Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.untilLeads("default_2", "i3")
		time.Sleep(20 * time.Second)
		if n := reading.Ever(); n != 2 {
			t.Errorf("a slow read was run %d times, want twice", n)
		}
		if n := writing.Ever(); n != 1 {
			t.Errorf("a slow write was run %d times", n)
		}
		reading.ReleaseAll()
		writing.ReleaseAll()
		slow.group.Wait()
		write.group.Wait()
		if _, errs := slow.count(); len(errs) > 0 {
			t.Errorf("the slow read: %v", errs)
		}
		if _, errs := write.count(); len(errs) > 0 {
			t.Errorf("the slow write: %v", errs)
		}
	})
}

// After its first refusal the old leader gets no write any more, whoever writes, before any snapshot says so;
// and a switch that is called off leaves it the leader.
func TestNoSecondWriteToTheOldLeader(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}, SwitchWindow: -1}
	for _, role := range []options.InstanceRole{options.RoleAny, options.RoleLeader} {
		t.Run(role.String(), func(t *testing.T) {
			bubble(t, cfg, func(t *testing.T, w *world) {
				w.filled(30, options.WithInstanceRole(role))
				// The control connection's node learns nothing for now.
				for _, n := range w.cluster.Nodes() {
					n.LagCatalog(true)
				}
				change := w.cluster.SwitchLeader("default_2", "i4")
				w.cluster.ResetCounters()
				var refused int
				id := 1000
				for range 60 {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					if _, err := w.ExecContext(ctx, "insert into t values ($1, 1)", id); err != nil {
						refused++
					}
					cancel()
					id++
				}
				atOld := 0
				for _, s := range w.cluster.Statements(picotest.SQL("insert into t")) {
					if s.Node == "i3" && s.ErrCode != "" {
						atOld++
					}
				}
				if refused == 0 || atOld != 1 {
					t.Errorf("%d writes met the switch, %d of them at the old leader; want one", refused, atOld)
				}
				// The switch is over: within what the correction lasts, writes find their leader.
				change.Finish()
				for _, n := range w.cluster.Nodes() {
					n.LagCatalog(false)
				}
				time.Sleep(6 * time.Second)
				w.untilLeads("default_2", "i4")
				w.cluster.ResetCounters()
				for range 100 {
					id++
					w.must("insert into t values ($1, 1)", id)
				}
				for _, s := range w.cluster.Statements(picotest.SQL("insert into t")) {
					if s.Forwarded() {
						t.Errorf("an INSERT went to %s and was forwarded", s.Node)
						break
					}
				}
				// One that is called off: the old leader is the leader again once the correction ends.
				w.cluster.SwitchLeader("default_2", "i3")
				for range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
					id++
					w.ExecContext(ctx, "insert into t values ($1, 1)", id)
					cancel()
				}
				w.cluster.SwitchLeader("default_2", "i4") // there and back
				time.Sleep(6 * time.Second)
				w.cluster.ResetCounters()
				for range 100 {
					id++
					w.must("insert into t values ($1, 1)", id)
				}
				for _, s := range w.cluster.Statements(picotest.SQL("insert into t")) {
					if s.Forwarded() {
						t.Errorf("after a switch that was called off an INSERT went to %s and was forwarded", s.Node)
						break
					}
				}
			})
		})
	}
}

// Who needs the leader of a replicaset that is between two waits for it, and doesn't fail.
func TestWaitForTheNextLeader(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 2}}, SwitchWindow: -1}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.filled(5, options.WithInstanceRole(options.RoleLeader), options.WithAcquireTimeout(10*time.Second))
		change := w.cluster.SwitchLeader("default_1", "i2")
		var writes answers
		for i := range 10 {
			writes.begin(func() error {
				_, err := w.ExecContext(t.Context(), "insert into t values ($1, 1)", 100+i)
				return err
			})
		}
		time.Sleep(3 * time.Second)
		if n, errs := writes.count(); n > 0 {
			t.Errorf("%d writes ended while nobody led: %v", n, errs)
		}
		change.Finish()
		time.Sleep(5 * time.Second) // the longer a switch takes, the more seldom the driver looks
		if n, errs := writes.count(); n != 10 || len(errs) > 0 {
			t.Errorf("%d of 10 writes are done, %v", n, errs)
		}
		// For good: the wait ends with acquire_timeout, and the error says what is missing.
		w.cluster.SwitchLeader("default_1", "i1")
		time.Sleep(time.Second)
		_, err := w.ExecContext(t.Context(), "insert into t values ($1, 1)", 200)
		var none *picodata.NoNodeError
		if !errors.As(err, &none) || !picodata.IsRetryable(err) {
			t.Errorf("while nobody leads: %v (%T)", err, err)
		}
		writes.group.Wait()
	})
}

// A multi-row INSERT over two replicasets that meets a switch leaves the rows of the other one. It is never run
// again, and the error says what may have happened; an INSERT of one row just waits.
func TestPartlyAppliedInsert(t *testing.T) {
	cfg := picotest.Config{SwitchWindow: -1}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.filled(0)
		change := w.cluster.SwitchLeader("default_2", "i4")
		w.cluster.ResetCounters()
		var b strings.Builder
		b.WriteString("insert into t values ")
		var args []any
		for i := range 40 {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "($%d, 0)", i+1)
			args = append(args, i)
		}
		_, err := w.ExecContext(t.Context(), b.String(), args...)
		var unknown *picodata.OutcomeUnknownError
		if !errors.As(err, &unknown) || !unknown.Partly || picodata.IsRetryable(err) {
			t.Errorf("%v (%T): want an *OutcomeUnknownError that says partly", err, err)
		}
		var e *picodata.Error
		if !errors.As(err, &e) || e.Kind != picodata.KindSwitchover {
			t.Errorf("the server's words aren't within: %v", err)
		}
		if n := len(w.cluster.Statements(picotest.SQL("insert into t values ($1, 0), "))); n != 1 {
			t.Errorf("it was run %d times", n)
		}
		rows, err := w.cluster.Query("select count(*) from t")
		if err != nil {
			t.Fatal(err)
		}
		if n := fmt.Sprint(rows[0][0]); n == "0" || n == "40" {
			t.Errorf("%s of 40 rows are there: the test's premise is that a part is", n)
		} else {
			t.Logf("%s of 40 rows are there", n)
		}
		// One row at a time waits for the new leader, unseen.
		var single answers
		for i := range 20 {
			single.begin(func() error {
				_, err := w.ExecContext(t.Context(), "insert into t values ($1, 1)", 1000+i)
				return err
			})
		}
		time.Sleep(60 * time.Millisecond)
		change.Finish()
		single.group.Wait()
		if _, errs := single.count(); len(errs) > 0 {
			t.Errorf("single rows: %v", errs)
		}
	})
}
