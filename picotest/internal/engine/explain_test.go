package engine

import (
	"fmt"
	"strings"
	"testing"
)

// explained runs EXPLAIN and gives the lines.
func explained(t *testing.T, b *bench, sql string) string {
	t.Helper()
	s, err := b.e.Prepare(b.sess, sql, nil)
	if err != nil {
		t.Fatalf("%s: %s", sql, err.Message)
	}
	res, err := s.Run(t.Context(), nil, View{Instance: b.sess.Instance, Local: true})
	if err != nil {
		t.Fatalf("%s: %s", sql, err.Message)
	}
	if want := fmt.Sprintf("EXPLAIN %d", len(res.Rows)); res.Tag != want {
		t.Errorf("%s: tag %q; want %q", sql, res.Tag, want)
	}
	lines := make([]string, len(res.Rows))
	for i, r := range res.Rows {
		lines[i] = r[0].(string)
	}
	return strings.Join(lines, "\n")
}

func explainBench(t *testing.T, version string) *bench {
	b := newBench(t, version)
	b.want("CREATE TABLE", "create table t (id int primary key, s text, n int) distributed by (id)")
	b.want("CREATE TABLE", "create table u (id int primary key, v text) distributed by (id)")
	b.want("CREATE TABLE", "create table g (id int primary key, s text) distributed globally")
	b.want("CREATE TABLE", "create table k (a text, b int, v text, primary key (a, b)) distributed by (a, b)")
	return b
}

const classicTail = `
execution options:
    sql_vdbe_opcode_max = 45000
    sql_motion_row_max = 5000
buckets = `

// The first five plans are those of wire-simple.txt and wire-simple2.txt.
func TestClassicExplain(t *testing.T) {
	b := explainBench(t, "25.6")
	for sql, want := range map[string]string{
		"explain select * from t": `projection ("t"."id"::int -> "id", "t"."s"::string -> "s", "t"."n"::int -> "n")
    scan "t"` + classicTail + `[1-3000]`,
		"explain select * from t where id = 1": `projection ("t"."id"::int -> "id", "t"."s"::string -> "s", "t"."n"::int -> "n")
    selection "t"."id"::int = 1::int
        scan "t"` + classicTail + `[1934]`,
		"explain select * from t where id in (1,2)": `projection ("t"."id"::int -> "id", "t"."s"::string -> "s", "t"."n"::int -> "n")
    selection "t"."id"::int in ROW(1::int, 2::int)
        scan "t"` + classicTail + `[1410,1934]`,
		"explain insert into t values (31,'x',1)": `insert "t" on conflict: fail
    motion [policy: segment([ref("COLUMN_1")]), program: ReshardIfNeeded]
        values
            value row (data=ROW(31::int, 'x'::string, 1::int))` + classicTail + `unknown`,
		"explain (raw) select * from t where id = 1": `1. Query (FILTERED STORAGE):
SELECT "t"."id", "t"."s", "t"."n" FROM "t" WHERE "t"."id" = CAST(1 AS int)
+----------+-------+------+--------------------------------------------------+
| selectid | order | from | detail                                           |
+============================================================================+
| 0        | 0     | 0    | SEARCH TABLE t USING PRIMARY KEY (id=?) (~1 row) |
+----------+-------+------+--------------------------------------------------+
`,
		"explain select id x from g as h where s = 'a' option (sql_motion_row_max = 7)": `projection ("h"."id"::int -> "x")
    selection "h"."s"::string = 'a'::string
        scan "g" -> "h"
execution options:
    sql_vdbe_opcode_max = 45000
    sql_motion_row_max = 7
buckets = any`,
		"explain delete from t where id = 1": `delete "t"
    motion [policy: local, program: [PrimaryKey(0), ReshardIfNeeded]]
        projection ("t"."id"::int -> "pk_col_0")
            selection "t"."id"::int = 1::int
                scan "t"` + classicTail + `[1934]`,
		"explain update t set n = n + 1": `update "t"
"n" = "col_0"
    motion [policy: local, program: ReshardIfNeeded]
        projection ("t"."n"::int + 1::int -> "col_0", "t"."id"::int -> "col_1")
            scan "t"` + classicTail + `[1-3000]`,
		"explain select 1": `projection (1::int -> "col_1")` + classicTail + `any`,
	} {
		if got := explained(t, b, sql); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", sql, got, want)
		}
	}
}

