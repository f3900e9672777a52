package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// idle-conn-dead: What happens to connections while nobody uses them, in the pool or tied to a sql.Conn, costs no
// statement its certainty, and nothing over the wire.
func TestIdleConnDead(t *testing.T) {
	insert := func(w *world, on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, id int) {
		w.t.Helper()
		if _, err := on.ExecContext(w.t.Context(), "insert into t values ($1, 1)", id); err != nil {
			w.t.Errorf("insert %d: %v", id, err)
		}
		var n int
		if err := w.QueryRowContext(w.t.Context(), "select count(*) from t where id = $1", id).Scan(&n); err != nil || n != 1 {
			w.t.Errorf("row %d is there %d times, %v", id, n, err)
		}
	}
	each := func(w *world, f func(n *picotest.Node)) {
		for _, n := range w.cluster.Nodes() {
			f(n)
		}
	}
	for _, c := range []struct {
		name   string
		happen func(w *world)
		kept   bool // the connections are
		log    string
	}{
		{"FIN", func(w *world) { each(w, (*picotest.Node).DropConnections) }, false, ""},
		{"RST", func(w *world) { each(w, (*picotest.Node).ResetConnections) }, false, ""},
		{"an error, then FIN", func(w *world) {
			each(w, func(n *picotest.Node) {
				n.Send(picotest.ErrorMessage("57P01", "terminating connection due to administrator command"))
				n.DropConnections()
			})
		}, false, "terminating connection due to administrator command"},
		{"a notice and a parameter", func(w *world) {
			each(w, func(n *picotest.Node) {
				n.Send(picotest.Notice("NOTICE", "00000", "the topology has changed"))
				n.Send(picotest.Parameter("TimeZone", "UTC"))
			})
		}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, three, func(t *testing.T, w *world) {
				var log syncBuffer
				var mu sync.Mutex
				notices := 0
				w.filled(9, options.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					options.WithNoticeHandler(func(n options.Notice) {
						mu.Lock()
						defer mu.Unlock()
						if n.Message == "the topology has changed" {
							notices++
						}
					}))
				pinned, err := w.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer pinned.Close()
				if err := pinned.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				c.happen(w)
				time.Sleep(3 * time.Second)
				for i := range 9 {
					insert(w, w.DB, 100+i)
				}
				insert(w, pinned, 200)
				s := w.c.Stats()
				if s.Statements.Failed != 0 || s.Total.Ejections != 0 {
					t.Errorf("%+v, %d ejections", s.Statements, s.Total.Ejections)
				}
				if kept := s.Total.ClosedBy["dead"]+s.Total.Lost == 0; kept != c.kept || s.Total.Lost > 0 {
					t.Errorf("connections were kept: %v; closed by %v, %d lost", kept, s.Total.ClosedBy, s.Total.Lost)
				}
				if !strings.Contains(log.String(), c.log) {
					t.Errorf("the server's reason isn't in the log: %s", log.String())
				}
				mu.Lock()
				defer mu.Unlock()
				if c.kept && notices == 0 {
					t.Error("the notice handler heard nothing")
				}
			})
		})
	}
	t.Run("gone without a word", func(t *testing.T) {
		bubble(t, three, func(t *testing.T, w *world) {
			w.filled(9)
			each(w, (*picotest.Node).BlackHole)
			time.Sleep(5 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begun := time.Now()
			_, err := w.ExecContext(ctx, "insert into t values ($1, 1)", 100)
			if !picodata.IsOutcomeUnknown(err) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 2*time.Second {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			each(w, (*picotest.Node).Accept)
		})
	})
}

// On the healthy path a connection that was idle costs no flight of its own.
func TestIdleConnectionCostsNoFlight(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.filled(12)
		time.Sleep(5 * time.Second)
		flights := func() (n int) {
			for _, node := range w.cluster.Nodes() {
				for _, c := range node.Conns() {
					if strings.Contains(c.Params["options"], "pico_query_metadata") { // not the topology's
						n += c.Counters.Flights
					}
				}
			}
			return n
		}
		before := flights()
		w.must("insert into t values ($1, 0)", 500)
		w.read("select 1", 1)
		if n := flights() - before; n != 2 {
			t.Errorf("%d flights for two statements", n)
		}
	})
}

