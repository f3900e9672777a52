package scenarios_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What happens to a statement whose connection, node or leader is lost. The cluster counts what was executed;
// what the driver says must agree with it.

// badconn-duplicate-write: Whatever a connection dies of, at whatever point, an INSERT that was handed to a
// server is executed once at most, and the caller is told that nobody knows.
func TestBadconnDuplicateWrite(t *testing.T) {
	insert := picotest.SQL("insert into t")
	at := func(p picotest.Point, cut func(*picotest.Node, picotest.Point, ...picotest.Match) *picotest.Fault) func(*picotest.Cluster) []*picotest.Fault {
		return func(c *picotest.Cluster) (set []*picotest.Fault) {
			for _, n := range c.Nodes() {
				set = append(set, cut(n, p, insert))
			}
			return set
		}
	}
	faults := []struct {
		name string
		ran  int // how often the server has executed it in the end
		set  func(c *picotest.Cluster) []*picotest.Fault
		time time.Duration // the caller's, where nothing else ends the wait
	}{
		{"closed after it was executed", 1, at(picotest.BeforeAnswer(), (*picotest.Node).CloseAfter), 0},
		{"reset after it was executed", 1, at(picotest.BeforeAnswer(), (*picotest.Node).ResetAfter), 0},
		{"silent after it was executed", 1, at(picotest.BeforeAnswer(), (*picotest.Node).HangAfter), time.Second},
		{"closed between CommandComplete and ReadyForQuery", 1, at(picotest.BeforeReady(), (*picotest.Node).CloseAfter), 0},
		{"silent between CommandComplete and ReadyForQuery", 1, at(picotest.BeforeReady(), (*picotest.Node).HangAfter), time.Second},
		{"closed before it was executed", 0, at(picotest.OnExecute(), (*picotest.Node).CloseAfter), 0},
		{"silent before it was executed", 0, at(picotest.OnExecute(), (*picotest.Node).HangAfter), time.Second},
	}
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil, options.WithTransactions(options.TransactionsAutocommit), options.WithStatementCacheThreshold(2))
		w.must("create table t (id int primary key, v text)")
		id := 0
		for _, f := range faults {
			for _, way := range ways {
				// Without arguments, with an unnamed statement, with a named one.
				for _, form := range []string{"simple", "unnamed", "named"} {
					name := f.name + ", " + way.name + ", " + form
					id++
					query, args := fmt.Sprintf("insert into t values (%d, 'x')", id), []any(nil)
					switch form {
					case "unnamed":
						query, args = fmt.Sprintf("insert into t values ($1, 'x%d')", id), []any{id}
					case "named":
						query, args = "insert into t values ($1, $2)", []any{id, "x"}
						for range 12 { // until every connection knows its name
							id++
							w.must(query, id, "y")
						}
						args[0] = id + 1
						id++
					}
					set := f.set(w.cluster)
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if f.time > 0 {
						ctx, cancel = context.WithTimeout(ctx, f.time)
					}
					err := way.exec(ctx, w, query, args...)
					cancel()
					met := 0
					for _, f := range set {
						met += f.Count()
						f.Remove()
					}
					if met != 1 {
						t.Errorf("%s: the statement reached %d servers", name, met)
					}
					var unknown *picodata.OutcomeUnknownError
					switch {
					case !errors.As(err, &unknown):
						t.Errorf("%s: %v (%T), want *OutcomeUnknownError", name, err, err)
					case errors.Is(err, driver.ErrBadConn) || picodata.IsRetryable(err):
						t.Errorf("%s: the error invites to run it again: %v", name, err)
					case unknown.Node.Name == "" || !strings.Contains(unknown.Fingerprint, "INSERT") && !strings.Contains(unknown.Fingerprint, "insert"):
						t.Errorf("%s: node %v, fingerprint %q", name, unknown.Node, unknown.Fingerprint)
					case f.time > 0 && !errors.Is(err, context.DeadlineExceeded) && way.name != "db.Query, unread": // Close waits half a second
						t.Errorf("%s: %v isn't the context's error", name, err)
					}
					var rows int
					if err := w.QueryRowContext(t.Context(), "select count(*) from t where id = $1", id).Scan(&rows); err != nil {
						t.Fatalf("%s: afterwards: %v", name, err)
					}
					if rows != f.ran {
						t.Errorf("%s: %d rows, want %d", name, rows, f.ran)
					}
				}
			}
		}
		if n := w.c.Stats().Total.InUse; n != 0 {
			t.Errorf("%d leases are left", n)
		}
	})
}

