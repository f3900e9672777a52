package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

// show writes what routing needs of an Info in one line.
func show(i Info) string {
	var b strings.Builder
	b.WriteString(i.Class.String())
	if i.PlainRead {
		b.WriteString(" plain")
	}
	if i.Table != "" {
		fmt.Fprintf(&b, " %s", i.Table)
	}
	if i.Columns != nil {
		fmt.Fprintf(&b, "(%s)", strings.Join(i.Columns, ","))
	}
	for _, v := range i.Values {
		fmt.Fprintf(&b, " %s", showRef(v))
	}
	for _, k := range i.Keys {
		fmt.Fprintf(&b, " %s=%s", k.Column, showRef(k.Ref))
	}
	return b.String()
}

func showRef(r Ref) string {
	if r.Param < 0 {
		return "-"
	}
	s := fmt.Sprint(r.Param)
	if r.Cast != "" {
		s += "::" + r.Cast
	}
	return s
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct{ sql, want, reason string }{
		// INSERT.
		{"insert into t values ($1, $2, $3)", "insert t 0 1 2", ""},
		{"INSERT INTO public.T VALUES ($1,$2)", "insert t 0 1", ""},
		{`insert into "public"."T" ("Id", s) values ($2, $1);`, "insert T(Id,s) 1 0", ""},
		{`insert into "a""b" values (?, ?)`, `insert a"b 0 1`, ""},
		{"insert into t(a,b)values(?,?)", "insert t(a,b) 0 1", ""},
		{"insert into t values ($1::int, cast($2 as varchar(10)), $3::decimal(10, 2))", "insert t 0::int 1::varchar 2::decimal", ""},
		{"insert into t values ($1, 5, lower($2), $3 + 1, ($4), -1, 'a,(b', now())", "insert t 0 - - - - - - -", ""},
		{"insert into t values ($1, $2) on conflict do replace", "insert t 0 1", ""},
		{"insert into t values ($1, $2) on conflict (a) do update set b = b + $3", "insert t 0 1", ""},
		{"insert into t values ($1) option (sql_motion_row_max = 5, forward = Off)", "insert t 0", ""},
		{"insert into t values ($1), ($2)", "insert t", ReasonRows},
		{"insert into t values ($1), ($2, lower(x)), (3)", "insert t", ReasonRows},
		{"insert into t (a, b) values ($1)", "insert", ReasonSyntax},
		{"insert into t select * from u where id = $1", "insert t", ReasonNoValues},
		{"insert into t (select 1)", "insert t", ReasonNoValues},
		{"insert into t (a) select 1", "insert t", ReasonNoValues},
		{"insert into t values ((select 1), $1)", "insert", ReasonSyntax},
		{"insert into t values ($1) returning id", "insert", ReasonSyntax},
		{"insert into t values ($1::int[])", "insert t -", ""},
		{"insert into t values ($1", "insert", ReasonSyntax},
		{"insert into t values", "insert", ReasonSyntax},
		{"insert t values ($1)", "unknown", ReasonSyntax},
		{"insert into s.t values ($1)", "unknown", ReasonSyntax},

		// SELECT with keys.
		{"select * from t where id = $1", "read plain t id=0", ""},
		{"select a, b from public.t where ID = ?", "read plain t id=0", ""},
		{`select "t"."a" from "t" where "t"."id" = $1 and $2::int = "t"."k"`, "read plain t id=0 k=1::int", ""},
		{"select x.a from t as x where x.id = $1", "read plain t id=0", ""},
		{"select x.a from t x where (x.id = $1) and ((x.k = $2) and x.v > 5)", "read plain t id=0 k=1", ""},
		{"select x.a from t x where t.id = $1", "read plain t", ReasonNoKey},
		{"select count(*) from t where id = $1 group by a order by b limit 5", "read plain t id=0", ""},
		{"select * from t where id = $1 and a is null and b like 'x%' and c in (1, 2)", "read plain t id=0", ""},
		{"select * from t where id = $1 option (read_preference = replica)", "read plain t id=0", ""},
		{"select * from t where id = $1 option (read_preference = $2)", "read plain t id=0", ""},
		{"select * from t indexed by i where id = $1", "read plain t id=0", ""},
		{"select * from t x indexed by i where x.id = $1", "read plain t id=0", ""},
		{"select * from t where id = $1 and id = $2", "read plain t id=0", ""},
		{"select * from t where id = ? and k = ?", "read plain t id=0 k=1", ""},

		// SELECT without.
		{"select 1", "read plain", ReasonNotDML},
		{"select * from t", "read plain t", ReasonNoWhere},
		{"select * from t where id = 5", "read plain t", ReasonNoKey},
		{"select * from t where id > $1", "read plain t", ReasonNoKey},
		{"select * from t where id = $1 + 1", "read plain t", ReasonNoKey},
		{"select * from t where id + 1 = $1", "read plain t", ReasonNoKey},
		{"select * from t where id = $1 or k = $2", "read plain t", ReasonWhere},
		{"select * from t where not (id = $1)", "read plain t", ReasonWhere},
		{"select * from t where a between 1 and id = $1", "read plain t", ReasonWhere},
		{"select * from t where case when a and id = $1 and b then c end", "read plain t", ReasonWhere},
		{"select * from t where (id = $1 or k = $2) and v = $3", "read plain t", ReasonWhere},
		{"select * from t where id = $1 and v in (select 1)", "read plain", ReasonSubquery},
		{"select * from t join u on t.id = u.id where t.id = $1", "read plain", ReasonSubquery},
		{"select * from t, u where id = $1", "read plain t", ReasonNoWhere},
		{"select * from (select * from t) where id = $1", "read plain", ReasonSubquery},
		{"select * from t where id = $1 union all select * from u", "read plain", ReasonSubquery},
		{"with c as (select 1) select * from c where id = $1", "read plain", ReasonSubquery},
		{"with c (a, b) as (select 1, 2), d (e) as (values (1)) select * from c", "read plain", ReasonSubquery},
		{"values (1), (2)", "read plain", ReasonSubquery},

		// UPDATE and DELETE.
		{"update t set a = $1, b = lower(b) where id = $2", "update t id=1", ""},
		{"update t set a = f(1, 2), b = (c) where id = $1 and k = $2", "update t id=0 k=1", ""},
		{"update t set id = $1 where id = $2 and k = $3", "update t k=2", ""},
		{"update t set a = 1", "update t", ReasonNoWhere},
		{"update t set a = 1 from u where t.id = $1", "update t", ReasonSubquery},
		{"update t set a = (select 1) where id = $1", "update t", ReasonSubquery},
		{"delete from t where id = $1", "delete t id=0", ""},
		{"delete from t indexed by i where t.id = $1", "delete t id=0", ""},
		{"delete from t", "delete t", ReasonNoWhere},
		{"delete t", "unknown", ReasonSyntax},

		// The rest.
		{"", "empty", ReasonNotDML},
		{" ; ; ", "empty", ReasonNotDML},
		{"-- a comment", "empty", ReasonNotDML},
		{"create table t (id int primary key)", "ddl", ReasonNotDML},
		{"drop table t option (timeout = 5)", "ddl", ReasonNotDML},
		{"grant read on table t to u", "ddl", ReasonNotDML},
		{"do $$ begin insert into t values ($1); end $$", "block", ReasonNotDML},
		{"begin", "tx", ReasonNotDML},
		{"call p($1)", "other", ReasonNotDML},
		{"set a = b", "other", ReasonNotDML},
		{"explain select * from t where id = $1", "read plain", ReasonNotDML},
		{"explain (raw, buckets) select 1", "read plain", ReasonNotDML},
		{"explain insert into t values (1)", "other", ReasonNotDML},
		{"explain analyze select 1", "unknown", ReasonSyntax},
		{"explain (analyze) delete from t", "unknown", ReasonSyntax},
		{"explain", "unknown", ReasonSyntax},
		{"explain (", "unknown", ReasonSyntax},
		{"selec 1", "unknown", ReasonStart},
		{"(select 1)", "unknown", ReasonStart},
		{"'x'", "unknown", ReasonStart},
		{"select 1; select 2", "unknown", ReasonSeveral},
		{"select ? , $1", "unknown", ReasonMixedParams},
		{"select $0", "unknown", ReasonParameter},
		{"select $65536", "unknown", ReasonParameter},
		{"select $99999999999999999999", "unknown", ReasonParameter},
		{"select 'open", "unknown", ReasonUnterminated},
		{"update t set a = a--1 where id = $1", "unknown", ReasonDoubtful},
		{"select E'a' from t", "unknown", ReasonDoubtful},
	} {
		got := Analyze(c.sql)
		if s := show(got); s != c.want {
			t.Errorf("Analyze(%q) = %s, want %s (reason %q)", c.sql, s, c.want, got.Reason)
		}
		if got.Reason != c.reason {
			t.Errorf("Analyze(%q): reason %q, want %q", c.sql, got.Reason, c.reason)
		}
	}
}

