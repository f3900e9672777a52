package sqltext

import "testing"

func TestRenumber(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int
		out    string
		params int
		ok     bool
	}{
		{"insert into t values ($1, $2)", 0, "insert into t values ($1, $2)", 2, true},
		{"insert into t values ($1, $2);", 3, "insert into t values ($4, $5)", 2, true},
		{"update t set a = $2 where b = $1 ; ;", 2, "update t set a = $4 where b = $3", 2, true},
		{"update t set a = ? where b = ?", 2, "update t set a = $3 where b = $4", 2, true},
		{"select '$1 ?', \"a?\" /* $9 */ from t -- ?", 5, "select '$1 ?', \"a?\"  from t", 0, true},
		{"select $1::int + $1", 1, "select $2::int + $2", 1, true},
		{"select 1; select 2", 0, "", 0, false},
		{"select $1, ?", 0, "", 0, false},
		{"select 'x", 0, "", 0, false},
		{"", 0, "", 0, true},
		{"select a--1", 0, "", 0, false},
		{"select $0", 0, "", 0, false},
	} {
		out, params, ok := Renumber(c.in, c.offset)
		if out != c.out || params != c.params || ok != c.ok {
			t.Errorf("Renumber(%q, %d) = %q, %d, %v; want %q, %d, %v", c.in, c.offset, out, params, ok, c.out, c.params, c.ok)
		}
	}
}
