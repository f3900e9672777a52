package engine

import (
	"strings"
	"testing"
)

// TestKeptPlans: a double without a fraction makes the plan of a text one for integers, until the text differs.
func TestKeptPlans(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, d double)")
	b.run("create table g (id int primary key, d double) distributed globally")
	b.run("insert into t values (1, 0)")
	set := func(sql, arg, want string) {
		t.Helper()
		b.want("UPDATE 1", sql, arg)
		b.want(want+"; SELECT 1", "select d from t where id = 1")
	}
	set("update t set d = $1 where id = 1", "7.0", "7.0")
	set("update t set d = $1 where id = 1", "7.75", "7.0")
	set("update t set d = $1 where id = 1 ", "7.75", "7.75") // another text
	set("update t set d = $1 where id = 1 ", "8", "8.0")
	set("update t set d = $1 where id = 1 ", "8.25", "8.25")
	set("update t set d = $1::double where id = 1", "7.0", "7.0")
	set("update t set d = $1::double where id = 1", "7.75", "7.75")
	b.want("INSERT 0 1", "insert into t values (2, $1)", "7.0")
	b.want("SELECT 0", "select id from t where id = 1 and d = $1", "7")
	b.want("SELECT 0", "select id from t where id = 1 and d = $1", "7.75")
	b.want("1; SELECT 1", "select id from t where d = $1 and id = 1", "7.75")
	b.want("INSERT 0 1", "insert into g (id, d) values (1, $1) on conflict do replace", "7")
	b.want("INSERT 0 1", "insert into g (id, d) values (1, $1) on conflict do replace", "7.75")
	b.want("7.0; SELECT 1", "select d from g")
	// Old ones don't keep types with the text.
	old := newBench(t, "25.5")
	old.run("create table t (id int primary key, d double)")
	old.run("insert into t values (1, 0)")
	old.run("update t set d = $1", "7.0")
	old.run("update t set d = $1", "7.75")
	old.want("7.75; SELECT 1", "select d from t")
}

func TestHugeDoubles(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, d double)")
	b.run("insert into t values (1, $1), (2, $2), (3, 1e300)", "1e300", "NaN")
	b.want("1|9.223372036854776e18; 2|<null>; 3|1e300; SELECT 3", "select id, d from t order by id")
	b.want("1e300; SELECT 1", "select $1::double", "1e300")
}

// TestUnreadableUUIDs: they are stored, then scans fail, and replicas are left behind.
func TestUnreadableUUIDs(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, u uuid)")
	b.want("INSERT 0 1", "insert into t values (1, $1)", "11111111-1111-1111-d111-111111111111")
	b.want("1; SELECT 1", "select count(*) from t")
	b.want("INSERT 0 1", "insert into t values (1, $1) on conflict do replace", "11111111-1111-1111-e111-111111111111")
	if got := b.run("select count(*) from t"); len(got) == 0 || got[0] != '!' {
		t.Errorf("a scan: %s", got)
	}
	b.want("INSERT 0 1", "insert into t values (8, null)")
	b.want("8; SELECT 1", "select id from t where id = 8")
	b.want("SELECT 0", "select id from t where id = 8 option (read_preference = replica)")
}

// TestFailedFirstInsert: what a failed INSERT made on its way is undone with it, and what comes later finds its table.
func TestFailedFirstInsert(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int)")
	if got := b.run("insert into t values (1, 1), (1, 2)"); got[0] != '!' {
		t.Fatalf("a duplicate within a statement: %s", got)
	}
	b.want("INSERT 0 1", "insert into t values (1, 1)")
	b.want("1|1; SELECT 1", "select * from t")
}

func TestLimitsOfStorage(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, s text)")
	if got := b.run("insert into t values (1, $1)", strings.Repeat("x", 1<<20+1)); !strings.Contains(got, "tuple is too large") {
		t.Errorf("a row over 1 MB: %.200s", got)
	}
	if got := b.run("select 1" + strings.Repeat(" union select 1", 31)); !strings.Contains(got, "exceeds the limit (30)") {
		t.Errorf("31 unions: %.200s", got)
	}
}
