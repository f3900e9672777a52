package engine

import (
	"fmt"
	"testing"
)

func TestQueries(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table p (k int primary key, a int, s text)")
	b.run("insert into p values (1,1,'x'),(2,2,'y'),(3,2,'z'),(4,null,null)")
	b.run(`create table c ("Id" int primary key, id text, "we ird""n" int)`)
	b.want("INSERT 0 1", `insert into c values (1, 'one', 2)`)
	b.want("UPDATE 1", `update c set id = id || '!', "we ird""n" = "Id" + 5`)
	b.want("one!|6|1; SELECT 1", `select id, "we ird""n", "Id" from c where "Id" = 1`)
	b.want("1|one!|6; SELECT 1", `select * from (select * from c) as q`)
	b.run("create table d (k int primary key, n decimal, f double, u uuid, ts datetime)")
	b.run("insert into d values (1, 1.50, 0.5, '9035910e-8342-4460-8c25-25e5f10d9876', '2024-01-01T10:00:00+03:00')")
	b.run("insert into d values (2, 1.5, 2, null, '2024-01-01T07:00:00Z'), (3, 10, -1, null, '2023-01-01')")
	for _, c := range []struct{ sql, want string }{
		{"with q(x, y) as (select k, a from p), r as (select x from q where y > 1) select q.x, r.x from q join r on q.x = r.x order by 1", "2|2; 3|3; SELECT 2"},
		{"select a, count(*), sum(k), avg(k), min(s), max(s) from p group by a having count(*) > 0 order by a", "<null>|1|4|4|<null>|<null>; 1|1|1|1|x|x; 2|2|5|2.5|y|z; SELECT 3"},
		{"select k, row_number() over (order by k desc), sum(k) over (partition by a order by k) from p order by k", "1|4|1; 2|3|2; 3|2|5; 4|1|4; SELECT 4"},
		{"select l.k, r.k from p as l left join p as r on l.k = r.k + 3 order by l.k", "1|<null>; 2|<null>; 3|<null>; 4|1; SELECT 4"},
		{"select k from p where k in (select a from p) order by k", "1; 2; SELECT 2"},
		{"select k from p where exists (select 1 from d where d.k = p.k) order by 1", `! XX000 sbroad: column with name "k" and scan Some("p") not found`},
		{"select (select max(k) from p)", "4; SELECT 1"},
		{"select a from p union select k from p order by 1", "<null>; 1; 2; 3; 4; SELECT 5"},
		{"select k from p except select a from p order by 1", "3; 4; SELECT 2"},
		{"select k, case a when 1 then 'one' when 2 then 'two' else 'none' end from p order by k", "1|one; 2|two; 3|two; 4|none; SELECT 4"},
		{"select coalesce(s, 'none') || '!' from p order by 1", "none!; x!; y!; z!; SELECT 4"},
		{"select s from p where s ilike 'X' or s like '_' and k = 3 order by k", `! XX000 sbroad: column with name "k" not found`},
		{"select n, count(*) from d group by n order by n", "1.50|2; 10|1; SELECT 2"},
		{"select k from d where n = 1.5 order by k", "1; 2; SELECT 2"},
		{"select k from d where n > 2", "3; SELECT 1"},
		{"select k from d where f = 2 or f < 0 order by k", "2; 3; SELECT 2"},
		{"select k from d where ts = '2024-01-01T07:00:00Z' order by k", "1; 2; SELECT 2"},
		{"select k, ts from d order by ts, k", "3|2023-01-01 00:00:00+00; 1|2024-01-01 10:00:00+03; 2|2024-01-01 07:00:00+00; SELECT 3"},
		{"select max(n), min(ts), max(f) from d", "10|2023-01-01 00:00:00+00|2.0; SELECT 1"},
		{"select sum(n), avg(n) from d", "13.00|4.333333333333333; SELECT 1"},
		{"select n + 0.25, n * 2, n / 4, n - f from d where k = 1 order by 1", "1.75|3.00|0.375|1.0; SELECT 1"},
		{"select 1.0/3, 2.0/3, 10/4, -7/2, -7 % 3", "0.33333333333333333333333333333333333333|0.66666666666666666666666666666666666667|2|-3|-1; SELECT 1"},
		{"select k from d where u = '9035910E-8342-4460-8c25-25e5f10d9876'", "1; SELECT 1"},
		{"select 'abc' like 'a%', 'a%c' like 'a\\%c', 'abc' like 'a\\%c', not 'x' like 'y'", "t|t|f|t; SELECT 1"},
		{"select upper('жук'), substr('hello', 2, 3), substring('hello' from 2 for 2), trim('  x '), trim(both 'x' from 'xxaxx')", "ЖУК|ell|el|x|a; SELECT 1"},
		{"select '5'::int + 1, 1.5::int, '1.50'::decimal, 'on'::bool", "6|1|1.50|t; SELECT 1"},
		{"select true::int", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Type mismatch: can not convert boolean(TRUE) to integer"},
		{"select 1::bool", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Type mismatch: can not convert integer(1) to boolean"},
		{"select array[1,2,3], array['a b', null, ''], array[1,2][2]", `{1,2,3}|{"a b",NULL,""}|2; SELECT 1`},
		{"select value::text from _pico_db_config where key = 'read_preference'", "leader; SELECT 1"},
		{"select format[1]['name'] from _pico_table where name = 'p'", `"k"; SELECT 1`},
		{`select "COLUMN_1" from (values (2), (1)) as v order by 1`, "1; 2; SELECT 2"},
		{"select k as x from p order by x desc limit 2", "4; 3; SELECT 2"},
		{"select count(distinct a), count(a), count(*) from p", "2|3|4; SELECT 1"},
		{"select * from (select l.k, r.a from p as l join p as r on l.k = r.k + 1) as q order by 1", "2|1; 3|2; 4|2; SELECT 3"},
		{"select * from (select l.k, r.k from p as l join p as r on l.k = r.k + 1) as q order by 1", "2|1; 3|2; 4|3; SELECT 3"},
		{`select "K", k from (select k + 1 as "K", k from p) as q order by k limit 1`, "2|1; SELECT 1"},
		{"create table ar (k int primary key, i int[], d double array, n decimal array, s text array)", "CREATE TABLE"},
		{"insert into ar values (1, array['3', 2, null], array[1.5, 2], array[1::double, 2], array[]), (2, array[], null, array[1.50], array['x'])", "INSERT 0 2"},
		{"select * from ar order by k", "1|{3,2,NULL}|{1.5,2.0}|{1,2}|{}; 2|{}|<null>|{1.50}|{x}; SELECT 2"},
		{"select k, i[1] + i[2], d[2] * 2, n[1] / 4, s[1] || '!', i[9] from ar order by k", "1|5|4.0|0.25|<null>|<null>; 2|<null>|<null>|0.375|x!|<null>; SELECT 2"},
		{"select array[1.4, 2.5, -1.5]::int[], array['10', '20']::int[][1]", "{1,2,-1}|10; SELECT 1"},
		{"insert into ar (k, i) values (3, array[1.5])", "! XX000 sbroad: INSERT column at position 2 is of type int[], but expression is of type numeric[]"},
		{"insert into ar (k, i) values (3, array[1, 'hello'])", "! XX000 sbroad: failed to parse 'hello' as a value of type int, consider using explicit type casts"},
		{"select array['x']::int[]", "! XX000 sbroad: failed to parse 'x' as a value of type int, consider using explicit type casts"},
		{"select current_state::int[] from _pico_instance", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Failed to cast 'Online' to int"},
		{"select current_state::text[] from _pico_instance", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Failed to cast 1 to string"},
		{"create table au (k int primary key, u unsigned[])", "! XX000 sbroad: TypeUnsigned cannot be used as an array element type"},
		{"select '100' between 100 and (select '100')", "! XX000 sbroad: BETWEEN types text, int and text cannot be matched"},
		{"select 9223372036854775807 - 1 + 1", "9223372036854775807; SELECT 1"},
		{"select 9223372036854775807 + 1", "! XX000 encoding error: out of range integral type conversion attempted"},
		{"update p set a = p.a + d.k from d where p.k = d.k and p.k = 2", "! XX000 sbroad: duplicated value: column name k is ambiguous"},
		{"update p set a = p.a + e.j from (select k as j from d) as e where p.k = e.j and p.k = 2", "UPDATE 1"},
		{"select a from p where k = 2", "4; SELECT 1"},

		{"select 1 = 'x'", "! XX000 sbroad: failed to parse 'x' as a value of type int, consider using explicit type casts"},
		{"select s + 1 from p", "! XX000 sbroad: could not resolve operator overload for +(text, int)"},
		{"select k from p where s", "! XX000 sbroad: argument of WHERE must be type boolean, not type text"},
		{"select case when true then 1 else 'x'::text end", "! XX000 sbroad: CASE/THEN types int and text cannot be matched"},
		{"insert into p values (1.5, 1, 's')", "! XX000 sbroad: INSERT column at position 1 is of type int, but expression is of type numeric"},
		{"update p set a = 'x'::text", `! XX000 sbroad: column "a" is of type int, but expression is of type text`},
		{"select a from p group by s", `! XX000 sbroad: invalid query: column "a" is not found in grouping expressions!`},
		{"select * from p where pico_instance_uuid() = 'x'", "! XX000 sbroad: volatile function is not allowed in filter clause"},
		{"select value from _pico_db_config where value = value", "! XX000 sbroad: unexpected expression of type any, explicit cast to the actual type is required"},
		{"select lower(1)", "! XX000 sbroad: could not resolve function overload for lower(int)"},
		{"select p.k from p join p as q on p.k = q.k where nope = 1", `! XX000 sbroad: column with name "nope" not found`},
		{"select name from _pico_table where max(id) = 5", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Failed to compile SQL statement: misuse of aggregate function MAX()"},
		{"select k + count(k) from p group by k + count(k)", `! XX000 sbroad: invalid query: aggregate function "count" is not allowed in GROUP BY`},
		{"create table z (a int, primary key (a, bucket_id))", "! XX000 sbroad: invalid primary key: Primary key must include bucket_id as first column."},
		{"create table z (a int, primary key (bucket_id))", "! XX000 sbroad: invalid primary key: Primary key must include at least one column in addition to bucket_id."},
		{"create table z (a int, bucket_id int, primary key (bucket_id, a))", "! XX000 sbroad: invalid column: bucket_id is reserved for system use in sharded tables. Choose another name."},
		{"create table z (a int, primary key (bucket_id, a)) distributed globally", "! XX000 sbroad: invalid column: Primary key column bucket_id not found."},
		{"create table z (a int)", "! XX000 sbroad: invalid primary key: Primary key must be declared."},
		{"create table z (a int primary key, b int, primary key (b))", "! XX000 sbroad: invalid node: Primary key has been already declared."},
		{"create table z (a int null, primary key (a))", "! XX000 sbroad: invalid column: Primary key mustn't contain nullable columns."},
		{"create table z (a int primary key) distributed by (b)", "! XX000 sbroad: invalid column: Sharding key column b not found."},
		{"create table z (a int primary key) using vinyl distributed globally", "! XX000 sbroad: unsupported query: Global tables can use only memtx engine."},
		{"alter table p add column k text", "! XX000 column k already exists"},
		{"alter table p add column z int not null", "! XX000 box error: FieldMissing: Tuple field 5 (z) required by space format is missing"},
		{"select 1/0", "! XX000 sbroad: Query 1 from EXPLAIN (RAW): Failed to execute SQL statement: division by zero"},
	} {
		b.want(c.want, c.sql)
	}
}

func TestLimits(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table p (k int primary key)")
	b.want("! XX000 sbroad: Exceeded maximum number of rows (2) in virtual table: 3", "insert into p values (1), (2), (3) option (sql_motion_row_max = 2)")
	b.want("INSERT 0 3", "insert into p values (1), (2), (3) option (sql_motion_row_max = 0)")
	b.want("! XX000 sbroad: Query 1 from EXPLAIN (RAW): Exceeded maximum number of rows (2) in virtual table: 3", "select k from p option (sql_motion_row_max = 2)")
	b.want("3; SELECT 1", "select count(*) from p option (sql_motion_row_max = 2)")
	b.want("! XX000 sbroad: Query 1 from EXPLAIN (RAW): Reached a limit on max executed vdbe opcodes. Limit: 3", "select name from _pico_instance option (sql_vdbe_opcode_max = 3)")
	b.want("5; SELECT 1", "select count(*) from _pico_instance option (sql_vdbe_opcode_max = 0)")
	b.want("! XX000 sbroad: Query 1 from EXPLAIN (RAW): Exceeded maximum number of rows (1) in virtual table: 2", "select * from (values (1), (2)) option (sql_motion_row_max = 1)")
	b.want("! XX000 sbroad: Query 1 from EXPLAIN (RAW): Reached a limit on max executed vdbe opcodes. Limit: 1", "select * from (values (1), (2)) option (sql_vdbe_opcode_max = 1)")
	three := int64(3)
	b.sess.OpcodeMax = &three
	b.want("! XX000 sbroad: Query 1 from EXPLAIN (RAW): Reached a limit on max executed vdbe opcodes. Limit: 3", "select k from p where k = 1")
	b.want("ALTER SYSTEM", "alter system set sql_vdbe_opcode_max = 2")
	b.want("1; SELECT 1", "select k from p where k = 1 option (sql_vdbe_opcode_max = 1000)")
}

func TestParameterInference(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table p (k int primary key, n decimal, s text, u uuid, ts datetime, f double, b bool)")
	for sql, want := range map[string]string{
		"select * from p where n = $1 and u = $2 and ts > $3 and f < $4 and b = $5": "1700, 2950, 1184, 701, 16",
		"select $1 || 'x', $2 and true, not $3":                                     "25, 16, 16",
		"insert into p (k, s, n) values ($3, $2, $1)":                               "1700, 25, 20",
		"update p set s = $1, f = $2 where k in ($3, $4)":                           "25, 701, 20, 20",
		"select case when k = $1 then $2 else s end from p":                         "20, 25",
		"select * from p where k between $1 and $2":                                 "20, 20",
		"select $1::double + $2":                                                    "701, 701",
		"select k from p where (k, s) = ($1, $2)":                                   "20, 25",
		"select max($1::int), $2 from p":                                            "20, 25",
	} {
		s := mustPrepare(t, b, sql)
		got := ""
		for i, o := range s.Params() {
			if i > 0 {
				got += ", "
			}
			got += fmtArg(o)
		}
		if got != want {
			t.Errorf("%s: parameters %s, want %s", sql, got, want)
		}
	}
	for sql, want := range map[string]string{
		"select * from p where s = $1 and k = $1":        "inconsistent types int and text deduced for parameter $1, consider using transitive type casts through a common type, e.g. $1::int::text and $1::int",
		"select $1::int + $1::double":                    "inconsistent types int and double deduced for parameter $1, consider using transitive type casts through a common type, e.g. $1::int::double and $1::int",
		"update p set f = $1 where u = $1":               `column "f" is of type double, but expression is of type uuid`,
		"insert into p (k, s) values ($1, $2), ($2, $1)": "INSERT column at position 2 is of type text, but expression is of type int",
		"insert into p (k) values ($1::text)":            "INSERT column at position 1 is of type int, but expression is of type text",
		"select ($1, $1)":                                "row value misused",
	} {
		b.want("! XX000 sbroad: "+want, sql, "1", "1")
	}
}

// What dk_meta says of an INSERT: the sharding key in its order, if all of it is made of parameters.
func TestKeyParameters(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table m (a decimal, b text null, c int, d double, e uuid, f datetime, g boolean, primary key (f, a, g, c))")
	b.run("create table n (a int primary key, b text, c int) distributed by (c, b)")
	b.run("create table q (a int primary key) distributed globally")
	for sql, want := range map[string]string{
		"insert into m (c, a, g, f) values ($1::integer, $2::decimal, $3::boolean, $4::datetime)": "[{4 1184} {2 1700} {3 16} {1 20}]",
		"insert into m (a, g, f, b, c) values ($1::decimal, true, $2, $3::text, $4)":              "[]",
		"insert into m (a, g, f, c) values ($1, $3, $2, $1::int)":                                 "[]",
		"insert into m (f, a, g, c) values ($1::datetime, $2, $3, $4::int)":                       "[{1 1184} {2 1700} {3 16} {4 20}]",
		"insert into m values ($1, $2, $3, $4, $5, $6, $7)":                                       "[{6 1184} {1 1700} {7 16} {3 20}]",
		"insert into n (a, b) values ($1, $2)":                                                    "[]",
		"insert into n (a, b, c) values ($1, $2, $3)":                                             "[{3 20} {2 25}]",
		"insert into n (a, b, c) values ($1, $2, $3 + 1)":                                         "[]",
		"insert into n (a, b, c) values (1, '', 2), ($1, $2, $3)":                                 "[]",
		"insert into n select a + 1, b, c from n where b = $1 and c = $2":                         "[]",
		"select * from n where b = $1 and c = $2":                                                 "[]",
		"insert into n values (?, ?, ?)":                                                          "[{3 20} {2 25}]",
		"insert into q values ($1)":                                                               "[]",
	} {
		if got := fmt.Sprint(mustPrepare(t, b, sql).Key()); got != want {
			t.Errorf("%s: key %s, want %s", sql, got, want)
		}
	}
}
