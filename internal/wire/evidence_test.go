package wire

import (
	"database/sql/driver"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/internal/servererr"
)

// The words of a refusal that came after BindComplete, or to a simple statement, are somebody else's.
func TestRefusalIsBelievedBeforeBindCompleteAlone(t *testing.T) {
	const lost = "Couldn't find statement 'x'."
	for _, c := range []struct {
		name   string
		code   string
		execs  bool // refused at Execute, else at Bind
		simple bool
		want   servererr.Kind
	}{
		{"invalidated at Bind", "42999", false, false, servererr.Stale},
		{"invalidated at Execute", "42999", true, false, servererr.Other},
		{"lost at Bind", "XX000", false, false, servererr.LostStatement},
		{"lost at Execute", "XX000", true, false, servererr.Other},
		{"lost in a simple statement", "XX000", true, true, servererr.Other},
		{"parameters at Bind", "22P02", false, false, servererr.Parameters},
		{"parameters at Execute", "22P02", true, false, servererr.Other},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			if c.execs {
				s.run = func(_ *peer, sql string, params [][]byte) result {
					if params == nil && !c.simple {
						return result{tag: "UPDATE 1"} // Describe
					}
					return result{err: serverError(c.code, lost)}
				}
			} else {
				s.refuse = func(_ *peer, m pgproto3.FrontendMessage, _ string) *pgproto3.ErrorResponse {
					if _, ok := m.(*pgproto3.Bind); ok {
						return serverError(c.code, lost)
					}
					return nil
				}
			}
			conn, _ := s.dial(newConfig())
			args := named(int64(1))
			if c.simple {
				args = nil
			}
			_, err := conn.Exec(bg, "update t set a = $1", args)
			r, ok := servererr.Of(wireError(t, err))
			if !ok || r.Kind != c.want {
				t.Errorf("%v (%+v), want %v", r.Kind, wireError(t, err).Saw, c.want)
			}
		})
	}
}

// After a row something ran, whatever the error says.
func TestNothingRanIsNotBelievedAfterARow(t *testing.T) {
	s := newServer(t)
	s.run = func(p *peer, _ string, params [][]byte) result {
		if params != nil {
			p.be.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("1")}})
			return result{err: serverError("XX000", "Master is not configured for replicaset x")}
		}
		return result{columns: []pgproto3.FieldDescription{column("c", 25)}, tag: "SELECT 1"}
	}
	c, _ := s.dial(newConfig())
	rows, err := c.Query(bg, "select $1", named("a"))
	if err == nil {
		row := make([]driver.Value, len(rows.Columns()))
		for err = rows.Next(row); err == nil; err = rows.Next(row) {
		}
		rows.Close()
	}
	e := wireError(t, err)
	if r, _ := servererr.Of(e); r.Kind != servererr.Other || !e.Saw.Row || !c.Usable() {
		t.Fatalf("%v, %+v, usable %v", r.Kind, e.Saw, c.Usable())
	}
}

// The severity that ends a connection is the one that no locale translates.
func TestFatalIsReadFromTheUnlocalizedSeverity(t *testing.T) {
	for _, c := range []struct {
		name, s, v string
		fatal      bool
	}{
		{"in Russian", "ВАЖНО", "FATAL", true},
		{"old server", "FATAL", "", true},
		{"ordinary", "ERROR", "ERROR", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.run = func(*peer, string, [][]byte) result {
				e := serverError("57014", "terminating")
				e.Severity, e.SeverityUnlocalized = c.s, c.v
				return result{err: e}
			}
			conn, _ := s.dial(newConfig())
			_, err := conn.Exec(bg, "insert into t values (1)", nil)
			e := wireError(t, err)
			p, ok := e.Server()
			if !ok || servererr.Ends(string(p.Code), p.Severity) != c.fatal || conn.Usable() == c.fatal {
				t.Fatalf("fatal %v, usable %v: %+v", !c.fatal, conn.Usable(), p)
			}
		})
	}
}

// A name that the server has invalidated is given up, whenever it says so.
func TestInvalidatedNameIsGivenUpAfterBindCompleteToo(t *testing.T) {
	s := newServer(t)
	bad := false
	s.run = func(_ *peer, _ string, params [][]byte) result {
		if params != nil && bad {
			return result{err: serverError("42999", "prepared statement 1 has been invalidated")}
		}
		return result{tag: "INSERT 0 1"}
	}
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 0
	c, p := s.dial(cfg)
	p.log()
	const sql = "insert into t values ($1)"
	for i := range 2 {
		if _, err := c.Exec(bg, sql, named(int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	bad = true
	if _, err := c.Exec(bg, sql, named(int64(1))); err == nil {
		t.Fatal("no error")
	}
	bad = false
	if _, err := c.Exec(bg, sql, named(int64(1))); err != nil {
		t.Fatal(err)
	}
	wantLog(t, p, "P(1)B(1)DES B(1)ES B(1)ES C(1)P(2)B(2)DES")
}
