package sqltext

import (
	"strings"
	"testing"
)

func TestChains(t *testing.T) {
	for sql, want := range map[string]Chains{
		"":                                       {},
		"select 1":                               {},
		"select a||b||c||d from t":               {Concat: 3},
		"select a||b, c||d||e from t":            {Concat: 2},
		"select a + b * c - d from t":            {Arithmetic: 3},
		"select a + b = c + d from t":            {Arithmetic: 1},
		"select a||b as x from t where c||d = e": {Concat: 1},
		"select (a||b)||c":                       {Concat: 1, Depth: 1},
		"select f(g(h(1)))||'x'":                 {Concat: 1, Depth: 3},
		"select 'a||b||c' || \"d||e\"":           {Concat: 1},
		"select a::text||b::text||c[1]::text":    {Concat: 2},
		"select 1 -- + 2 + 3":                    {},
		"select 'unterminated || || ||":          {},
		")))((":                                  {Depth: 2},
	} {
		if got := ChainsOf(sql); got != want {
			t.Errorf("%s: %+v, want %+v", sql, got, want)
		}
	}
}

// FuzzChains wants of any text no panic, and no more of anything than the text has.
func FuzzChains(f *testing.F) {
	for _, s := range []string{"select a||b||c", "((1+2)*3)", "select 1 option (forward = on)", "'", "$$ a||b $$", "--", "/*", "a OPTION(", "\x00||\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		c := ChainsOf(sql)
		if c.Concat > strings.Count(sql, "|") || c.Depth > strings.Count(sql, "(") ||
			c.Arithmetic > strings.Count(sql, "+")+strings.Count(sql, "-")+strings.Count(sql, "*")+strings.Count(sql, "/")+strings.Count(sql, "%") {
			t.Fatalf("%q: %+v", sql, c)
		}
		if HasOption(sql) && !strings.Contains(strings.ToLower(sql), "option") {
			t.Fatalf("%q has no OPTION", sql)
		}
	})
}
