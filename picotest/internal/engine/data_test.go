package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// read gives the ids that a copy holds.
func (b *bench) read(table string, copies ...Copy) string {
	b.t.Helper()
	s, err := b.e.Prepare(b.sess, "select id from "+table+" order by id", nil)
	if err != nil {
		b.t.Fatal(err.Message)
	}
	r, err := s.Run(context.Background(), nil, View{Instance: "i1", Copies: copies})
	if err != nil {
		b.t.Fatal(err.Message)
	}
	return strings.TrimPrefix(strings.TrimSuffix("; "+show(r), fmt.Sprintf("; SELECT %d", len(r.Rows))), "; ")
}

func (b *bench) expect(want, table string, copies ...Copy) {
	b.t.Helper()
	if got := b.read(table, copies...); got != want {
		b.t.Errorf("%v hold %q of %s, want %q", copies, got, table, want)
	}
}

func TestReplicasFollow(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int)")
	b.want("INSERT 0 2", "insert into t values (1, 0), (2, 0)") // 1 belongs to rs1, 2 to rs2
	b.expect("1", "t", Copy{rs1, "i2"})
	b.expect("2", "t", Copy{rs2, "i4"})

	b.e.SetLag(rs1, "i2", true)
	b.run("insert into t values (3, 0)")
	b.run("delete from t where id = 1")
	b.expect("3", "t", Copy{rs1, "i1"})
	b.expect("1", "t", Copy{rs1, "i2"})
	b.e.SetLag(rs1, "i2", false)
	b.expect("3", "t", Copy{rs1, "i2"})

	b.e.SetLag(rs1, "i2", true)
	b.run("insert into t values (12, 0)")
	b.e.Resync(rs1, "i1", "i2") // i2 took over without what it had missed
	b.expect("3", "t", Copy{rs1, "i1"})

	b.e.AddInstance(rs1, "i6", "i1")
	b.expect("3", "t", Copy{rs1, "i6"})
	b.run("insert into t values (1, 0)")
	b.expect("1; 3", "t", Copy{rs1, "i6"})
	b.e.RemoveInstance(rs1, "i6")
	b.expect("", "t", Copy{rs1, "i6"})
}

func TestAddedColumnsAndLag(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int, w text)")
	b.e.SetLag(rs1, "i2", true)
	b.run("insert into t values (1, 5, 'x')")
	b.want("! XX000 sbroad: unsupported DDL: `ALTER TABLE _ DROP COLUMN` is not yet supported", "alter table t drop column v")
	b.want("ALTER TABLE", "alter table t add column y int")
	b.want("INSERT 0 1", "insert into t values (3, 4, 'z', 9)")
	b.e.SetLag(rs1, "i2", false)
	b.want("1|5|x|<null>; 3|4|z|9; SELECT 2", "select * from t order by id option (read_preference = replica)")
}

func TestUnloggedRowsStayWithTheLeader(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create unlogged table u (id int primary key) distributed by (id)")
	b.run("insert into u values (1)")
	b.expect("1", "u", Copy{rs1, "i1"})
	b.expect("", "u", Copy{rs1, "i2"})
	b.e.ForgetUnlogged("i1")
	b.expect("", "u", Copy{rs1, "i1"})
}

func TestBucketsMove(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key)")
	b.run("insert into t values (1), (2), (3)") // buckets 1934, 1410, 1958
	b.e.MoveBuckets("default", 1900, 1940, rs1, rs2)
	b.expect("3", "t", Copy{rs1, "i1"})
	b.expect("3", "t", Copy{rs1, "i2"})
	b.expect("1; 2", "t", Copy{rs2, "i3"})
	b.expect("1; 2", "t", Copy{rs2, "i4"})
}

// An INSERT over two replicasets isn't atomic: a failure at one leaves the rows of the other, whichever comes first.
func TestInsertOverTwoReplicasets(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int)")
	b.run("insert into t values (1, 0)")
	got := b.run("insert into t values (3, 0), (2, 0), (1, 9), (5, 0)")
	if !strings.Contains(got, "Duplicate key exists") || !strings.Contains(got, "Error on replicaset "+rs1) {
		t.Errorf("a duplicate among four rows: %s", got)
	}
	b.expect("1", "t", Copy{rs1, "i1"})
	b.expect("2; 5", "t", Copy{rs2, "i3"}, Copy{rs1, "nobody"})
}

func TestLeaderChangesInTheMiddle(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int)")
	s := mustPrepare(t, b, "insert into t values (1, 0), (2, 0)")
	var calls []string
	v := View{Instance: "i5", Copies: []Copy{{rs2, "i3"}, {rs1, "i1"}}, Before: func(c Copy, done bool) *Error {
		calls = append(calls, fmt.Sprintf("%s %t", c.Instance, done))
		if c.Instance == "i1" {
			return &Error{"XX000", "Readonly"}
		}
		// The engine is free meanwhile: others may work.
		if _, ok := b.e.Setting("pg_statement_max", ""); !ok {
			return &Error{"XX000", "no setting"}
		}
		return nil
	}}
	if _, err := s.Run(context.Background(), nil, v); err == nil || err.Message != "Readonly" {
		t.Errorf("the error is %v", err)
	}
	if got := strings.Join(calls, " "); got != "i3 false i3 true i1 false" {
		t.Errorf("calls: %s", got)
	}
	b.expect("2", "t", Copy{rs2, "i3"})
	b.expect("", "t", Copy{rs1, "i1"})
}