// tx-rollback-race: A Tx whose context ends while statements and Rollback are under way.
func TestTxRollbackRace(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 500
	}
	c, db, conn := startDB(t, three, options.WithTransactions(options.TransactionsAutocommit))
	mustExec(t, db, "create table t (id int primary key)")
	acknowledged := make(map[int]bool)
	for i := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var execErr, rollErr error
		group.Go(func() { _, execErr = tx.ExecContext(t.Context(), "insert into t values ($1)", i) })
		group.Go(func() { rollErr = tx.Rollback() })
		cancel()
		group.Wait()
		acknowledged[i] = execErr == nil
		for _, err := range []error{execErr, rollErr} {
			if err != nil && !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, picodata.ErrNotRolledBack) && !errors.Is(err, context.Canceled) {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
			t.Fatalf("round %d: a second Rollback: %v", i, err)
		}
		if _, err := tx.ExecContext(t.Context(), "insert into t values ($1)", -i-1); !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: a statement after the end: %v", i, err)
		}
	}
	// database/sql ends a Tx whose context is done on a goroutine of its own. With no idle sessions and one at most, a
	// session is granted when the last one is back.
	db.SetMaxIdleConns(0)
	db.SetMaxOpenConns(1)
	last, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	if n := conn.Stats().Total.InUse; n != 0 {
		t.Errorf("%d leases are left", n)
	}
	rows, err := db.QueryContext(t.Context(), "select id from t option (sql_motion_row_max = 0, sql_vdbe_opcode_max = 0)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	there := map[int]bool{}
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		there[id] = true
		if id < 0 {
			t.Errorf("row %d was written after its Tx had ended", id)
		}
	}
	for id, ok := range acknowledged {
		if ok && !there[id] {
			t.Errorf("row %d was acknowledged and isn't there", id)
		}
	}
	if n := len(c.Statements(picotest.SQL("rollback"))) + len(c.Statements(picotest.SQL("begin"))); n > 0 {
		t.Errorf("%d BEGIN and ROLLBACK were sent: the server ignores them", n)
	}
}

// Asking a server for a text's key is repeated like any other question.
func TestAskingForAKeyOutlivesAConnection(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		w.open(nil, options.WithNoShard(options.NoShard{Behavior: options.NoShardFail}))
		if _, err := w.ExecContext(picodata.ToInstance(t.Context(), "i1"), "create table t (id int primary key)"); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			f := w.cluster.CloseAfter(picotest.OnParse(), picotest.SQL("insert into t")).Times(2)
			text := "insert into t values ($1) on conflict do nothing" + strings.Repeat(" ", i) // a new text
			if _, err := w.ExecContext(t.Context(), text, i); err != nil || f.Count() == 0 {
				t.Errorf("%v, %d faults met", err, f.Count())
			}
			f.Remove()
			w.read("select 1", 30)
		}
	})
}

// A server that asks for the password in clear text over a plain connection doesn't get it, and no other
// node is tried for that.
func TestCleartextPasswordStaysHome(t *testing.T) {
	cfg := picotest.Config{Users: []picotest.User{{Name: "ann", Password: "T0psecret", Method: "ldap"}}}
	for _, allow := range []bool{false, true} {
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.openAs("ann", nil, options.WithAllowCleartextPassword(allow))
			err := w.PingContext(t.Context())
			got := w.cluster.Counters().Received["p"]
			switch {
			case allow && (err != nil || got == 0):
				t.Errorf("allowed: %v, %d passwords", err, got)
			case !allow && (err == nil || got != 0 || !strings.Contains(err.Error(), "allow_cleartext_password")):
				t.Errorf("not allowed: %v, %d passwords", err, got)
			case strings.Contains(errText(err), "T0psecret"):
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
