package sqltext

import "testing"

func TestSplitValues(t *testing.T) {
	for _, c := range []struct {
		sql, head, tail string
		ok              bool
	}{
		{"insert into t values ($1, $2), ($3, $4)", "insert into t values", "", true},
		{"insert into t (a, b) VALUES ($1,cast($2 as int)),($3,$4) on conflict do nothing; ", "insert into t (a, b) VALUES", " on conflict do nothing", true},
		{`insert into "values" values ($1), ($2) -- on`, `insert into "values" values`, "", true},
		{"insert into t values", "", "", false},
		{"insert into t select 1", "", "", false},
		{"insert into t values ('open", "", "", false},
	} {
		head, tail, ok := SplitValues(c.sql)
		if ok != c.ok || ok && (head != c.head || tail != c.tail) {
			t.Errorf("%s: %q, %q, %v", c.sql, head, tail, ok)
		}
	}
}