// A block's parameters are those of its statements.
func TestParametersOfABlock(t *testing.T) {
	for sql, want := range map[string]int{
		"do $$ begin insert into t values ($1, $2); update u set a = $3 where k = $1; end $$":                3,
		"do $body$ begin delete from t where k = $2; end $body$":                                             2,
		"do $$ begin return query select '$7', \"$8\" from t where k = ?; delete from t where k = ?; end $$": 2,
		"do $$ begin delete from t where k = 1; end $$":                                                      0,
		"do $$ begin delete from t where k = 'unterminated; end $$":                                          -1,
		"do $$ begin delete from t where k = $1 or k = ?; end $$":                                            -1,
	} {
		if info := Analyze(sql); info.Params != want || info.Class != Block {
			t.Errorf("%s: %v with %d parameters, want %d", sql, info.Class, info.Params, want)
		}
	}
}

func TestMissing(t *testing.T) {
	for sql, want := range map[string]string{
		"select * from t limit $1":                      "LIMIT",
		"select * from t limit ?":                       "LIMIT",
		"select * from t limit 5 offset 10":             "OFFSET",
		"insert into t values (1) returning id":         "RETURNING",
		"LISTEN channel":                                "LISTEN",
		"copy t from stdin":                             "COPY",
		"select 'returning', \"offset\" from t limit 5": "",
		"update t set a = 1 where b = 2 limit 1":        "UPDATE",
		"delete from t order by a":                      "DELETE",
		"selec 1":                                       "",
		"select 'unterminated":                          "",
	} {
		got := Missing(sql)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", sql, got)
		}
	}
}

