package sqltext

import (
	"fmt"
	"testing"
)

func TestProjection(t *testing.T) {
	for sql, want := range map[string]string{
		"select a, B as c, \"D\" from t":                        "t [{a a} {b c} {D D}]",
		"SELECT * FROM public.t WHERE id = $1":                  "t [{* }]",
		"select x.a, x.* from t as x order by a limit 3;":       "t [{a a} {* }]",
		"select distinct a z, count(*), f(a, b) as n, 1 from t": "t [{a z} { } { } { }]",
		"select a + 1, (select b from u), c from t group by c":  "t [{ } { } {c c}]",
		"select a from t option (sql_motion_row_max = 5)":       "t [{a a}]",
		"select case when a then b else c end as x from t":      "t [{ }]",
		"select a from t, u":                                    "",
		"select a from t join u on t.id = u.id":                 "",
		"select a from t union all select b from u":             "",
		"select a from (select null as a) as t":                 "",
		"select u.a from t":                                     "",
		"select a from other.t":                                 "",
		"with t as (select 1 as a) select a from t":             "",
		"select 1":                         "",
		"values (1)":                       "",
		"select a from t; select b from t": "",
		"select a from":                    "",
		"select":                           "",
		"":                                 "",
		"select null, true from t":         "t [{ } { }]",
		"select a from t where b in (select c from u union select 1)": "",
	} {
		got := ""
		if table, list, ok := Projection(sql); ok {
			got = fmt.Sprint(table, " ", list)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// FuzzProjection wants of any text no panic and an end.
func FuzzProjection(f *testing.F) {
	for _, s := range []string{"select a, b as c from t", "select * from public.t", "select x.* from t x", "select (", "select a from", ";;", "select \"a\"\"b\" from t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if table, list, ok := Projection(sql); ok && (table == "" && len(sql) < 3 || len(list) == 0) {
			t.Fatalf("%q: %q %v", sql, table, list)
		}
	})
}
