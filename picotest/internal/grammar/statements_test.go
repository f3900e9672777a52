package grammar

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// accepted are texts and the first version that reads them; older ones don't.
var accepted = []struct {
	since Version
	sql   string
}{
	{V252, ""}, {V252, " \n\t ;; "}, {V252, "select 1;"}, {V252, "\r\nselect 1\r\n"},
	{V252, "select * from t"}, {V252, "select t.*, public.t2 from public.t"}, {V252, `select * from "public".t as x`},
	{V252, "select distinct a b, c as d from t where a group by a, b having c window w as (order by a)"},
	{V252, "select a from t inner join u on t.a = u.a left join v on true left outer join (select 1) w on true"},
	{V252, "with a as (select 1), b(x,y) as (values (1,2)) select * from a union select 1 union all select 2 except select 3 except distinct select 4 order by 1 desc, 2 limit 5"},
	{Version{25, 3}, "select a from t order by a asc nulls first"},
	{V252, "select 1 limit all"}, {V252, "select 1 limit null"},
	{V252, "values (1,2), (3, 4)"}, {V252, "values(1)"},
	{V252, "select * from (values (1)) as v"},
	{V256, "select * from t indexed by i where a"}, {V256, "select * from t x indexed by i"},
	{V256, "delete from t indexed by i where a"}, {V256, "update t indexed by i set a = 1"},
	{V252, "insert into t values (1, $1, ?)"}, {V252, "insert into public.t(a, b) values (1, 2)"},
	{V252, "insert into t select * from u on conflict do nothing"},
	{V252, "insert into t (a) with c as (select 1) select * from c"},
	{V252, "insert into t values (1) on conflict do replace option(sql_motion_row_max = 1, sql_vdbe_opcode_max = $1)"},
	{V252, "insert into t values (1) on conflict do fail"},
	{V262, "insert into t values (1) on conflict (a, b) do nothing"},
	{V262, "insert into t values (1) on conflict(a) do update set a = t.a + 1, t.b = 2"},
	{V252, "update t set a = 1, b=b+1"}, {V252, "update t set a = u.b from u where t.a = u.a"},
	{V252, "delete from t"}, {V252, "delete from public.t where a = 1"},
	{V256, "select 1 option (read_preference = Leader)"}, {V256, "select 1 option(read_preference=$1)"},
	{V262, "select 1 option (forward = RO_to_rw, forward = off, forward = ?)"},
	{V252, "explain select 1"}, {V252, "explain (raw) insert into t values (1)"}, {V252, "explain(raw, fmt) select 1"},
	{V262, "explain (logical) select 1"}, {V262, "explain (buckets, forward , context) delete from t"},
	{V261, "explain do $$ begin delete from t; end $$"},
	{V252, "call p()"}, {V252, "call public.p(1, 'a', $1, ?) option (sql_vdbe_opcode_max = 1)"},
	{V261, "do $$ begin delete from t; end $$"}, {V261, "DO $$BEGIN RETURN QUERY SELECT 1; END$$ OPTION (sql_motion_row_max = 1)"},
	{V262, "do language sql $$ begin let x = (select 1); if x = 1 then insert into t values (x); end if; end $$"},
	{V263, "do $$ begin if true then else delete from t; end if; if false then end if; end $$"},
	{V255, "select a['b'] from t"}, {V261, "select array[1, 2]"}, {V261, "select '{}'::int[]"},
	{V252, "create table t (id int primary key)"},
	{V252, "create table if not exists public.t (a bool not null, b text null, primary key (a, b)) using vinyl distributed by (a, b) in tier hot wait applied globally option (timeout = 1.5)"},
	{V252, "create table t(a int,primary key(a))"},
	{V252, "create table t (a int primary key) using memtx distributed globally wait applied locally"},
	{V252, "create table t (a int primary key) partition by hash (a, b)"},
	{V252, "create table t partition of u for values in (1, 2)"},
	{V252, "create table t partition of u for values from (minvalue) to (10) partition by range (a)"},
	{V252, "create table t partition of u for values with (modulus 4, remainder 1)"}, {V252, "create table t partition of u default"},
	{V261, "create unlogged table t (a int primary key)"},
	{V261, "create table t (a int primary key) with (bloom_fpr = 0.5, compression_level = -1)"},
	{V261, "create table t (a int primary key, b int[], c text[3][], d int array, e int ARRAY[4])"},
	{V262, "create table t (a int primary key desc, primary key (a asc))"},
	{V252, "drop table if exists t wait applied locally option (timeout = 3)"},
	{V252, "truncate t"}, {V252, "truncate table public.t"},
	{V252, "alter table t rename to public.u"},
	{V252, "alter table t add column if not exists a int not null, drop if exists b, alter c set not null, alter column d drop not null, alter e set data type text, alter f type uuid, rename column g to h, rename i to j"},
	{V252, "create unique index if not exists i on t using tree (a, b) with (bloom_fpr = 0.1, hint = true, distance = euclid, dimension = 2) option (timeout = 1)"},
	{V262, "create index i on t (a desc)"},
	{V252, "drop index if exists i"}, {V252, "alter index i rename to j"},
	{V252, "create schema if not exists s"}, {V252, "drop schema s cascade"}, {V252, "drop schema if exists s restrict"},
	{V252, "create procedure p(int, text) language sql as $$insert into t values ($1, $2)$$"},
	{V252, "create procedure if not exists p() as $$ delete from t $$ wait applied locally"},
	{V252, "create procedure p() begin atomic update t set a = 1 end"},
	{V252, "drop procedure if exists p(int)"}, {V252, "drop procedure p"}, {V252, "alter procedure p() rename to q"},
	{V252, "backup option (timeout = 10)"},
	{V252, "alter system set a = 1 for all tiers"}, {V252, `alter system set "A" to 'x' for tier t`},
	{V252, "alter system set a = default"}, {V252, "alter system reset all"}, {V252, "alter system reset a for tier t"},
	{V261, "alter system set a = 1 wait applied globally option (timeout = 1)"},
	{V252, "set a = 1, 'b', c, 1.5, 1e3, default"}, {V252, "set session a to b"}, {V252, "set local a = on_"},
	{V252, "set time zone local"}, {V252, "set time zone 'UTC'"},
	{V252, "set transaction isolation level repeatable read"}, {V252, "set transaction snapshot 'x'"},
	{V252, "set transaction not deferrable"}, {V252, "set session characteristics as transaction read only"},
	{V252, "create user if not exists u with password 'x' using md5 option (timeout = 1)"}, {V252, "create user u password 'x'"},
	{V252, "create user u using ldap"}, {V252, "create user u password 'x' using chap-sha1"},
	{Version{25, 4}, "create user u password 'x' using scram-sha256"},
	{V252, "alter user u with login"}, {V252, "alter user u nologin"}, {V252, "alter user u password 'x'"},
	{V252, "alter user u password using ldap"}, {V252, "alter user u rename to v"},
	{V252, "drop user if exists u"}, {V252, "create role if not exists r"}, {V252, "drop role if exists r"},
	{V261, "drop user u wait applied globally"},
	{V252, "grant read on table t to u"}, {V252, "grant write table to u"}, {V252, "grant r to u"}, {V252, "grant create user to u"},
	{V252, "grant alter on user u to v"}, {V252, "grant drop on role r to v"}, {V252, "grant execute on procedure p(int) to u"},
	{V252, "grant execute procedure to u"}, {V252, "revoke session on user u from u"}, {V252, "revoke r from u"},
	{V252, "audit policy dml_default by u"}, {V252, "audit policy dml_default except u"},
	{V252, "begin"}, {V252, "commit;"}, {V252, "ROLLBACK"}, {V252, "end"},
	{V252, "deallocate a"}, {V252, "deallocate prepare a"}, {V252, "deallocate all"}, {V252, "deallocate prepare all"},
	{V252, "create plugin if not exists p 0.1.0"}, {V252, "drop plugin p 0.1.0 with data option (timeout = 1)"},
	{V252, "alter plugin p 0.1.0 enable"}, {V252, "alter plugin p migrate to 0.1.0 option (timeout = 1, rollback_timeout = 2)"},
	{V252, "alter plugin p 0.1.0 add service s to tier t"}, {V252, "alter plugin p 0.1.0 set a.b = '1', c.d = '2'"},
}

