package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/lib/pq"
)

var bg = context.Background()

// wantLog compares the client's bursts with what they should be.
func wantLog(t *testing.T, p *peer, want string) {
	t.Helper()
	if got := p.log(); got != want {
		t.Fatalf("on the wire:\n got %s\nwant %s", got, want)
	}
}

// A text runs unnamed, one flight each, until its uses pass the threshold; the execution
// that names it is one flight too, and so is every one after it.
func TestEveryExecutionIsOneFlight(t *testing.T) {
	s := newServer(t)
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 2
	c, p := s.dial(cfg)
	p.log()
	for range 5 {
		rows, err := c.Query(bg, "select $1", named(int64(7)))
		if got := all(t, rows, err); len(got) != 1 || got[0][0] != int64(7) {
			t.Fatalf("rows: %v", got)
		}
	}
	wantLog(t, p, "PBDES PBDES P(1)B(1)DES B(1)ES B(1)ES")
	for range 4 {
		if _, err := c.Exec(bg, "insert into t values ($1)", named(int64(1))); err != nil {
			t.Fatal(err)
		}
	}
	wantLog(t, p, "PBDES PBDES P(2)B(2)DES B(2)ES")
}

func TestStatementWithoutArgumentsStaysSimple(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	p.log()
	for range 5 {
		rows, err := c.Query(bg, "select 1", nil)
		all(t, rows, err)
	}
	if err := c.Ping(bg); err != nil {
		t.Fatal(err)
	}
	wantLog(t, p, "Q Q Q Q Q Q")
}

func TestStatementCacheOffNamesNothing(t *testing.T) {
	s := newServer(t)
	cfg := newConfig()
	cfg.Options.StatementCacheSize = 0
	c, p := s.dial(cfg)
	p.log()
	for range 6 {
		rows, err := c.Query(bg, "select $1", named(int64(1)))
		all(t, rows, err)
	}
	wantLog(t, p, strings.TrimSpace(strings.Repeat("PBDES ", 6)))
}

// The least recently used name is closed in front of the next statement, in the same write,
// and lib/pq doesn't see the CloseComplete.
func TestEvictedNameIsClosedOnTheWay(t *testing.T) {
	s := newServer(t)
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	cfg.Options.StatementCacheSize = 2
	c, p := s.dial(cfg)
	p.log()
	run := func(sql string) {
		t.Helper()
		rows, err := c.Query(bg, sql, named(int64(1)))
		all(t, rows, err)
	}
	run("select $1")
	run("select $1, 2")
	run("select $1") // now the second is older
	run("select $1, 3")
	run("select $1")
	run("select $1, 2")
	wantLog(t, p, "P(1)B(1)DES P(2)B(2)DES B(1)ES C(2)P(3)B(3)DES B(1)ES C(3)P(4)B(4)DES")
	if len(p.stmts) != 2 {
		t.Fatalf("names on the server: %v", p.stmts)
	}
}

// refuseOnce makes the server refuse a Parse ("P") or a Bind ("B") of a named statement,
// once, after so many that went well.
func refuseOnce(typ string, after int, e *pgproto3.ErrorResponse) func(*peer, pgproto3.FrontendMessage, string) *pgproto3.ErrorResponse {
	return func(_ *peer, m pgproto3.FrontendMessage, _ string) *pgproto3.ErrorResponse {
		name := ""
		switch m := m.(type) {
		case *pgproto3.Bind:
			if typ == "B" {
				name = m.PreparedStatement
			}
		case *pgproto3.Parse:
			if typ == "P" {
				name = m.Name
			}
		}
		if name == "" {
			return nil
		}
		if after--; after == -1 {
			return e
		}
		return nil
	}
}

// What a server refuses about a name hasn't run: the statement runs once more, unnamed, and
// the caller sees nothing of it.
func TestRefusedNameRunsUnnamed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		typ    string
		err    *pgproto3.ErrorResponse
		before int // executions before the refused one
		want   string
	}{
		{"stale", "B", serverError("42999", "prepared statement 1 has been invalidated"), 1,
			"P(1)B(1)DES B(1)ES C(1)PBDES"},
		{"stale, PostgreSQL", "B", serverError("0A000", "cached plan must not change result type"), 1,
			"P(1)B(1)DES B(1)ES C(1)PBDES"},
		{"lost", "B", serverError("XX000", "Couldn't find statement '1'."), 1,
			"P(1)B(1)DES B(1)ES PBDES"},
		{"lost, PostgreSQL", "B", serverError("26000", `prepared statement "1" does not exist`), 1,
			"P(1)B(1)DES B(1)ES PBDES"},
		{"taken", "P", serverError("42P05", "Statement '1' for client 1 already exists"), 0,
			"P(1)B(1)DES PBDES"},
		{"full", "P", serverError("XX000", "Statement storage is full. Current size limit: 1."), 0,
			"P(1)B(1)DES PBDES"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, query := range []bool{true, false} {
				s := newServer(t)
				s.refuse = refuseOnce(tt.typ, tt.before, tt.err)
				var executed atomic.Int32
				s.run = func(_ *peer, _ string, params [][]byte) result {
					if params != nil {
						executed.Add(1)
					}
					return result{}
				}
				cfg := newConfig()
				cfg.Options.StatementCacheThreshold = 0
				c, p := s.dial(cfg)
				p.log()
				for range tt.before + 1 {
					if query {
						rows, err := c.Query(bg, "select $1", named(int64(5)))
						if got := all(t, rows, err); len(got) != 1 || got[0][0] != int64(5) {
							t.Fatalf("rows: %v", got)
						}
					} else if _, err := c.Exec(bg, "insert into t values ($1)", named(int64(5))); err != nil {
						t.Fatal(err)
					}
				}
				wantLog(t, p, tt.want)
				if n := int(executed.Load()); n != tt.before+1 {
					t.Fatalf("executed %d times, want %d", n, tt.before+1)
				}
				if !c.Usable() {
					t.Fatal("the connection isn't usable any more")
				}
			}
		})
	}
}

