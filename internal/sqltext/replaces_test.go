package sqltext

import "testing"

func TestReplaces(t *testing.T) {
	for sql, want := range map[string]bool{
		"insert into t values (1)":                              false,
		"insert into t values (1) on conflict do nothing":       false,
		"insert into t values ('do replace') -- replace":        false,
		`insert into t ("replace") values (1)`:                  false,
		"INSERT INTO t VALUES (1) ON CONFLICT DO Replace":       true,
		"insert into t values (1) on conflict do /* */ replace": true,
		"insert into t values ('open":                           true,
	} {
		if got := Replaces(sql); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}
