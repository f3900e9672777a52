package sqltext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"SELECT  a,b FROM T where ID=5", "select a, b from t where id = ?"},
		{"select a, b\n from t -- x\n where id = $1;", "select a, b from t where id = ?"},
		{"insert into t(a, b) values (1, 'secret')", "insert into t(a, b) values (?…)"},
		{"insert into t (a,b) values ($1,$2)", "insert into t(a, b) values (?…)"},
		{"insert into t values ($1, $2), ($3, $4), ($5, $6)", "insert into t values (?…)"},
		{"insert into t values ($1), ($2), ($3) on conflict do nothing", "insert into t values (?) on conflict do nothing"},
		{"select * from t where a in (1, -2, +3) and b = -4", "select * from t where a in (?…) and b = ?"},
		{"select 1, a, 2", "select ?, a, ?"},
		{`select "A b".c::int from t`, `select "A b".c::int from t`},
		{"create user u with password 'secret'", "create user u with password ?"},
		{"select 'secret", "select ?"},
		{"do $$ secret $$", "do ?"},
		{"select 1,", "select ?,"},
	} {
		if got := Normalize(c.in); got != c.want {
			t.Errorf("Normalize(%q) = %q, want %q", c.in, got, c.want)
		}
		if strings.Contains(Normalize(c.in), "secret") {
			t.Errorf("a value is left of %q", c.in)
		}
	}
}

func TestFingerprint(t *testing.T) {
	a := Fingerprint("insert into t (a, b) values (1, 'x')")
	if b := Fingerprint("INSERT  INTO t(a,b) VALUES ($1, $2) -- c"); a != b {
		t.Errorf("one statement, two fingerprints: %s, %s", a, b)
	}
	if b := Fingerprint("insert into u (a, b) values (1, 'x')"); a == b {
		t.Errorf("two statements, one fingerprint: %s", a)
	}
	// Fixed: dashboards and logs of different processes are compared by it.
	if a != "54358a4de77fd510" {
		t.Errorf("the fingerprint changed: %s", a)
	}
}

func TestFingerprintOfAnInfo(t *testing.T) {
	for sql, want := range map[string]string{
		"insert into t (a, b) values (1, 'secret')": "54358a4de77fd510 insert into t(a, b) values (?…)",
		"selec 'secret": "7ccef61bde6c666a selec ?",
		"":              "cbf29ce484222325 ",
	} {
		info := Analyze(sql)
		if got := info.Fingerprint(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	info := Analyze("select " + strings.Repeat("ж", 1000))
	if got := info.Fingerprint(); len(got) > 17+shownText+len("…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