func TestAccepted(t *testing.T) {
	for _, a := range accepted {
		for _, v := range []Version{V252, V255, V256, V261, V262, V263} {
			_, err := Parse(v, a.sql)
			if want := v.AtLeast(a.since); (err == nil) != want {
				t.Errorf("%s: %q: %v; want it read: %v", v, a.sql, err, want)
			}
		}
	}
}

// What no version reads, and where each stops. The places follow from the way the
// server notes failures; those of statements in the recordings are tested there.
func TestRefused(t *testing.T) {
	for sql, at := range map[string]string{
		"select * from t offset 1 limit 1":              "1:24",
		"select * from t limit 1, 2":                    "1:24",
		"select * from t limit ?":                       "1:23",
		"select a from t cross join u":                  "1:29",
		"select a from t full outer join u on true":     "1:22",
		"select a from t, u":                            "1:16",
		"select a intersect select b":                   "1:20",
		"select not(a)":                                 "1:8",
		"select a not like b":                           "1:10",
		"select a in(1)":                                "1:10",
		"select -a":                                     "1:8",
		"select count(*) from t for update":             "1:28",
		"update t set a = 1 returning a":                "1:20",
		"update t as x set a = 1":                       "1:9",
		"delete from t using u where true":              "1:15",
		"insert into t default values":                  "1:15",
		"insert into t (a) values (default), ()":        "1:38",
		"insert into t values (1) on conflict do updat": "1:41",
		"create table t (a int)":                        "",
		"create table t (a int unique)":                 "1:23",
		"create table t (a int primary key) in tier x":  "1:36",
		"create table t ()":                             "1:17",
		"create table select (a int)":                   "1:14",
		"create table t (a varchar(x) primary key)":     "1:27",
		"alter table t add constraint c primary key(a)": "1:30",
		"create sequence s":                             "1:8",
		"create user u":                                 "1:13",
		"grant fly on table t to u":                     "1:7",
		"grant read on t to u":                          "1:12",
		"set transaction isolation level foo":           "1:33",
		"set a":                                         "1:5",
		"begin work":                                    "1:7",
		"commit transaction":                            "1:8",
		"rollback to savepoint a":                       "1:10",
		"end;x":                                         "1:5",
		"deallocate":                                    "1:1",
		"explain analyze select 1":                      "1:9",
		"select 1 \n union\n selec":                     "3:2",
		"sélect 1":                                      "1:1",
		"select 'é' é é":                                "1:14",
		"select 'a":                                     "1:8",
		`select "a`:                                     "1:8",
	} {
		_, err := Parse(V262, sql)
		got := ""
		if err != nil {
			got = fmt.Sprintf("%d:%d", err.Line, err.Col)
		}
		if got != at {
			t.Errorf("%q fails at %q; want %q\n%v", sql, got, at, err)
		}
	}
}

