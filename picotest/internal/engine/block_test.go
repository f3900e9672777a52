package engine

import (
	"strings"
	"testing"
)

// What blocks accept and refuse; the texts are those that the server's own tests ask for.
func TestBlocks(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table acc (k int primary key, a int, b int)")
	b.run("insert into acc values (1,1,1),(2,2,2),(3,3,3),(4,4,4)")
	b.run("create table gl (k int primary key, a int) distributed globally")
	b.run("insert into gl values (1,1)")
	const wrong = "! XX000 sbroad: "
	for _, c := range []struct{ body, want string }{
		{"return query select a + 1 from acc where k = 1; return query select b + 2 from acc where k = 1;", "2; 3; DO 2"},
		{"return query values (1,2), (2,3); return query select 3,4;", "1|2; 2|3; 3|4; DO 3"},
		{"return query select 1 limit 0;", "DO 0"},
		{"return query select k from gl; return query select k from acc where k = 4;", "1; 4; DO 2"},
		{"return query select * from acc where k = 1; update acc set a = a + 1 where k = 1; update acc set a = a * 3 where k = 1;", "1|1|1; DO 1"},
		{"return query select a from acc where k = 1;", "6; DO 1"},
		{"let v = (select a from acc where k = 2); return query select v + v;", "4; DO 1"},
		{"let v = (select a from acc where k = 999); return query select v is null;", "t; DO 1"},
		{"let v = (select 1); let v = (select v + 100); return query select v;", "101; DO 1"},
		{"let v = (select b from acc where k = 3); if v > 1 then update acc set a = 70 + v where k = 3; end if;", "DO 0"},
		{"return query select a from acc where k = 3;", "73; DO 1"},
		{"if null then update acc set a = 0 where k = 3; end if; update acc set b = 9 where k = 3;", "DO 0"},
		{"return query select a, b from acc where k = 3;", "73|9; DO 1"},
		{"insert into acc values (1, 0, 0) on conflict (k) do update set a = a + 1, b = b - 2;", "DO 0"},
		{"return query select a, b from acc where k = 1;", "7|-1; DO 1"},
		{"insert into acc values (17, 5, 5) on conflict (k) do update set a = a + 1;", "DO 0"},
		{"return query select * from acc where k = 17;", "17|5|5; DO 1"},

		{"insert into acc values (500, 'x'::int, 1);", wrong + "Query 1 from EXPLAIN (RAW): Type mismatch: can not convert string('x') to integer"},
		{"return query select a from acc where a = 1;", wrong + "statement 1 (RETURN QUERY): transaction cannot be executed on all buckets"},
		{"return query select a from acc where k = 1; update acc set a = 0 where k = 2;", wrong + "statement 1 (RETURN QUERY) and statement 2 (DML): different buckets: [1934] and [1410]"},
		{"return query select a from acc where k = 1 or k = 2;", wrong + "statement 1 (RETURN QUERY): transaction can only be executed on a single bucket, got [1410, 1934]"},
		{`let x = (select a from acc);`, wrong + `statement 1 (LET "x"): transaction cannot be executed on all buckets`},
		{"if true then update acc set b = 0 where k = 1; update acc set b = 0 where k = 2; end if;", wrong + "statement 1 (IF body, query 1) and statement 1 (IF body, query 2): different buckets: [1934] and [1410]"},
		{"return query select 1; return query select '1', null;", wrong + "RETURN QUERY types cannot be matched ([int] and [string, unknown])"},
		{"update _pico_table set name = 'x';", wrong + "cannot modify system table _pico_table within transaction"},
		{"update gl set a = 1;", wrong + "cannot modify global table gl within transaction"},
		{"select * from acc;", wrong + "bare DQL is not allowed, use LET or RETURN QUERY"},
		{"update acc set a = 1 where k = 2; let v = (select 1);", wrong + "LET and RETURN QUERY statements must precede all DML statements"},
		{"insert into acc values (1 + 1, 1, 1);", wrong + "INSERT in transaction requires constant or parameter values for sharding-key columns"},
		{"insert into acc values (400, (select 1), 1);", wrong + "INSERT in transaction does not support subqueries in VALUES"},
		{"delete from acc where k = (select 1);", wrong + "DELETE in transaction cannot have subqueries"},
		{"let v = (select a, b from acc where k = 1);", wrong + "LET RHS must be a single-column query"},
		{"let v = (select 1); let v = (select 'x');", wrong + `LET variable "v" cannot be redeclared with a different type`},
		{"let a = (select 1); return query select a from acc where k = 1;", wrong + `column reference "a" is ambiguous: it could refer to either a LET variable or a table column`},
		{"let v = (values (1), (2));", wrong + "Failed to execute SQL statement: Expression subquery returned more than 1 row"},
		{"if true then select 1; end if;", wrong + "IF body may only contain DML statements"},
		{"if true then let v = (select 1); end if;", wrong + "LET is not allowed inside IF body"},
	} {
		b.want(c.want, "do $$ begin "+c.body+" end $$")
	}
	if got := b.run("insert into acc values (1, 0, 0) on conflict (k) do update set a = 1"); !strings.HasPrefix(got, "!") {
		t.Errorf("DO UPDATE outside a block: %s", got)
	}
}

// A block that fails leaves nothing, on no copy.
func TestBlockIsAtomic(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table acc (id int primary key, a int)")
	b.run("insert into acc values (1, 5)")
	got := b.run("do $$ begin update acc set a = 6 where id = 1; insert into acc values (1, 0); end $$")
	if !strings.Contains(got, "transaction rolled-back: Duplicate key exists in unique index") {
		t.Errorf("a duplicate in a block: %s", got)
	}
	b.want("5; SELECT 1", "select a from acc where id = 1")
	b.want("5; SELECT 1", "select a from acc where id = 1 option (read_preference = replica)")
	b.want("DO 0", "do $$ begin update acc set a = 7 where id = 1; delete from acc where id = 1; insert into acc values (1, 8); end $$")
	b.want("8; SELECT 1", "select a from acc where id = 1 option (read_preference = replica)")
}