// Each lack is found by its words, wherever its text goes on.
func TestEachLackIsFound(t *testing.T) {
	for _, l := range lacks {
		sql, first := strings.CutPrefix(l.words, "^ ")
		if !first {
			sql = "select 1 " + sql
		}
		if got := Missing(strings.ToUpper(sql) + " x, y"); got != l.help {
			t.Errorf("%s: %q", sql, got)
		}
		if got := Missing("select 'x " + sql + " y'"); got != "" {
			t.Errorf("%s within a string: %q", sql, got)
		}
	}
}

func TestAnalyzeCountsParameters(t *testing.T) {
	for _, c := range []struct {
		sql      string
		params   int
		question bool
	}{
		{"select 1", 0, false}, {"select $3, $1", 3, false}, {"select ?, ?", 2, true},
		{"select '?', \"?\", '$1'", 0, false}, {"select /* ? */ ?", 1, true},
	} {
		if got := Analyze(c.sql); got.Params != c.params || got.Question != c.question {
			t.Errorf("%q: %d parameters, question %v", c.sql, got.Params, got.Question)
		}
	}
}

// TestReadsAreRecognisedPositively is rw-split-by-method: nothing is a plain read because of
// the method it was sent by or of the statement before it.
func TestReadsAreRecognisedPositively(t *testing.T) {
	const before = "select * from t where id = $1"
	for sql, plain := range map[string]bool{
		"insert into t values ($1) returning id": false,
		" \n\t select 1":                         true,
		"/* c */ select 1":                       true,
		"-- c\nselect 1":                         true,
		"with x as (select 1) select * from x":   true,
		"with x as (delete from t) select 1":     false,
		"with x as (insert into t values (1) returning id) select * from x": false,
		"(select 1)":                       false,
		"explain insert into t values (1)": false,
		"explain select 1":                 true,
		"explain analyze select 1":         false,
		"select f()":                       false,
		`select "count"(1)`:                false,
		"select * from f(1)":               false,
		"select backup()":                  false,
		"select left(a, 1) from t":         true,
		"select count(*), sum(a), coalesce(b, 'x') from t":                      true,
		"select pico_instance_uuid(), version()":                                true,
		"select nextval('s')":                                                   false,
		"select my_proc(1)":                                                     false,
		"select * from a, f(b) as (x)":                                          false,
		"select * from a, f(b, c) as (x, y)":                                    false,
		"select * from a, count(b) as (x)":                                      true,
		"with c (a, b) as (select 1, 2), d (e) as (values (1)) select * from c": true,
		"with c (a) as (select f(1)) select * from c":                           false,
		"select a::f(1) from t":                                                 false,
		"select a::numeric(10, 2) from t":                                       true,
		"select cast(a as f(1)) from t":                                         false,
		"select s.count(a) from t":                                              false,
		"select public.my_proc(a) from t":                                       false,
		"select a from t where b in (1) and exists (select 1)":                  true,
		"select row_number() over (partition by a order by b) from t":           true,
		"select sum(a) filter (where b) over w from t window w as (order by c)": true,
		"select cast(a as decimal(10, 2)), b::varchar(5) from t":                true,
		"select substring(a from 1 for 2), trim(both 'x' from a) from t":        true,
		"select substring(a for b) from t":                                      true,
		"select current_timestamp(3)":                                           true,
		"select * into u from t":                                                false,
		"select * from t for update":                                            false,
		"select * from t for share":                                             false,
		"select * from t for no key update":                                     false,
		"select 'insert into t', \"delete\" from t":                             true,
		"select delete from t":                                                  false, // legal, but not worth a risk
		"select 1; select 2":                                                    false,
		"select 1; delete from t":                                               false,
		"selec 1":                                                               false,
		"":                                                                      false,
		"do $$ begin return query select 1; end $$":                             false,
		"values (1)":          true,
		"call p()":            false,
		"select $$ delete $$": false,
		"select a--1 from t":  false,
	} {
		if !Analyze(before).PlainRead {
			t.Fatal(before)
		}
		got := Analyze(sql)
		if got.PlainRead != plain {
			t.Errorf("%q: plain = %v (%v, %s)", sql, got.PlainRead, got.Class, got.Reason)
		}
		if got.PlainRead && got.Class != Read {
			t.Errorf("%q is a plain read of class %v", sql, got.Class)
		}
	}
}

