package conformance

import (
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"
)

// types is about values on their way there and back. Every value goes as an argument, comes back from
// a statement without arguments and from one with, which is another form on the wire.
func types(t *testing.T, s *subject) {
	moment := time.Date(2024, 2, 29, 23, 59, 58, 123456000, time.UTC)
	for _, c := range []struct {
		column, typeName string
		values           []any      // arguments
		want             []any      // what *any gets; nil: the values
		sample           func() any // a typed destination
	}{
		{"INT", "INT8", []any{int64(0), int64(127), int64(128), int64(-1), int64(math.MaxInt64), int64(math.MinInt64)}, nil, func() any { return new(int64) }},
		{"UNSIGNED", "INT8", []any{int64(0), int64(math.MaxInt64)}, nil, func() any { return new(uint64) }},
		{"TEXT", "TEXT", []any{"", "x", "it's", `back\slash`, `"quoted"`, "кириллица", "tab\tnewline\n", "$1 ? -- /*"}, nil, func() any { return new(string) }},
		{"BOOL", "BOOL", []any{true, false}, nil, func() any { return new(bool) }},
		// Servers from 25.6 on clamp whole numbers outside the range of integers: not tested.
		{"DOUBLE", "FLOAT8", []any{0.0, 1.5, -2.25, 1e15, 0.1, 5e-324}, nil, func() any { return new(float64) }},
		{"DECIMAL", "NUMERIC", []any{"0", "0.051426", "-12345678901234567890.123456789", "1e3"}, []any{"0", "0.051426", "-12345678901234567890.123456789", "1000"}, func() any { return new(string) }},
		{"UUID", "UUID", []any{"00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}, nil, func() any { return new(string) }},
		{"DATETIME", "TIMESTAMPTZ", []any{moment, time.Unix(0, 0).UTC()}, nil, func() any { return new(time.Time) }},
	} {
		t.Run(c.column, func(t *testing.T) {
			table := s.table(t, "id INT PRIMARY KEY, v "+c.column)
			want := c.want
			if want == nil {
				want = c.values
			}
			insert := fmt.Sprintf("INSERT INTO %s VALUES ($1, $2)", table)
			for i, v := range c.values {
				if n := s.exec(t, s.db, insert, i, v); n != 1 {
					t.Errorf("%v: RowsAffected %d", v, n)
				}
			}
			s.exec(t, s.db, insert, len(want), nil)
			for i, w := range append(want, nil) {
				for _, read := range []func() *sql.Row{
					func() *sql.Row {
						return s.db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT v FROM %s WHERE id = %d", table, i))
					},
					func() *sql.Row {
						return s.db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT v FROM %s WHERE id = $1", table), i)
					},
				} {
					var got any
					if err := read().Scan(&got); err != nil || !same(got, w) {
						t.Errorf("%v came back as %v (%T): %v", w, got, got, err)
					}
					if w == nil {
						continue
					}
					if err := read().Scan(c.sample()); err != nil {
						t.Errorf("%v into %T: %v", w, c.sample(), err)
					}
				}
			}
			rows, err := s.db.QueryContext(t.Context(), "SELECT v FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			columns, err := rows.ColumnTypes()
			if err != nil || columns[0].DatabaseTypeName() != c.typeName {
				t.Errorf("the column's type is %v, want %s (%v)", columns[0].DatabaseTypeName(), c.typeName, err)
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		// Picodata makes them, for maps of its system tables for instance, and takes none as an argument.
		var doc []byte
		if err := s.db.QueryRowContext(t.Context(), "SELECT failure_domain FROM _pico_instance LIMIT 1").Scan(&doc); err != nil || len(doc) == 0 || doc[0] != '{' {
			t.Errorf("%q, %v", doc, err)
		}
	})
	t.Run("null destinations", func(t *testing.T) {
		var (
			i sql.NullInt64
			x sql.NullString
			b sql.NullBool
			f sql.NullFloat64
			w sql.NullTime
			g sql.Null[int64]
		)
		table := s.table(t, "id INT PRIMARY KEY, i INT, x TEXT, b BOOL, f DOUBLE, w DATETIME, g INT")
		s.exec(t, s.db, "INSERT INTO "+table+" (id) VALUES (1)")
		row := s.db.QueryRowContext(t.Context(), "SELECT i, x, b, f, w, g FROM "+table)
		if err := row.Scan(&i, &x, &b, &f, &w, &g); err != nil || i.Valid || x.Valid || b.Valid || f.Valid || w.Valid || g.Valid {
			t.Errorf("%v %v %v %v %v %v: %v", i, x, b, f, w, g, err)
		}
	})
}

// same compares a value of Scan into *any with what is expected.
func same(got, want any) bool {
	switch g := got.(type) {
	case []byte:
		return want != nil && string(g) == fmt.Sprint(want)
	case time.Time:
		w, ok := want.(time.Time)
		return ok && g.Equal(w)
	}
	return got == want
}
