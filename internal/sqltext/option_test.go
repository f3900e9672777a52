package sqltext

import "testing"

func TestHasOption(t *testing.T) {
	for sql, want := range map[string]bool{
		"select 1 option (sql_motion_row_max = 5)": true,
		"SELECT a FROM t\nOPTION(forward = off);":  true,
		"select 1":                                    false,
		"select option from t":                        false,
		"select 'option (' from t":                    false,
		"select a from t -- option (forward = off)":   false,
		"select (select 1 option (forward = off))":    false,
		`select "option" (1)`:                         false,
		"insert into t values ($1) option (x = $2) ;": true,
	} {
		if got := HasOption(sql); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}
