package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lib/pq"

	picodata "github.com/picodata/go-picodata"
)

// protocol is about statements as such, with and without arguments.
func protocol(t *testing.T, s *subject) {
	t.Run("ping", func(t *testing.T) {
		for range 2 * len(s.topology.Instances) {
			if err := s.db.PingContext(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("version", func(t *testing.T) {
		if !s.version.Known() || !strings.Contains(s.text, s.version.String()) {
			t.Errorf("_pico_instance says %v, version() %q", s.version, s.text)
		}
	})
	t.Run("parameters", func(t *testing.T) {
		if n := s.number(t, s.db, "SELECT $1::INT + $2::INT", 40, 2); n != 42 {
			t.Errorf("40 + 2 = %d", n)
		}
		if n := s.number(t, s.db, "SELECT ?::INT + ?::INT", 40, 2); n != 42 {
			t.Errorf("with question marks: 40 + 2 = %d", n)
		}
	})
	t.Run("comments", func(t *testing.T) {
		// Picodata reads none; the driver takes them out.
		if n := s.number(t, s.db, "SELECT /* one */ 1 -- two"); n != 1 {
			t.Errorf("%d", n)
		}
	})
	t.Run("empty statement", func(t *testing.T) {
		for _, q := range []string{"", " ", ";"} {
			if _, err := s.db.ExecContext(t.Context(), q); err != nil {
				t.Errorf("%q: %v", q, err)
			}
		}
	})
	t.Run("one statement at a time", func(t *testing.T) {
		_, err := s.db.ExecContext(t.Context(), "SELECT 1; SELECT 2")
		var p *pq.Error
		if !errors.As(err, &p) {
			t.Errorf("two statements in one text: %v", err)
		}
		s.number(t, s.db, "SELECT 1")
	})
	t.Run("a large text", func(t *testing.T) {
		// 1 MiB is what Picodata takes as one row with its default settings.
		text := strings.Repeat("кирпич ", 100_000/13)
		table := s.table(t, "id INT PRIMARY KEY, body TEXT")
		s.exec(t, s.db, "INSERT INTO "+table+" VALUES ($1, $2)", 1, text)
		var got string
		if err := s.db.QueryRowContext(t.Context(), "SELECT body FROM "+table+" WHERE id = $1", 1).Scan(&got); err != nil || got != text {
			t.Errorf("%d bytes came back of %d: %v", len(got), len(text), err)
		}
	})
	t.Run("many rows", func(t *testing.T) {
		table := s.table(t, "id INT PRIMARY KEY, n INT")
		const rows = 300
		for i := 0; i < rows; i += 100 {
			values := make([]string, 100)
			args := make([]any, 0, 200)
			for j := range values {
				values[j] = "(?::INT, ?::INT)"
				args = append(args, i+j, 2*(i+j))
			}
			if n := s.exec(t, s.db, "INSERT INTO "+table+" VALUES "+strings.Join(values, ", "), args...); n != 100 {
				t.Errorf("RowsAffected %d of 100", n)
			}
		}
		got, err := s.db.QueryContext(t.Context(), "SELECT id, n FROM "+table+" ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		next := 0
		for got.Next() {
			var id, n int
			if err := got.Scan(&id, &n); err != nil || id != next || n != 2*id {
				t.Fatalf("row %d: %d, %d, %v", next, id, n, err)
			}
			next++
		}
		if err := got.Err(); err != nil || next != rows {
			t.Errorf("%d rows: %v", next, err)
		}
		if n := s.exec(t, s.db, "DELETE FROM "+table+" WHERE id < $1", 10); n != 10 {
			t.Errorf("DELETE touched %d rows, want 10", n)
		}
		if n := s.exec(t, s.db, "UPDATE "+table+" SET n = 0 WHERE id < $1", 20); n != 10 {
			t.Errorf("UPDATE touched %d rows, want 10", n)
		}
	})
	t.Run("a checkout is one connection", func(t *testing.T) {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var first string
		for i := range 10 {
			name := s.ranOn(t, t.Context(), conn)
			if i == 0 {
				first = name
			}
			if name != first {
				t.Errorf("statement %d ran on %s, the first on %s", i, name, first)
			}
		}
	})
	t.Run("all nodes take part", func(t *testing.T) {
		seen := map[string]int{}
		for range 10 * len(s.topology.Instances) {
			seen[s.ranOn(t, t.Context(), s.db)]++
		}
		for i := range s.topology.Instances {
			if in := &s.topology.Instances[i]; seen[in.UUID] == 0 {
				t.Errorf("%s ran nothing: %v", in.Name, seen)
			}
		}
	})
	t.Run("hint", func(t *testing.T) {
		for i := range s.topology.Instances {
			in := &s.topology.Instances[i]
			if uuid := s.ranOn(t, picodata.ToInstance(t.Context(), in.Name), s.db); uuid != in.UUID {
				t.Errorf("%s: ran on %s", in.Name, uuid)
			}
		}
		var unknown *picodata.UnknownNameError
		_, err := s.db.ExecContext(picodata.ToInstance(context.Background(), s.prefix), "SELECT 1")
		if !errors.As(err, &unknown) {
			t.Errorf("an instance that isn't there: %v", err)
		}
	})
}