// Words that other databases reserve are names here, which gives some texts a
// meaning that their writer didn't intend.
func TestUnreservedWords(t *testing.T) {
	s, err := Parse(V262, "select a from t right join u on true")
	if err != nil {
		t.Fatal(err)
	}
	if a := s.(*Select).Query.Terms[0].Core.From.Alias; a == nil || a.Name != "right" {
		t.Errorf("the alias is %v; want right", a)
	}
	if _, err := Parse(V262, "select offset from t offset"); err != nil {
		t.Error(err)
	}
}

func TestParamNumbers(t *testing.T) {
	s, err := Parse(V262, "select ?, f((?)) from t where a in (?) group by a having ? order by ? option (read_preference = ?)")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range Params(s) {
		if p.Index != i+1 {
			t.Errorf("parameter %d at %d has the index %d", i+1, p.Start, p.Index)
		}
	}
	if n := len(Params(s)); n != 6 {
		t.Errorf("%d parameters; want 6", n)
	}
}

func TestCheck(t *testing.T) {
	for sql, want := range map[string]string{
		"select $1, $1, $2":                              "",
		"select $1, ?":                                   "sbroad: invalid parameters usage. Got $n and ? parameters in one query!",
		"select $0":                                      "sbroad: invalid query: $n parameters are indexed from 1!",
		"select $65536":                                  "sbroad: parameter index 65536 is too big (max: 65535)",
		"select $99999999999999999999":                   "sbroad: invalid query: Unsigned(8, 28) cannot be parsed as unsigned param number",
		"select a between 1":                             "sbroad: invalid expression: BETWEEN operator should have a view of `expr_1 BETWEEN expr_2 AND expr_3`.",
		"select a between 1 or 2":                        "sbroad: invalid expression: BETWEEN operator should have a view of `expr_1 BETWEEN expr_2 AND expr_3`.",
		"select a like b escape c escape d":              "sbroad: invalid expression: escape specified twice: expr1 LIKE/SIMILAR expr2 ESCAPE expr 3 ESCAPE expr4",
		"select a in $1":                                 "sbroad: invalid expression: In expression must have query or a list of values as right child",
		"select sum(*)":                                  `sbroad: invalid query: "*" is allowed only inside "count" aggregate function. Got: sum`,
		"select count(*) from t":                         "",
		"select current_time":                            "sbroad: SQL function `CURRENT_TIME` not implemented",
		"select a from t limit 9999999999999999999":      "sbroad: invalid query: value doesn't fit into integer range: 9999999999999999999",
		"select sum(a) over (order by a partition by b)": "sbroad: invalid expression: Invalid WINDOW body definition. Expected view of [BASE_WINDOW] [PARTITION BY] [ORDER BY] [FRAME]",
		"select substring(a similar b)":                  "sbroad: invalid expression: missing escape symbol for SIMILAR substring operator",
		"select substring(a)":                            "sbroad: invalid expression: incorrect SUBSTRING parameters. There is no such overload that takes only 1 argument",
		"begin":                                          "",
	} {
		s, err := Parse(V262, sql)
		if err != nil {
			t.Errorf("%q\n%s", sql, err)
			continue
		}
		got := ""
		if e := Check(s); e != nil {
			got = e.Message
		}
		if got != want {
			t.Errorf("%q: %q; want %q", sql, got, want)
		}
	}
}