// The neighbours of a lost answer: a connection that dies while the statement is still on its way to the server.
func TestLostWhileSending(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil, options.WithRouting(options.RoutingOff))
		w.must("create table t (id int primary key, v text)")
		for i := range 60 {
			var set []*picotest.Fault
			for _, n := range w.cluster.Nodes() {
				set = append(set, n.CloseAfter(picotest.AfterBytes(2*i+1), picotest.ByUser("admin")))
			}
			_, err := w.ExecContext(t.Context(), "insert into t values ($1, $2)", i, strings.Repeat("x", 100))
			for _, f := range set {
				f.Remove()
			}
			var rows int
			if err := w.QueryRowContext(t.Context(), "select count(*) from t where id = $1", i).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			switch {
			case err == nil && rows != 1, picodata.IsOutcomeUnknown(err) && rows != 0:
				t.Errorf("cut after %d bytes: %d rows, %v", 2*i+1, rows, err)
			case err != nil && !picodata.IsOutcomeUnknown(err):
				t.Errorf("cut after %d bytes: %v", 2*i+1, err)
			}
		}
	})
}

// A statement that the caller calls idempotent is run again, and one that isn't sent at all needs no such word.
func TestIdempotentAndNoRetry(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil)
		w.must("create table t (id int primary key)")
		insert := picotest.SQL("insert into t")
		const text = "insert into t values ($1) on conflict do nothing"
		count := func(id int) (n int) {
			if err := w.QueryRowContext(t.Context(), "select count(*) from t where id = $1", id).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}

		f := w.cluster.CloseAfter(picotest.BeforeAnswer(), insert).Times(3)
		if _, err := w.ExecContext(picodata.Idempotent(t.Context()), text, 1); err != nil || f.Count() != 3 || count(1) != 1 {
			t.Errorf("idempotent: %v, %d faults met, %d rows", err, f.Count(), count(1))
		}
		// max_retries is 3: the fourth fault in a row is the caller's.
		f = w.cluster.CloseAfter(picotest.BeforeAnswer(), insert).Times(-1)
		if _, err := w.ExecContext(picodata.Idempotent(t.Context()), text, 2); !picodata.IsOutcomeUnknown(err) || f.Count() != 4 {
			t.Errorf("idempotent beyond max_retries: %v after %d attempts", err, f.Count())
		}
		f.Remove()
		f = w.cluster.CloseAfter(picotest.BeforeAnswer(), insert).Times(-1)
		if _, err := w.ExecContext(picodata.NoRetry(picodata.Idempotent(t.Context())), text, 3); !picodata.IsOutcomeUnknown(err) || f.Count() != 1 {
			t.Errorf("NoRetry: %v after %d attempts", err, f.Count())
		}
		f.Remove()
		f = w.cluster.CloseAfter(picotest.OnExecute(), picotest.SQL("select 41")).Times(-1)
		if errs := w.read("select 41", 1); len(errs) != 1 || picodata.IsOutcomeUnknown(errs[0]) || f.Count() != 4 {
			t.Errorf("a read beyond max_retries: %v after %d attempts", errs, f.Count())
		}
		f.Remove()
		f = w.cluster.CloseAfter(picotest.OnExecute(), picotest.SQL("select 42")).Times(-1)
		var n int
		if err := w.QueryRowContext(picodata.NoRetry(t.Context()), "select 42").Scan(&n); err == nil || f.Count() != 1 {
			t.Errorf("a read with NoRetry: %v after %d attempts", err, f.Count())
		}
		f.Remove()

		// The first attempt took effect, the second is refused for that: the caller must hear of both.
		f = w.cluster.CloseAfter(picotest.BeforeAnswer(), insert)
		_, err := w.ExecContext(picodata.Idempotent(t.Context()), "insert into t values ($1)", 5)
		if !picodata.IsOutcomeUnknown(err) || !picodata.IsUniqueViolation(err) || picodata.IsRetryable(err) || count(5) != 1 {
			t.Errorf("an INSERT that wasn't as idempotent as the caller said: %v, %d rows", err, count(5))
		}
		f.Remove()

		// The connections die while idle: the statement is sent once, without permission to repeat anything.
		for i := range 10 {
			for _, n := range w.cluster.Nodes() {
				n.DropConnections()
			}
			time.Sleep(5 * time.Second)
			w.cluster.ResetCounters()
			if _, err := w.ExecContext(picodata.NoRetry(t.Context()), "insert into t values ($1)", 100+i); err != nil || count(100+i) != 1 {
				t.Errorf("after idle connections died: %v, %d rows", err, count(100+i))
			}
		}
	})
}

