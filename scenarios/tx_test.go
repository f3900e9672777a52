package scenarios_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

// A Tx whose connection is gone says so, to its statements and to Commit; nothing of it runs elsewhere. What the
// connection died of, and when, makes no difference.
func TestATxEndsWithItsConnection(t *testing.T) {
	insert, read := picotest.SQL("insert into t"), picotest.SQL("select id")
	for _, lost := range []struct {
		name    string
		cut     func(c *picotest.Cluster)
		unknown bool // the statement's own outcome
		query   string
	}{
		{"between two statements, then a write", func(c *picotest.Cluster) {
			for _, n := range c.Nodes() {
				n.DropConnections()
			}
		}, false, "insert into t values (2)"},
		{"between two statements, then a read", func(c *picotest.Cluster) {
			for _, n := range c.Nodes() {
				n.DropConnections()
			}
		}, false, "select id from t"},
		{"under a read", func(c *picotest.Cluster) { c.CloseAfter(picotest.BeforeAnswer(), read) }, false, "select id from t"},
		{"under a write", func(c *picotest.Cluster) { c.CloseAfter(picotest.BeforeAnswer(), insert) }, true, "insert into t values (2)"},
	} {
		t.Run(lost.name, func(t *testing.T) {
			c, db, _ := autocommit(t)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("insert into t values (1)"); err != nil {
				t.Fatal(err)
			}
			lost.cut(c)
			before := len(c.Statements(insert)) + len(c.Statements(read))
			_, err = readAllTx(t.Context(), tx, lost.query)
			switch {
			case lost.unknown:
				if !picodata.IsOutcomeUnknown(err) {
					t.Errorf("got %v", err)
				}
			case !errors.Is(err, picodata.ErrTxLost):
				t.Errorf("got %v", err)
			}
			if errors.Is(err, driver.ErrBadConn) || picodata.IsRetryable(err) {
				t.Errorf("%v: whoever reads it runs a part of the Tx again", err)
			}
			for range 2 {
				if _, err := readAllTx(t.Context(), tx, "select id from t"); !errors.Is(err, picodata.ErrTxLost) {
					t.Errorf("the next statement: %v", err)
				}
			}
			if n := len(c.Statements(insert)) + len(c.Statements(read)); n > before+1 {
				t.Errorf("%d statements ran after the connection was lost", n-before)
			}
			if err := tx.Commit(); !errors.Is(err, picodata.ErrTxLost) || errors.Is(err, driver.ErrBadConn) {
				t.Errorf("Commit: %v", err)
			}
			mustExec(t, db, "select 1") // the session is as good as new
		})
	}
}

func readAllTx(ctx context.Context, tx *sql.Tx, query string) (n int, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// A Tx that has run nothing yet isn't tied to anything, and rows that are closed before their end cost it nothing.
func TestATxIsTiedByItsFirstAnswer(t *testing.T) {
	c, db, _ := autocommit(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	fault := c.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("select id"))
	if _, err := readAllTx(t.Context(), tx, "select id from t"); err != nil {
		t.Errorf("its first read: %v", err)
	}
	fault.Remove()
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

// A sql.Conn has no state on the server that could be lost: when its connection dies it goes on over another one,
// and tells where.
func TestASQLConnMovesWhenItsConnectionDies(t *testing.T) {
	c, db, _ := startDB(t, three)
	mustExec(t, db, "create table t (id int primary key) distributed by (id)")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	where := func() (n picodata.Node) {
		if err := conn.Raw(func(dc any) error {
			n = dc.(picodata.Conn).Node()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustExec(t, conn, "insert into t values (1)")
	first := where()
	mustExec(t, conn, "insert into t values (2)")
	if where() != first {
		t.Error("a sql.Conn moved without need")
	}
	<-c.Node(first.Name).Stop()
	mustExec(t, conn, "select 1")
	if now := where(); now == first || now == (picodata.Node{}) {
		t.Errorf("%v is stopped, and the sql.Conn is on %v", first, now)
	}
}