// shape compares trees without their places in the text.
var shape = cmp.Options{cmpopts.IgnoreTypes(Span{}), cmpopts.EquateEmpty()}

func id(name string) Ident          { return Ident{Name: name} }
func table(name string) TableName   { return TableName{id(name)} }
func name(s string) *Ident          { i := id(s); return &i }
func column(name string) *ColumnRef { return &ColumnRef{Column: id(name)} }
func number(s string) *Literal      { return &Literal{Kind: IntegerLiteral, Value: s} }

func TestTrees(t *testing.T) {
	for sql, want := range map[string]Statement{
		"create unlogged table if not exists public.T (a int not null, b varchar(3) primary key, c unsigned[], primary key (a, b desc)) using vinyl with (page_size = 8) distributed by (a, b) in tier hot wait applied locally option (timeout = 2.5)": &CreateTable{
			Unlogged: true, IfNotExists: true, Table: table("t"),
			Columns: []ColumnDef{
				{Name: id("a"), Type: Type{Name: TypeInt}, Null: NotNull},
				{Name: id("b"), Type: Type{Name: TypeString}, PrimaryKey: true},
				{Name: id("c"), Type: Type{Name: TypeUnsigned, Dims: 1}},
			},
			PrimaryKey: []KeyPart{{Name: id("a")}, {Name: id("b"), Order: Desc}},
			Engine:     EngineVinyl, Options: []TableOption{{Name: "page_size", Value: "8"}},
			Distribution: &Distribution{Columns: []Ident{id("a"), id("b")}, Tier: name("hot")},
			DDLTail:      DDLTail{Wait: WaitLocally, Timeout: "2.5"},
		},
		"create table t (a int primary key) distributed globally": &CreateTable{
			Table: table("t"), Columns: []ColumnDef{{Name: id("a"), Type: Type{Name: TypeInt}, PrimaryKey: true}},
			Distribution: &Distribution{Global: true},
		},
		"alter table t add a int, rename b to c": &AlterTable{Table: table("t"), Actions: []AlterAction{
			&AddColumn{Column: ColumnDef{Name: id("a"), Type: Type{Name: TypeInt}}},
			&RenameColumn{From: id("b"), To: id("c")},
		}},
		"alter table t alter a type text, alter b drop not null, drop column c": &AlterTable{Table: table("t"), Actions: []AlterAction{
			&AlterColumn{Column: id("a"), Type: &Type{Name: TypeString}},
			&AlterColumn{Column: id("b"), DropNotNull: true},
			&DropColumn{Column: id("c")},
		}},
		"create unique index i on t using hash (a) with (hint = TRUE)": &CreateIndex{
			Unique: true, Name: id("i"), Table: table("t"), Type: IndexHash, Parts: []KeyPart{{Name: id("a")}},
			Options: []TableOption{{Name: "hint", Value: "TRUE"}},
		},
		"grant r to u":                                           &Grant{Privilege: RoleMembership, Role: id("r"), Grantee: id("u")},
		"grant read on table t to u":                             &Grant{Privilege: PrivRead, Kind: ObjectTable, Object: name("t"), Grantee: id("u")},
		"revoke create table from u":                             &Grant{Revoke: true, Privilege: PrivCreate, Kind: ObjectTable, Grantee: id("u")},
		"grant execute on procedure p to u":                      &Grant{Privilege: PrivExecute, Kind: ObjectProcedure, Object: name("p"), Proc: &ProcSignature{Name: id("p")}, Grantee: id("u")},
		"create user U with password 'It''s' using scram-sha256": &CreateUser{Name: id("u"), Password: "It's", Auth: AuthScramSHA256},
		"create user u using ldap":                               &CreateUser{Name: id("u"), Auth: AuthLDAP},
		"alter user u password 'x' using md5":                    &AlterUser{Name: id("u"), Change: UserPassword, Password: "x", Auth: AuthMD5},
		"alter system set a = 1 for tier t":                      &AlterSystem{Name: id("a"), Value: number("1"), Tier: name("t")},
		"alter system reset all":                                 &AlterSystem{Reset: true, All: true},
		"deallocate prepare \"X\"":                               &Deallocate{Name: Ident{Name: "X", Quoted: true}},
		"end":                                                    &Tx{Kind: TxEnd},
		"set session time zone 'UTC'":                            &Set{Name: id("timezone")},
		"set transaction read only":                              &Set{Transaction: true},
		"explain (buckets, fmt) delete from t":                   &Explain{Facets: []Facet{FacetBuckets, FacetFmt}, Stmt: &Delete{Table: table("t")}},
		"update t set a = 1 from u where b":                      &Update{Table: table("t"), Set: []Assignment{{Column: id("a"), Value: number("1")}}, From: &Source{Table: &TableName{id("u")}}, Where: column("b")},
		"call p(1, $1)":                                          &Call{Name: id("p"), Args: []Expr{number("1"), &Param{Index: 1}}},
		"drop procedure p()":                                     &DropProc{Proc: ProcSignature{Name: id("p"), HasParams: true}},
		"insert into t (a) values (1), (2) on conflict (a) do update set t.a = 1 option (forward = Off)": &Insert{
			Table: table("t"), Columns: []Ident{id("a")},
			Source:     &Query{Values: []*Row{{Items: []Expr{number("1")}}, {Items: []Expr{number("2")}}}},
			OnConflict: &OnConflict{Target: []Ident{id("a")}, Action: DoUpdate, Set: []Assignment{{Table: name("t"), Column: id("a"), Value: number("1")}}},
			Options:    []Option{{Name: Forward, Word: "off"}},
		},
		"with c(x) as (values (1)) select *, c.*, a b from c as d left join u on a except select 1 order by a desc limit 3 option (sql_motion_row_max = 7, read_preference = $1)": &Select{
			Query: &Query{
				With: []*CTE{{Name: id("c"), Columns: []Ident{id("x")}, Query: &Query{Values: []*Row{{Items: []Expr{number("1")}}}}}},
				Terms: []Term{
					{Core: &SelectCore{
						Items: []SelectItem{{Star: true}, {Star: true, StarTable: name("c")}, {Expr: column("a"), Alias: name("b")}},
						From:  &Source{Table: &TableName{id("c")}, Alias: name("d")},
						Joins: []*Join{{Kind: LeftJoin, KindWritten: true, Source: &Source{Table: &TableName{id("u")}}, On: column("a")}},
					}},
					{Op: Except, Core: &SelectCore{Items: []SelectItem{{Expr: number("1")}}}},
				},
				OrderBy: []OrderItem{{Expr: column("a"), Order: Desc}},
				Limit:   &Limit{Count: 3, Digits: "3"},
			},
			Options: []Option{{Name: MotionRowMax, Number: "7"}, {Name: ReadPreference, Param: &Param{Index: 1}}},
		},
		"do $$ begin let x = (select 1); if x then delete from t; else end if; return query select 2; end $$": &Block{Statements: []BlockStatement{
			&BlockLet{Name: id("x"), Query: &Query{Terms: []Term{{Core: &SelectCore{Items: []SelectItem{{Expr: number("1")}}}}}}},
			&BlockIf{Cond: column("x"), Then: []BlockStatement{&BlockQuery{Stmt: &Delete{Table: table("t")}}}, HasElse: true},
			&BlockReturn{Stmt: &Select{Query: &Query{Terms: []Term{{Core: &SelectCore{Items: []SelectItem{{Expr: number("2")}}}}}}}},
		}},
	} {
		got, err := Parse(V263, sql)
		if err != nil {
			t.Errorf("%q\n%s", sql, err)
			continue
		}
		if diff := cmp.Diff(want, got, shape); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sql, diff)
		}
	}
}