// What docs and recordings of 26.2 show.
func TestModernExplain(t *testing.T) {
	b := explainBench(t, "26.2")
	rule := strings.Repeat("─", 70)
	for sql, want := range map[string]string{
		"explain select * from t": rule + "\n # Logical plan" + strings.Repeat(" ", 55) + "\n" + rule + `

projection (t.id::int -> id, t.s::string -> s, t.n::int -> n)
  scan t

` + rule + "\n # Buckets" + strings.Repeat(" ", 60) + "\n" + rule + `

buckets <= [1-3000]`,
		"explain (buckets) select * from t where id = 1":   "buckets = [1934]",
		"explain (buckets) select * from g":                "buckets = any",
		"explain (forward) select * from t where id = 1":   "forward analysis (on > ro_to_rw > off):\n  forward = off",
		"explain (forward) select * from t where id = 2":   "forward analysis (on > ro_to_rw > off):\n  forward = ro_to_rw",
		"explain (forward) select * from t where id < 2":   "forward analysis (on > ro_to_rw > off):\n  forward = on",
		"explain (context) select 1":                       "sql_vdbe_opcode_max = 45000\nsql_motion_row_max = 5000",
		"explain (buckets) insert into t values (1,'a',1)": "buckets = [1934]",
		"explain (logical) select s from t where n > 1000": `projection (t.s::string -> s)
  selection (t.n::int > 1000::int)
    scan t`,
		"explain (logical) select id, s from t except select id, v from u where id > 1": `except
  projection (t.id::int -> id, t.s::string -> s)
    scan t
  projection (u.id::int -> id, u.v::string -> v)
    selection (u.id::int > 1::int)
      scan u`,
		"explain (logical) insert into t values (1, 'a', 2) on conflict do nothing": `insert into t on conflict: nothing
  motion [policy: segment([ref("COLUMN_1")]), program: ReshardIfNeeded]
    values
      value ROW(1::int, 'a'::string, 2::int)`,
		"explain (logical) update t set s = 'N/A'": `update t (s = col_0)
  motion [policy: local, program: ReshardIfNeeded]
    projection ('N/A'::string -> col_0, t.id::int -> col_1)
      scan t`,
		"explain (logical) delete from t where id = 1": `delete from t
  motion [policy: local, program: [PrimaryKey(0), ReshardIfNeeded]]
    projection (t.id::int -> pk_col_0)
      selection (t.id::int = 1::int)
        scan t`,
		"explain (logical) select t.s from t join (select v from u) as w on t.s = w.v": `projection (t.s::string -> s)
  join on (t.s::string = w.v::string)
    scan t
    motion [policy: full, program: ReshardIfNeeded]
      scan w
        projection (u.v::string -> v)
          scan u`,
		`explain (raw) select * from t where id = 2`: `╭────────────────────────────────────────╮
│ 1. Query (CONST-FILTERED STORAGE, 1/2) │
╰────────────────────────────────────────╯

SELECT "t"."id", "t"."s", "t"."n" FROM "t" WHERE "t"."id" = CAST(2 AS int)

plan:
    [0] SEARCH TABLE t USING PRIMARY KEY (id=?) (~1 row)`,
	} {
		if got := explained(t, b, sql); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", sql, got, want)
		}
	}
}