// A plain read whose connection dies before its first row is answered by another node, unseen; after the
// first row it fails, and no row comes twice.
func TestReadsOutliveConnections(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil)
		w.must("create table t (id int primary key, v text)")
		for i := range 20 {
			w.must("insert into t values ($1, $2)", i, strings.Repeat("v", 50))
		}
		read := picotest.SQL("from t")
		points := map[string]picotest.Point{
			"before it ran": picotest.OnExecute(), "when it was parsed": picotest.OnParse(), "before the answer": picotest.BeforeAnswer(),
			"before the first row": picotest.AfterRows(0), "inside the first row": picotest.InsideRow(0),
		}
		query := func(ctx context.Context, args ...any) (n int, err error) {
			rows, err := w.QueryContext(ctx, "select id, v from t where id >= $1", args...)
			if err != nil {
				return 0, err
			}
			defer rows.Close()
			seen := map[int]bool{}
			for rows.Next() {
				var id int
				var v string
				if err := rows.Scan(&id, &v); err != nil {
					return 0, err
				}
				if seen[id] || v != strings.Repeat("v", 50) {
					t.Errorf("row %d came twice or isn't whole: %q", id, v)
				}
				seen[id] = true
			}
			return len(seen), rows.Err()
		}
		for name, p := range points {
			for attempts := 1; attempts <= 3; attempts++ {
				for range 6 { // unnamed and named statements, on all nodes
					w.read("select 1", 10*attempts) // fills the budget of retries
					f := w.cluster.CloseAfter(p, read).Times(attempts)
					before := w.c.Stats().Statements
					if n, err := query(t.Context(), 0); err != nil || n != 20 {
						t.Errorf("%s, %d times: %d rows, %v", name, attempts, n, err)
					}
					after := w.c.Stats().Statements
					if p != picotest.OnParse() && int(after.Retries-before.Retries) != f.Count() {
						t.Errorf("%s: %d faults, %d retries counted", name, f.Count(), after.Retries-before.Retries)
					}
					if after.Failed != before.Failed || after.Succeeded != before.Succeeded+1 {
						t.Errorf("%s: counted as %d successes and %d failures", name, after.Succeeded-before.Succeeded, after.Failed-before.Failed)
					}
					f.Remove()
				}
			}
		}
		for _, p := range []picotest.Point{picotest.AfterRows(1), picotest.InsideRow(1), picotest.AfterRows(19), picotest.InsideRow(7)} {
			f := w.cluster.CloseAfter(p, read)
			n, err := query(t.Context(), 0)
			if err == nil || n >= 20 || f.Count() != 1 || picodata.IsOutcomeUnknown(err) {
				t.Errorf("cut after a row was delivered: %d rows, %v", n, err)
			}
			f.Remove()
		}
		if n := w.c.Stats().Total.InUse; n != 0 {
			t.Errorf("%d leases are left", n)
		}
	})
}

// A read that a node fails is answered by another at the second attempt, though the policy prefers that node.
func TestRetriesPreferAnotherNode(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil, options.WithNodeWeights(options.NodeRule{Selector: "i2", Value: 1000}), options.WithEjectionFailureThreshold(0))
		f := w.cluster.Node("i2").CloseAfter(picotest.OnExecute(), picotest.SQL("select 43")).Times(-1)
		met := 0
		for range 60 {
			w.read("select 1", 10) // fills the budget of retries
			before := f.Count()
			if errs := w.read("select 43", 1); len(errs) > 0 {
				t.Error(errs)
			}
			switch f.Count() - before {
			case 0:
			case 1:
				met++
			default:
				t.Fatalf("a statement that i2 had failed went there again")
			}
		}
		if met < 30 {
			t.Errorf("i2 got %d of 60 reads: the test's premise is that it gets most", met)
		}
	})
}

// A storm of failures isn't multiplied: in the long run one statement in ten is run again.
func TestRetryBudgetBoundsAStorm(t *testing.T) {
	bubble(t, two, func(t *testing.T, w *world) {
		w.open(nil, options.WithEjectionFailureThreshold(0))
		f := w.cluster.Fail("53300", "too many something", picotest.SQL("select 44")).Times(-1)
		const n = 400
		errs := w.read("select 44", n)
		if len(errs) != n {
			t.Fatalf("%d of %d failed", len(errs), n)
		}
		if attempts := f.Count(); attempts > n+110 {
			t.Errorf("%d statements became %d", n, attempts)
		}
		if s := w.c.Stats().Statements; s.BudgetSpent == 0 || s.Failed != n {
			t.Errorf("%+v", s)
		}
		f.Remove()
		// What passes is bounded by time: a few attempts a second, then one.
		f = w.cluster.Fail("XX000", "sbroad: box error: ProcLua: Master of replicaset x is unreachable", picotest.SQL("select 45")).Times(-1)
		if errs := w.read("select 45", 100); len(errs) != 100 || f.Count() > 100*60 {
			t.Errorf("%d of 100 failed, after %d attempts in 10 s", len(errs), f.Count())
		}
	})
}
