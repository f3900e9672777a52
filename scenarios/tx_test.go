package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

func autocommit(t *testing.T) (*picotest.Cluster, *sql.DB, *picodata.Connector) {
	c, db, conn := startDB(t, picotest.Config{}, options.WithTransactions(options.TransactionsAutocommit))
	mustExec(t, db, "create table t (id int primary key) distributed by (id)")
	return c, db, conn
}

// transactions=autocommit: all statements of a Tx run on one connection.
func TestAutocommitStaysOnOneConnection(t *testing.T) {
	c, db, conn := autocommit(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := tx.Exec("insert into t values ($1)", i); err != nil {
			t.Fatal(err)
		}
	}
	conns := map[uint64]bool{}
	for _, s := range c.Statements(picotest.SQL("insert into t")) {
		conns[s.Conn] = true
	}
	if len(conns) != 1 {
		t.Errorf("a Tx used %d connections", len(conns))
	}
	if err := tx.Commit(); err != nil {
		t.Error("Commit:", err)
	}
	if n := conn.Stats().Total.InUse; n != 0 {
		t.Errorf("%d leases after Commit", n)
	}
	for _, q := range []string{"begin", "commit", "rollback"} {
		if n := len(c.Statements(picotest.SQL(q))); n != 0 {
			t.Errorf("%q was sent %d times", q, n)
		}
	}
}

// transactions=autocommit: Rollback after a write says that nothing was undone, after reads it is silent.
func TestAutocommitRollback(t *testing.T) {
	_, db, conn := autocommit(t)
	for _, c := range []struct {
		name, query string
		want        error
	}{
		{"after a read", "select * from t", nil},
		{"after a write", "insert into t values (100)", picodata.ErrNotRolledBack},
		{"after nothing", "", nil},
	} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.query != "" {
			if _, err := tx.Exec(c.query); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Rollback(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if n := conn.Stats().Total.InUse; n != 0 {
			t.Errorf("%s: %d leases left", c.name, n)
		}
	}
	var n int
	if err := db.QueryRow("select count(*) from t").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v: the write should be there", n, err)
	}
}

// transactions=autocommit: isolation levels are refused; a read-only Tx refuses writes.
func TestAutocommitOptions(t *testing.T) {
	c, db, _ := autocommit(t)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelSerializable, sql.LevelLinearizable} {
		if _, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level}); err == nil {
			t.Errorf("%v was accepted", level)
		}
	}
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("select count(*) from t").Scan(&n); err != nil {
		t.Error(err)
	}
	for _, q := range []string{"insert into t values (1)", "do $$ begin delete from t where id = 1; end $$", "drop table t", "what is this"} {
		if _, err := tx.Exec(q); err == nil {
			t.Errorf("%q was accepted in a read-only transaction", q)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if n := len(c.Statements(picotest.SQL("insert into t values (1)"))); n != 0 {
		t.Errorf("the write was sent %d times", n)
	}
}

// transactions=autocommit: a Tx whose context ends gives its session back.
func TestAutocommitEndsWithItsContext(t *testing.T) {
	_, db, conn := autocommit(t)
	db.SetMaxOpenConns(1) // so that whatever comes next waits for the one session
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("select 1"); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := tx.Commit(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("Commit after the context's end: %v", err)
		}
		// The next statement waits for the rollback that database/sql makes by itself.
		mustExec(t, db, "select 1")
	}
	mustExec(t, db, "select 1") // the only session is free again
	if n := conn.Stats().Total.InUse; n != 0 {
		t.Errorf("%d leases left", n)
	}
}