// Everything that can be prepared can be explained, in all sections and both forms.
func TestExplainOfManyForms(t *testing.T) {
	for _, version := range []string{"25.6", "26.2"} {
		b := explainBench(t, version)
		for _, sql := range []string{
			"with c as (select id from t) select * from c join c as d on c.id = d.id",
			"select id from t where id in (select id from u) and exists (select 1 from g)",
			"select count(*), max(n) from t group by s having count(*) > 1",
			"select distinct s from t order by s desc limit 3",
			"select id from t union all select id from u union select 1",
			"select case when n is null then 1 else 2 end, n::text || 'a', coalesce(n, 1), -1.5, null, true from t",
			"select * from t left join g on t.id = g.id where t.s like 'a%' and not (t.n between 1 and 2)",
			"select row_number() over (order by id), substring(s from 1 for 2), trim(s), current_date from t",
			"values (1, 'a'), (2, 'b')",
			"insert into g select id, s from t",
			"insert into k (b, a) values (1, 'x') on conflict do replace",
			"update t set n = v.uid from (select id as uid from u) as v where t.id = v.uid",
			"update g set s = 'x' where id = 1",
			"delete from k",
			"select * from k where (a, b) = ('x', 1)",
			"select * from _pico_tier",
		} {
			text := explained(t, b, "explain "+sql)
			if strings.Contains(text, "%!") || strings.Contains(text, "::unknown") && !strings.Contains(text, "NULL::unknown") {
				t.Errorf("%s: %s\n%s", version, sql, text)
			}
			if version == "26.2" {
				explained(t, b, "explain (raw, fmt, buckets, logical, forward, context) "+sql)
			} else {
				explained(t, b, "explain (raw) "+sql)
			}
		}
	}
}

// The shapes are those of the server's documentation.
func TestExplainOfBlocks(t *testing.T) {
	b := explainBench(t, "26.2")
	for sql, want := range map[string]string{
		"explain (raw) do $$ begin let a = (select n from t where id = 1); if a > 5 then update t set s = 'kek' where id = 1; end if; end $$": `╭──────────────────────────────────────────╮
│ 1. Let "a" (CONST-FILTERED STORAGE, 1/2) │
╰──────────────────────────────────────────╯

SELECT "t"."n" FROM "t" WHERE "t"."id" = CAST(1 AS int)

plan:
    [0] SEARCH TABLE t USING PRIMARY KEY (id=?) (~1 row)

╭──────────────────────────────────────────╮
│ 2. If cond (CONST-FILTERED STORAGE, 1/2) │
╰──────────────────────────────────────────╯

SELECT CAST(:a AS int) > CAST(5 AS int) as "cond"

plan:
    [0] TRIVIAL

╭──────────────────────────────────────────╮
│ 3. If body (CONST-FILTERED STORAGE, 1/2) │
╰──────────────────────────────────────────╯

UPDATE "t" SET "s" = CAST('kek' AS string) WHERE "t"."id" = CAST(1 AS int)

plan:
    [0] SEARCH TABLE t USING PRIMARY KEY (id=?) (~1 row)`,
		"explain (logical) do $$ begin return query select 1; end $$": `╭──────────────────────────╮
│ 1. Return query (ROUTER) │
╰──────────────────────────╯

SELECT CAST(1 AS int) as "col_1"

projection (1::int -> col_1)`,
		"explain (buckets) do $$ begin delete from t where id = 1; insert into t values (1, 'a', 2); end $$": "buckets = [1934]",
	} {
		if got := explained(t, b, sql); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", sql, got, want)
		}
	}
	explained(t, b, "explain do $$ begin insert into t values (1, 'a', 2), (1, 'b', 3) on conflict do nothing; delete from t where id = 1; end $$")
	explained(t, explainBench(t, "26.1"), "explain (raw) do $$ begin return query select * from t where id = 2; delete from t where id = 2; end $$")
}

func TestBucketRanges(t *testing.T) {
	for want, list := range map[string][]uint64{
		"": nil, "5": {5}, "1-3": {1, 2, 3}, "1-2,4,6-8": {1, 2, 4, 6, 7, 8},
	} {
		if got := bucketRanges(list); got != want {
			t.Errorf("%v: %q; want %q", list, got, want)
		}
	}
}
