package scenarios_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A statement that every node refuses before it runs is tried once and max_retries times more, never oftener.
func TestMaxRetriesIsExact(t *testing.T) {
	for _, retries := range []int{0, 1, 3, 7} {
		inBubble(t, two, []options.Option{options.WithMaxRetries(retries)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
			one(t, db)
			f := c.Fail("53300", "too many something", picotest.SQL("select 4740")).Times(-1)
			var n int
			if err := db.QueryRowContext(t.Context(), "select 4740").Scan(&n); err == nil {
				t.Error("it succeeded")
			}
			if got := f.Count(); got != 1+retries {
				t.Errorf("max_retries=%d: tried %d times", retries, got)
			}
			if s := conn.Stats().Statements; s.Retries != uint64(retries) || s.Failed != 1 {
				t.Errorf("max_retries=%d: %+v", retries, s)
			}
			f.Remove()
			one(t, db)
		})
	}
}

// A hint that names another node than the one that a checkout is tied to is refused before anything is sent, and the checkout goes on.
func TestHintInACheckoutIsRefused(t *testing.T) {
	c, db, conn := startDB(t, three)
	sc, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sc.ExecContext(picodata.ToInstance(t.Context(), "i2"), "select 4741"); err != nil {
		t.Fatal(err)
	}
	elsewhere := picodata.ToInstance(t.Context(), "i3")
	for range 3 {
		if _, err := sc.ExecContext(elsewhere, "select 4742"); err == nil {
			t.Error("a hint that can't be met was accepted")
		}
		if rows, err := sc.QueryContext(elsewhere, "select 4742"); err == nil {
			rows.Close()
			t.Error("a hint that can't be met was accepted")
		}
		// The session is free for the next one, on the same connection.
		if _, err := sc.ExecContext(t.Context(), "select 4743"); err != nil {
			t.Error(err)
		}
		if _, err := sc.ExecContext(picodata.ToInstance(t.Context(), "i2"), "select 4743"); err != nil {
			t.Errorf("a hint that is met: %v", err)
		}
	}
	if n := len(c.Statements(picotest.SQL("select 4742"))); n != 0 {
		t.Errorf("%d refused statements were sent", n)
	}
	conns := map[uint64]bool{}
	for _, s := range c.Statements(picotest.SQL("select 4743")) {
		conns[s.Conn] = true
		if s.Node != "i2" {
			t.Errorf("a statement ran on %s", s.Node)
		}
	}
	if len(conns) != 1 {
		t.Errorf("the checkout went over %d connections", len(conns))
	}
	if s := conn.Stats().Total; s.InUse != 1 {
		t.Errorf("%d leases for one checkout", s.InUse)
	}
	if err := sc.Close(); err != nil {
		t.Error(err)
	}
	if s := conn.Stats().Total; s.InUse != 0 {
		t.Errorf("%d leases are left", s.InUse)
	}
}

// A statement that was prepared over an older table is prepared anew, unseen: its rows have the columns of today, under
// their names and types, also where their number has changed.
func TestColumnsOfToday(t *testing.T) {
	c, db, _ := startDB(t, picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}}, options.WithStatementCacheThreshold(1))
	mustExec(t, db, "create table t (id int primary key, a text)")
	stmt, err := db.PrepareContext(t.Context(), "select * from t where id = $1")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	check := func(columns []string, row []any) {
		t.Helper()
		for range 3 {
			rows, err := stmt.QueryContext(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			names, err := rows.Columns()
			if err != nil || !slices.Equal(names, columns) {
				t.Errorf("columns %v, %v, want %v", names, err, columns)
			}
			values := make([]any, len(names))
			into := make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if !rows.Next() {
				t.Fatalf("no row: %v", rows.Err())
			}
			if err := rows.Scan(into...); err != nil || fmt.Sprint(values) != fmt.Sprint(row) {
				t.Errorf("row %v, %v, want %v", values, err, row)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	mustExec(t, db, "insert into t values (1, 'x')")
	check([]string{"id", "a"}, []any{int64(1), "x"})
	for _, change := range []struct {
		create, insert string
		columns        []string
		row            []any
	}{
		{"create table t (id int primary key, b int, a text)", "insert into t values (1, 2, 'y')", []string{"id", "b", "a"}, []any{int64(1), int64(2), "y"}},
		{"create table t (id int primary key)", "insert into t values (1)", []string{"id"}, []any{int64(1)}},
		{"create table t (id int primary key, a bool)", "insert into t values (1, true)", []string{"id", "a"}, []any{int64(1), true}},
	} {
		for _, text := range []string{"drop table t", change.create, change.insert} {
			if err := c.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		check(change.columns, change.row)
	}
}

// A write isn't handed to a connection whose peer is gone, whichever method it comes by, also where the checkout is
// tied to that connection: it runs once, elsewhere.
func TestWritesByQueryAreLookedAtFirst(t *testing.T) {
	c, db, conn := startDB(t, two) // over TCP: what is written to a peer that is gone seems to be written
	mustExec(t, db, "create table t (id int primary key)")
	for i := range 4 {
		sc, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, sc, "select 4744")
		for _, n := range c.Nodes() {
			n.DropConnections()
			for n.Counters().Open > 0 {
				runtime.Gosched()
			}
		}
		if i%2 == 0 {
			mustExec(t, sc, "insert into t values ($1)", i)
		} else if rows, err := sc.QueryContext(t.Context(), "insert into t values ($1)", i); err != nil {
			t.Errorf("write %d: %v", i, err)
		} else if err := rows.Close(); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		if err := sc.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := len(c.Statements(picotest.SQL("insert into t"))); n != 4 {
		t.Errorf("%d executions of 4 writes", n)
	}
	if s := conn.Stats().Statements; s.OutcomeUnknown != 0 {
		t.Errorf("%+v", s)
	}
}

// Asking a server for a text's key keeps no lease, whether it answers or refuses.
func TestLearningKeepsNoLease(t *testing.T) {
	c, db, conn := startDB(t, three, options.WithNoShard(options.NoShard{Behavior: options.NoShardFail}), options.WithTopologyUpdateInterval(time.Hour))
	mustExec(t, db, "create table t (id int primary key, v int) distributed by (id)")
	for i := range 20 {
		mustExec(t, db, fmt.Sprintf("insert into t (id, v) values ($1, %d)", i), i)
		if _, err := db.Exec(fmt.Sprintf("insert into nowhere%d values ($1)", i), i); err == nil {
			t.Error("a table that isn't there took a row")
		}
		if s := conn.Stats().Total; s.InUse != 0 {
			t.Fatalf("after %d texts %d leases are left", 2*i+2, s.InUse)
		}
	}
	if n := len(c.Statements(picotest.SQL("insert into t"))); n != 20 {
		t.Errorf("%d rows of 20", n)
	}
}

// Under a wrapper that hides driver.Validator too, all of a Tx is on one connection, and the next operation isn't.
func TestTxUnderMiddleware(t *testing.T) {
	c, _, conn := startDB(t, three, options.WithTransactions(options.TransactionsAutocommit))
	db := sql.OpenDB(hiding{conn})
	defer db.Close()
	run := func(q interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, text string) {
		t.Helper()
		if _, err := q.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 { // it is noticed that nobody says when a checkout is over
		run(db, "select 4745")
	}
	for i := range 3 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("select 4746 + %d", i)
		for range 10 {
			run(tx, text)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		conns := map[uint64]bool{}
		for _, s := range c.Statements(picotest.SQL(text)) {
			conns[s.Conn] = true
		}
		if len(conns) != 1 {
			t.Errorf("a Tx ran on %d connections", len(conns))
		}
	}
}