// firstNameTaken is a connection that names each text at once, to a server that has the first name already.
func firstNameTaken(t *testing.T) (*Conn, *peer) {
	s := newServer(t)
	s.refuse = refuseOnce("P", 0, serverError("42P05", "Statement '1' for client 1 already exists"))
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	c, p := s.dial(cfg)
	p.log()
	return c, p
}

// After a refusal a text gets a name again, and a name that was taken is passed over.
func TestTextIsNamedAgain(t *testing.T) {
	c, p := firstNameTaken(t)
	for range 3 {
		rows, err := c.Query(bg, "select $1", named(int64(5)))
		all(t, rows, err)
	}
	wantLog(t, p, "P(1)B(1)DES PBDES P(2)B(2)DES B(2)ES")
}

// A server without room gets all names of the connection back, and none for a while.
func TestFullStorageShedsNames(t *testing.T) {
	s := newServer(t)
	var full atomic.Bool
	s.refuse = func(p *peer, m pgproto3.FrontendMessage, _ string) *pgproto3.ErrorResponse {
		delete(p.stmts, "")
		if _, ok := m.(*pgproto3.Parse); ok && full.Load() && len(p.stmts) > 0 {
			return serverError("XX000", "Statement storage is full. Current size limit: 2. Please, increase storage limit")
		}
		return nil
	}
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	c, p := s.dial(cfg)
	p.log()
	run := func(sql string) {
		t.Helper()
		if _, err := c.Exec(bg, sql, named(int64(1))); err != nil {
			t.Fatal(err)
		}
	}
	run("insert into a values ($1)")
	run("insert into b values ($1)")
	full.Store(true)
	run("insert into c values ($1)")
	run("insert into a values ($1)")
	run("insert into a values ($1)")
	wantLog(t, p, "P(1)B(1)DES P(2)B(2)DES P(3)B(3)DES C(1)C(2)PBDES PBDES PBDES")
	if len(c.stmts.named) != 0 {
		t.Fatalf("%d names are left", len(c.stmts.named))
	}
}

// An error of the execution says nothing against the name.
func TestExecutionErrorKeepsTheName(t *testing.T) {
	s := newServer(t)
	s.run = func(_ *peer, sql string, params [][]byte) result {
		if params != nil && string(params[0]) == "13" {
			return result{err: serverError("XX000", "Duplicate key exists")}
		}
		return result{}
	}
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	c, p := s.dial(cfg)
	p.log()
	for _, v := range []int64{13, 1, 13, 1} {
		_, err := c.Exec(bg, "insert into t values ($1)", named(v))
		var pe *pq.Error
		if (v == 13) != errors.As(err, &pe) {
			t.Fatalf("%d: %v", v, err)
		}
	}
	wantLog(t, p, "P(1)B(1)DES B(1)ES B(1)ES B(1)ES")
}

