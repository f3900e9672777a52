package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lib/pq"

	picodata "github.com/picodata/go-picodata"
)

// serverErrors is about what the server refuses, and that its words are understood.
func serverErrors(t *testing.T, s *subject) {
	table := s.table(t, "id INT PRIMARY KEY, name TEXT")
	s.exec(t, s.db, "INSERT INTO "+table+" VALUES (1, 'one')")
	for i := range 30 {
		s.exec(t, s.db, "INSERT INTO "+table+" VALUES ($1, 'x')", 100+i)
	}
	for _, c := range []struct {
		name, query string
		args        []any
		kind        picodata.Kind
	}{
		{"syntax", "SELEKT 1", nil, picodata.KindQuery},
		{"no such table", "SELECT * FROM " + s.prefix + "nowhere", nil, picodata.KindQuery},
		{"no such column", "SELECT nothing FROM " + table, nil, picodata.KindQuery},
		{"duplicate key", "INSERT INTO " + table + " VALUES ($1, $2)", []any{1, "again"}, picodata.KindUniqueViolation},
		{"duplicate key, no arguments", "INSERT INTO " + table + " VALUES (1, 'again')", nil, picodata.KindUniqueViolation},
		{"a value that doesn't fit", "SELECT * FROM " + table + " WHERE id = $1", []any{"word"}, picodata.KindParameters},
		{"too many rows", "SELECT * FROM " + table + " OPTION (SQL_MOTION_ROW_MAX = 5)", nil, picodata.KindLimit},
		{"NULL in a key", "INSERT INTO " + table + " VALUES ($1, $2)", []any{nil, "x"}, picodata.KindQuery},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.db.ExecContext(t.Context(), c.query, c.args...)
			var e *picodata.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v (%T) is no *picodata.Error", err, err)
			}
			if e.Kind != c.kind {
				t.Errorf("%v: kind %v, want %v", err, e.Kind, c.kind)
			}
			var p *pq.Error
			if !errors.As(err, &p) || p.Message == "" {
				t.Errorf("the server's own words aren't within %v", err)
			}
			if e.Node.Address == "" {
				t.Errorf("%v names no node", err)
			}
			s.number(t, s.db, "SELECT 1") // whatever happened, the handle works
		})
	}
	t.Run("on one connection", func(t *testing.T) {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for i := range 10 {
			if _, err := conn.ExecContext(t.Context(), "SELEKT $1", i); err == nil {
				t.Fatal("accepted")
			}
			var n int
			if err := conn.QueryRowContext(t.Context(), "SELECT $1::INT", i).Scan(&n); err != nil || n != i {
				t.Fatalf("after an error: %d, %v", n, err)
			}
		}
	})
	t.Run("missing arguments", func(t *testing.T) {
		for _, args := range [][]any{{}, {1, 2}} {
			if _, err := s.db.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE id = $1", args...); err == nil {
				t.Errorf("%d arguments for one parameter were accepted", len(args))
			}
		}
	})
	t.Run("no secret", func(t *testing.T) {
		secret := "S3cret" + s.prefix
		bad, _ := s.open(t, fmt.Sprintf("picodata://%snobody:%s@%s/?sslmode=disable&acquire_timeout=5s", s.prefix, secret, s.topology.Instances[0].Address))
		err := bad.PingContext(t.Context())
		var auth *picodata.AuthError
		if !errors.As(err, &auth) {
			t.Fatalf("%v is no *AuthError", err)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); contains(text, secret) {
			t.Error("the error shows the password")
		}
	})
}