// A table that is dropped, and another made with its name and id, while a statement is between two replicasets.
func TestTableGoesInTheMiddle(t *testing.T) {
	b := newBench(t, "26.2")
	for _, c := range []struct{ sql, between, want string }{
		{"insert into t values (1, 0), (2, 0)", "drop table t", `no such space "t"`},
		{"insert into t values (1, 0), (2, 0)", "drop table t; create table t (other text primary key, x int, y int)", "storage schema version different from router"},
		{"select count(*) from t", "drop table t; create table t (id int primary key)", "storage schema version different from router"},
	} {
		b.run("drop table if exists t")
		b.want("CREATE TABLE", "create table t (id int primary key, v int)")
		s := mustPrepare(t, b, c.sql)
		done := false
		v := View{Instance: "i5", Copies: []Copy{{rs2, "i3"}, {rs1, "i1"}}, Before: func(Copy, bool) *Error {
			if !done {
				done = true
				for sql := range strings.SplitSeq(c.between, "; ") {
					b.run(sql)
				}
			}
			return nil
		}}
		if _, err := s.Run(context.Background(), nil, v); err == nil || !strings.Contains(err.Message, c.want) {
			t.Errorf("%s, and %s meanwhile: %v", c.sql, c.between, err)
		}
	}
}

func mustPrepare(t *testing.T, b *bench, sql string) *Stmt {
	t.Helper()
	s, err := b.e.Prepare(b.sess, sql, nil)
	if err != nil {
		t.Fatalf("%s: %s", sql, err.Message)
	}
	return s
}

func TestBucketsOfStatements(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, s text, n int)")
	b.run("create table k (a text, b int, v text, primary key (a, b))")
	b.run("create table g (id int primary key) distributed globally")
	for sql, want := range map[string]string{
		"select * from t":                                                     "all",
		"select * from t where id = 1":                                        "[1934]",
		"select * from t where 1 = id and s = 'x'":                            "[1934]",
		"select * from t where id in (1, 2)":                                  "[1410 1934]",
		"select * from t where id = 1 or id = 2":                              "[1410 1934]",
		"select * from t where id = 1 or s = 'x'":                             "all",
		"select * from t where id = 1 and id = 2":                             "[]",
		"select * from t where not id = 1":                                    "all",
		"select * from t where id > 1":                                        "all",
		"select * from t where bucket_id = 1934":                              "[1934]",
		"select * from t where bucket_id in (1934.5, '7')":                    "[7 1934]",
		"select * from t where id = 1::int":                                   "[1934]",
		"select * from k where a = 'lol' and b = 5":                           "[442]",
		"select * from k where (a, b) = ('lol', 5)":                           "[442]",
		"select * from k where a = 'lol' and b in (5, 42)":                    "[442 739]",
		"select * from k where a = 'lol'":                                     "all",
		"select * from (select * from t where id = 1) as q":                   "[1934]",
		"select * from t where id = 1 union all select * from t where id = 2": "[1410 1934]",
		"select * from t join t as u on t.id = u.id where t.id = 1":           "[1934]",
		"select * from t where id = 1 and s in (select s from t)":             "all",
		"with q as (select * from t where id = 1) select * from q":            "[1934]",
		"select * from g":                                                     "none",
		"select 1":                                                            "none",
		"insert into t values (1, 'a', 1), (2, 'b', 1)":                       "[1410 1934]",
		"insert into t (s, id) values ('a', 1)":                               "[1934]",
		"insert into t select id + 1, s, n from t":                            "all",
		"update t set n = 1 where id = 1":                                     "[1934]",
		"update t set n = 1":                                                  "all",
		"delete from t where id in (1, 2)":                                    "[1410 1934]",
		"delete from g":                                                       "none",
	} {
		s := mustPrepare(t, b, sql)
		set, err := s.Buckets(nil)
		got := fmt.Sprint(set.List)
		switch {
		case err != nil:
			got = err.Message
		case set.Tier == "":
			got = "none"
		case set.All:
			got = "all"
		}
		if got != want {
			t.Errorf("%s: buckets %s, want %s", sql, got, want)
		}
	}
}

func TestShardingKeyMayChange(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table o (id int primary key, c int) distributed by (c)")
	b.run("insert into o values (7, 1), (8, 1)")          // bucket 1934 of rs1
	b.want("UPDATE 1", "update o set c = 5 where id = 7") // bucket 219 of rs2
	b.want("219|7|5; 1934|8|1; SELECT 2", "select bucket_id, * from o order by id")
	b.expect("8", "o", Copy{rs1, "i2"})
	b.expect("7", "o", Copy{rs2, "i4"})
}

func TestGlobalTables(t *testing.T) {
	b := newBench(t, "25.6")
	b.run("create table g (id int primary key, s text) distributed globally")
	b.want("INSERT 0 1", "insert into g values (1, 'a')")
	s := mustPrepare(t, b, "insert into g values (2, 'b')")
	if !s.Global() || s.Tier() != "" {
		t.Errorf("global %t, tier %q", s.Global(), s.Tier())
	}
	b.want(`! XX000 box error: TupleFound: Duplicate key exists in unique index "1025_pkey" in space "g" with old tuple - [1, "a"] and new tuple - [1, "b"]`,
		"insert into g values (1, 'b')")
	b.want("UPDATE 1", "update g set s = 'c'")
	b.want("1|c; SELECT 1", "select * from g")
}