func TestPrepareIsOneFlightThenNone(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	p.log()
	for range 2 {
		if err := c.Prepare(bg, "select $1"); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := c.Query(bg, "select $1", named(int64(3)))
	all(t, rows, err)
	wantLog(t, p, "P(1)D(1)S B(1)ES")
}

func TestPrepareShowsErrors(t *testing.T) {
	s := newServer(t)
	s.refuse = func(_ *peer, _ pgproto3.FrontendMessage, sql string) *pgproto3.ErrorResponse {
		if strings.HasPrefix(sql, "select") {
			return nil
		}
		return serverError("XX000", "sbroad: rule parsing error")
	}
	c, p := s.dial(newConfig())
	p.log()
	var pe *pq.Error
	if err := c.Prepare(bg, "selec $1"); !errors.As(err, &pe) {
		t.Fatalf("got %v", err)
	}
	// lib/pq's counter went on; the next name must still be the one that lib/pq uses.
	if err := c.Prepare(bg, "select $1"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(bg, "select $1", named(int64(3)))
	all(t, rows, err)
	wantLog(t, p, "P(1)D(1)S P(2)D(2)S B(2)ES")
}

func TestWrongNumberOfArguments(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	if err := c.Prepare(bg, "select $1"); err != nil {
		t.Fatal(err)
	}
	p.log()
	_, err := c.Query(bg, "select $1", named(int64(3), int64(4)))
	if e := wireError(t, err); e.Sent || !strings.Contains(err.Error(), "1 parameters, 2 arguments") {
		t.Fatalf("sent %v: %v", e.Sent, err)
	}
	if !c.Usable() {
		t.Fatal("the caller's mistake cost the connection")
	}
}

func TestDescribeRunsNothing(t *testing.T) {
	s := newServer(t)
	var executed atomic.Bool
	s.run = func(_ *peer, _ string, params [][]byte) result {
		if params != nil {
			executed.Store(true)
		}
		return result{}
	}
	c, p := s.dial(newConfig())
	p.log()
	d, err := c.Describe(bg, "select $1")
	if err != nil || len(d.Params) != 1 || len(d.Columns) != 1 || d.Columns[0] != 20 {
		t.Fatalf("%+v, %v", d, err)
	}
	wantLog(t, p, "PDS")
	if executed.Load() || !c.Usable() {
		t.Fatalf("executed %v, usable %v", executed.Load(), c.Usable())
	}
}

// Texts that never come back are forgotten; one among them that does is named all the same.
func TestStreamOfTextsCostsNothing(t *testing.T) {
	c := newStmtCache(64, 3)
	named := 0
	for i := range 10_000 {
		if c.due(fmt.Sprint("insert into t values ($1) -- ", i)) {
			t.Fatal("a text was named at its first use")
		}
		if i%10 == 0 && c.due("select $1") {
			named++
		}
	}
	if named == 0 {
		t.Fatal("a text that comes back was never named")
	}
	if n := testing.AllocsPerRun(100, func() { c.due("select $1, $2") }); n != 0 {
		t.Fatalf("%v allocations to count a use", n)
	}
}

// Next says io.EOF as often as it is asked, and asks nobody.
func TestNextAfterTheEnd(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	for _, args := range [][]driver.NamedValue{nil, named(int64(1))} {
		rows, err := c.Query(bg, "select $1", args)
		if err != nil {
			t.Fatal(err)
		}
		dest := make([]driver.Value, 1)
		if err := rows.Next(dest); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := rows.Next(dest); err != io.EOF {
				t.Fatalf("got %v", err)
			}
		}
		if err := rows.Close(); err != nil || !c.Usable() {
			t.Fatalf("usable %v: %v", c.Usable(), err)
		}
	}
}

// An error that only quotes the words of a refusal, after the statement was executed, is the
// statement's own.
func TestQuotedRefusalIsNotRepeated(t *testing.T) {
	for _, message := range []string{"Duplicate key exists: Statement storage is full", "Couldn't find statement '1'."} {
		s := newServer(t)
		var executed atomic.Int32
		s.run = func(_ *peer, _ string, params [][]byte) result {
			if params == nil {
				return result{}
			}
			executed.Add(1)
			return result{err: serverError("XX000", message)}
		}
		cfg := newConfig()
		cfg.Options.StatementCacheThreshold = 1
		c, _ := s.dial(cfg)
		for i := range 4 { // unnamed, naming, named
			_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
			var pe *pq.Error
			if !errors.As(err, &pe) || pe.Message != message {
				t.Fatalf("got %v", err)
			}
			if n := int(executed.Load()); n != i+1 {
				t.Fatalf("executed %d times by %d calls", n, i+1)
			}
		}
	}
}

// A server without invalidation finds out while it executes that a plan is of an older schema:
// the error is the caller's, and the name is given up.
func TestOutdatedPlanLosesItsName(t *testing.T) {
	s := newServer(t)
	var old atomic.Bool
	s.run = func(_ *peer, _ string, params [][]byte) result {
		if params != nil && old.Load() {
			return result{err: serverError("XX000", "sbroad: storage schema version different from router")}
		}
		return result{}
	}
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	c, p := s.dial(cfg)
	p.log()
	if _, err := c.Exec(bg, "insert into t values ($1)", named(int64(1))); err != nil {
		t.Fatal(err)
	}
	old.Store(true)
	var pe *pq.Error
	if _, err := c.Exec(bg, "insert into t values ($1)", named(int64(1))); !errors.As(err, &pe) {
		t.Fatalf("got %v", err)
	}
	old.Store(false)
	if _, err := c.Exec(bg, "insert into t values ($1)", named(int64(1))); err != nil {
		t.Fatal(err)
	}
	wantLog(t, p, "P(1)B(1)DES B(1)ES C(1)P(2)B(2)DES")
}
