package picotest_test

import (
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestWhatTheFAQSays: what docs/faq.md says that Picodata's SQL can't do is refused, and the ways round work.
func TestWhatTheFAQSays(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	conn := session(t, c, "i1", "")
	run := func(sql string, args ...any) error {
		_, err := conn.Exec(t.Context(), sql, args...)
		return err
	}
	for _, sql := range []string{
		"create table t (id int primary key, k int, s text, price decimal, height double, u uuid, b bool, a int[])",
		"create table o (oid int primary key, t int)",
		"create table g (id int primary key, v int) distributed globally",
		"insert into t values (1, 1, 'x', 10.50, 1.5, '11111111-1111-1111-1111-111111111111'::uuid, true, array[1, 2]), (2, 1, 'y', null, null, null, null, null)",
		"insert into g values (1, 1), (2, 2)",
	} {
		if err := run(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, s := range []struct{ refused, text, instead string }{
		{"SELECT s FROM t ORDER BY id", `column with name "id" not found`, "SELECT id, s FROM t ORDER BY id"},
		{"SELECT k FROM t GROUP BY k ORDER BY count(*)", "doesn't influence ordering", "SELECT k, cast(count(*) AS int) AS c FROM t GROUP BY k ORDER BY c, k"},
		{"SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c LIMIT 5", "expected decimal, got unsigned", "SELECT k, cast(count(*) AS int) AS c FROM t GROUP BY k ORDER BY c LIMIT 5"},
		{"SELECT DISTINCT count(*) FROM t GROUP BY k", "expected decimal", "SELECT DISTINCT cast(count(*) AS int) AS c FROM t GROUP BY k"},
		{"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.t = t.id)", `scan Some("t") not found`, "SELECT id FROM t WHERE id IN (SELECT t FROM o)"},
		{"SELECT coalesce(price, 0) FROM t", "cannot be represented as a value of type Int8", "SELECT coalesce(price, 0.0) FROM t"},
		{"SELECT coalesce(height, 0) FROM t", "cannot be represented as a value of type Int8", "SELECT coalesce(height, 0e0) FROM t"},
		{"SELECT CASE WHEN k > 1 THEN 0 ELSE price END FROM t", "cannot be represented as a value of type Int8", "SELECT CASE WHEN k > 1 THEN 0.0 ELSE price END FROM t"},
		{"SELECT s FROM t WHERE (id, k) IN ((1, 1), (2, 2))", "IN operator for rows is not supported", "SELECT s FROM t WHERE (id = 1 AND k = 1) OR (id = 2 AND k = 2)"},
		{"SELECT id, id FROM t ORDER BY id", "column name id is ambiguous", "SELECT id, id AS again FROM t ORDER BY id"},
		{"UPDATE t SET k = j.k FROM t AS j WHERE t.id = j.id", "column name id is ambiguous", "UPDATE t SET k = j.x FROM (SELECT id AS uid, k AS x FROM t) AS j WHERE t.id = j.uid"},
		{"INSERT INTO o VALUES (1, 1) ON CONFLICT (oid) DO NOTHING", "ON CONFLICT target is only supported with DO UPDATE", "INSERT INTO o VALUES (1, 1) ON CONFLICT DO NOTHING"},
		{"DO $$ BEGIN INSERT INTO o VALUES (1, 1) ON CONFLICT (oid) DO UPDATE SET t = 7; END $$", "unsupported ON CONFLICT DO UPDATE expression", "DO $$ BEGIN INSERT INTO o VALUES (1, 1) ON CONFLICT (oid) DO UPDATE SET t = t + 1; END $$"},
		{"SELECT max(u) FROM t", "could not resolve function overload for max(uuid)", "SELECT max(u::text) FROM t"},
		{"SELECT id FROM t WHERE a = array[1, 2]", "to comparable type", "SELECT id FROM t WHERE a[1] = 1"},
		{"SELECT b::int FROM t", "can not convert boolean(TRUE) to integer", "SELECT CASE WHEN b THEN 1 ELSE 0 END FROM t"},
		{"SELECT k::bool FROM t", "can not convert integer(1) to boolean", "SELECT k <> 0 FROM t"},
		{"CREATE UNIQUE INDEX ix ON t (s)", "must include all sharding key columns as a prefix", "CREATE UNIQUE INDEX ix ON t (id, s)"},
		{"ALTER TABLE t DROP COLUMN s", "not yet supported", "ALTER TABLE t ADD COLUMN s2 text"},
		{"ALTER TABLE t ALTER COLUMN s TYPE int", "not yet supported", "ALTER TABLE t ADD COLUMN s3 int"},
	} {
		if err := run(s.refused); err == nil || !strings.Contains(err.Error(), s.text) {
			t.Errorf("%s: %v, want %q", s.refused, err, s.text)
		}
		if err := run(s.instead); err != nil {
			t.Errorf("the way round, %s: %v", s.instead, err)
		}
	}
	if err := run("INSERT INTO o SELECT $1, $2", "x", "y"); err == nil || !strings.Contains(err.Error(), "Failed to cast 'x' to int") {
		t.Errorf("parameters in SELECT aren't texts: %v", err)
	}
	if err := run("INSERT INTO o SELECT $1::int, $2::int", 5, 6); err != nil {
		t.Error(err)
	}
	for sql, want := range map[string]float64{"SELECT avg(v) FROM g": 1, "SELECT avg(v::double) FROM g": 1.5} {
		var got float64
		if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", sql, got, err, want)
		}
	}
}
