package sqltext

import (
	"slices"
	"testing"
)

func TestTables(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"select 1", nil},
		{"select a, b from t", []string{"t"}},
		{`select a, b from public."T" as x, U where x in (a, c)`, []string{"T", "u"}},
		{"select * from a join b on a.id = b.id left join c on f(b.x, c.y) = 1, d order by e, f", []string{"a", "b", "c", "d"}},
		{"select * from (select x, y from inside) as s, after", []string{"inside", "after"}},
		{"select * from (a join b on true), c group by d, e", []string{"a", "b", "c"}},
		{"select (select max(x) from u), v from w", []string{"u", "w"}},
		{"with c as (select a, b from t) select * from c", []string{"t", "c"}},
		{"select a from t union select b, c from u", []string{"t", "u"}},
		{"insert into t (a, b) select c, d from u", []string{"t", "u"}},
		{"update t set a = b from u where t.x = u.x", []string{"t", "u"}},
		{"delete from t where a in (select b from u)", []string{"t", "u"}},
		{"select x from t -- from u\n", []string{"t"}},
		{"select 'from u' from t", []string{"t"}},
		{"select 'open", nil},
		{"select ) from t ) , u", []string{"t", "u"}},
	} {
		if got := Tables(c.sql); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.sql, got)
		}
	}
}