func TestLongTextsAreReadInLinearTime(t *testing.T) {
	// Counted in tokens looked at, not in time: a bulk INSERT of "?" once cost a walk to the
	// beginning for every value.
	sql := "insert into t values " + strings.TrimSuffix(strings.Repeat("(?, ?, ?),", 20000), ",")
	got := Analyze(sql)
	if got.Rows != 20000 || got.Params != 60000 || got.Reason != ReasonRows {
		t.Errorf("rows %d, params %d, %s", got.Rows, got.Params, got.Reason)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		"insert into t (a, b) values ($1, cast($2 as int)) on conflict do nothing option (forward = off)",
		"select a from t as x where (x.id = $1 and k = ?)", "update t set a = (b, c) where id = $1::uuid", "delete from t indexed by",
		"explain (raw, x) select", "with c (a, b) as (select", "select f(", "option (a = b)", "select 1 option (", "values", "insert into t (", "do $$", "$1::", "cast($1 as",
		"select x from t where ((((", "select x from t where ))))", "update t set", "update t set a", "update t set a =", "select from",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i := Analyze(s)
		if i.Class == Unknown && (i.PlainRead || i.Bound() || i.Table != "" || i.Reason == "") {
			t.Fatalf("%q: unknown, but %+v", s, i)
		}
		if i.Bound() != (i.Reason == "") {
			t.Fatalf("%q: %+v", s, i)
		}
		for _, r := range i.Values {
			if r.Param >= i.Params {
				t.Fatalf("%q: parameter %d of %d", s, r.Param, i.Params)
			}
		}
		for _, k := range i.Keys {
			if k.Ref.Param < 0 || k.Ref.Param >= i.Params || k.Column == "" && !strings.Contains(s, `""`) {
				t.Fatalf("%q: %+v of %d", s, k, i.Params)
			}
		}
		// Comments make no difference.
		if stripped, changed := StripComments(s); changed {
			if a, b := show(i)+i.Reason, show(Analyze(stripped))+Analyze(stripped).Reason; a != b {
				t.Fatalf("%q: %s, stripped %q: %s", s, a, stripped, b)
			}
		}
		// No value is left.
		n := Normalize(s)
		l := lexer{s: n}
		for {
			tok := l.next()
			if tok.kind == end {
				break
			}
			if tok.kind != question && isValue(tok) {
				t.Fatalf("%q: %q is left in %q", s, n[tok.start:tok.end], n)
			}
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	for name, sql := range map[string]string{
		"insert": "insert into t (id, s, n) values ($1, $2, $3)",
		"select": "select id, s, n from t where id = $1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyze(sql)
			}
		})
	}
}

// Rows are known whole or not at all.
func TestRowsOfInsert(t *testing.T) {
	for _, c := range []struct {
		sql  string
		rows int
		refs string
	}{
		{"insert into t values ($1, $2)", 1, "0 1"},
		{"insert into t values ($1, $2), ($3, 7), ($4::int, ?)", 0, ""}, // $n and ? mixed
		{"insert into t values ($1, $2), ($3, 7), ($4::int, $1) on conflict do nothing", 3, "0 1|2 -|3::int 0"},
		{"insert into t (a, b) values (?, ?), (?, ?)", 2, "0 1|2 3"},
		{"insert into t values ($1, $2), ($3)", 2, ""},
		{"insert into t (a) values ($1), ($2, $3)", 2, ""},
		{"insert into t values ($1, $2), ((select max(id) from u), $3), ($4, $5)", 0, ""},
		{"insert into t values ($1, $2), ($3, $4) returning a", 0, ""},
		{"insert into t values ($1, $2), ($3, $4", 0, ""},
		{"insert into t values ($1, $2), ($3, $4),", 0, ""},
	} {
		info := Analyze(c.sql)
		var rows []string
		for i := range info.Rows {
			var refs []string
			for _, r := range info.Row(i) {
				refs = append(refs, showRef(r))
			}
			if refs != nil {
				rows = append(rows, strings.Join(refs, " "))
			}
		}
		if got := strings.Join(rows, "|"); got != c.refs || info.Rows != c.rows {
			t.Errorf("%s: %d rows, %q", c.sql, info.Rows, got)
		}
	}
}
