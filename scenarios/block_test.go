package scenarios_test

import (
	"errors"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// A block is one DO statement: its results, its rows touched and what it refuses.
func TestBlock(t *testing.T) {
	c, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table accounts (id int primary key, balance int) distributed by (id)")
	mustExec(t, db, "create table log (account int, n int, primary key (account, n)) distributed by (account)")
	mustExec(t, db, "insert into accounts values (1, 100)")
	mustExec(t, db, "insert into accounts values (2, 100)")

	res, err := picodata.Block(t.Context(), db,
		picodata.Stmt{SQL: "select balance from accounts where id = $1", Args: []any{1}},
		picodata.Stmt{SQL: "update accounts set balance = balance - ? where id = ?;", Args: []any{30, 1}},
		picodata.Stmt{SQL: "insert into log values ($1, $2)", Args: []any{1, 7}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 1 || res.Rows[0][0] != int64(100) || res.Columns[0] != "balance" {
		t.Errorf("the block's rows: %v %v", res.Columns, res.Rows)
	}
	balance := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "select balance from accounts where id = 1").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if balance() != 70 {
		t.Errorf("balance %d, want 70", balance())
	}

	// A duplicate key undoes what came before it in the block.
	_, err = picodata.Block(t.Context(), db,
		picodata.Stmt{SQL: "update accounts set balance = 0 where id = 1"},
		picodata.Stmt{SQL: "insert into log values (1, 7)"},
	)
	if !picodata.IsUniqueViolation(err) || balance() != 70 {
		t.Errorf("%v; balance %d, want 70", err, balance())
	}

	_, err = picodata.Block(t.Context(), db,
		picodata.Stmt{SQL: "update accounts set balance = 0 where id = 1"},
		picodata.Stmt{SQL: "update accounts set balance = 0 where id = 2"},
	)
	if err == nil || !strings.Contains(err.Error(), "one bucket") || balance() != 70 {
		t.Errorf("two buckets: %v; balance %d", err, balance())
	}

	c.ResetCounters()
	for name, statements := range map[string][]picodata.Stmt{
		"none":            nil,
		"two in one":      {{SQL: "delete from log; delete from log"}},
		"empty":           {{SQL: " ; "}},
		"dollars":         {{SQL: "insert into log values (1, 8) -- x\n$$"}},
		"arguments":       {{SQL: "delete from log where account = $1"}},
		"read after":      {{SQL: "delete from log where account = 1"}, {SQL: "select 1"}},
		"a create":        {{SQL: "create table x (id int primary key)"}},
		"a begin":         {{SQL: "begin"}},
		"both parameters": {{SQL: "delete from log where account = $1 and n = ?", Args: []any{1, 2}}},
	} {
		var be *picodata.BlockError
		if _, err := picodata.Block(t.Context(), db, statements...); !errors.As(err, &be) {
			t.Errorf("%s: %v is no *BlockError", name, err)
		}
	}
	if n := len(c.Statements(picotest.SQL("DO $$"))); n != 0 {
		t.Errorf("%d refused blocks were sent", n)
	}
}

// A block on a server that knows none is an error that says which version does.
func TestBlockOnAnOldServer(t *testing.T) {
	for _, version := range []string{"25.5", "25.6"} {
		_, db, _ := startDB(t, picotest.Config{Version: version})
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		var be *picodata.BlockError
		if _, err := picodata.Block(t.Context(), db, picodata.Stmt{SQL: "select 1"}); !errors.As(err, &be) || !strings.Contains(err.Error(), "26.1") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
