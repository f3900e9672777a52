package picotest_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

func column(t *testing.T, c *picotest.Cluster, sql string) string {
	t.Helper()
	rows, err := c.Query(sql)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprint(r[0]))
	}
	return strings.Join(list, " ")
}

// TestExpel ends an instance's connections, keeps its rows and lets its name be used again.
func TestExpel(t *testing.T) {
	c, _ := sharded(t, picotest.Config{})
	at := session(t, c, "i3", "")
	uuid := c.Node("i3").UUID()
	if err := c.Expel("i3"); err != nil {
		t.Fatal(err)
	}
	if _, err := at.Exec(t.Context(), "select 1"); err == nil {
		t.Error("a connection to an expelled instance lives on")
	}
	if l := c.Leader("default_2").Name(); l != "i4" {
		t.Errorf("%s leads default_2", l)
	}
	if got := column(t, c, "select current_state from _pico_instance where name = 'i3'"); got != `["Expelled",1]` {
		t.Errorf("state %s", got)
	}
	if got := column(t, c, "select count(*) from _pico_peer_address where connection_type = 'pgproto'"); got != "4" {
		t.Errorf("%s addresses, want that of the expelled instance too", got)
	}
	if err := c.Expel("i4"); err == nil {
		t.Error("the last instance of a replicaset with buckets was expelled")
	}
	n := c.AddInstance("default_2")
	if n.Name() != "i3" || n.UUID() == uuid || n.RaftID() != 5 {
		t.Errorf("added %s, raft id %d, the same uuid: %v", n.Name(), n.RaftID(), n.UUID() == uuid)
	}
	conn := session(t, c, "i3", "read_preference=replica")
	if got := servedBy(t, conn, inSecond); got != "i3" {
		t.Errorf("served by %s, want the new i3", got)
	}
}

// TestMoveBuckets moves rows, and a router that lags shows the old map, trusts it for forward=off and still
// finds the rows otherwise.
func TestMoveBuckets(t *testing.T) {
	c, _ := sharded(t, picotest.Config{})
	c.Node("i2").LagRouter(true)
	before := column(t, c, "select _pico_bucket('default')")
	name := c.AddReplicaset("default", 2)
	if name != "default_3" {
		t.Errorf("added %s", name)
	}
	if err := c.MoveBuckets("default", 1, 1500, name); err != nil {
		t.Fatal(err)
	}
	if owner := c.BucketOwner("default", 1410); owner != "default_3" {
		t.Errorf("%s owns bucket 1410", owner)
	}
	if now := column(t, c, "select _pico_bucket('default')"); now == before {
		t.Error("the map didn't change")
	}
	lagging := session(t, c, "i2", "")
	var seen string
	if err := lagging.QueryRow(t.Context(), "select _pico_bucket('default')").Scan(&seen); err != nil || seen != before {
		t.Errorf("the lagging router shows %s, %v", seen, err)
	}
	c.ResetCounters()
	var v int
	if err := lagging.QueryRow(t.Context(), "select v from t where id = $1", inSecond).Scan(&v); err != nil {
		t.Error(err)
	}
	if hops := c.Node("i2").Counters().Hops; hops != 2 {
		t.Errorf("%d hops, want one to the old owner and one to the new", hops)
	}
	if _, err := lagging.Exec(t.Context(), "insert into t values ($1, 0)", 5); err != nil { // bucket 219
		t.Error(err)
	}
	c.Rebalance("default")
	if got := column(t, c, "select count(*) from t"); got != "3" {
		t.Errorf("%s rows after rebalancing, want 3", got)
	}
	leader := c.Leader(c.BucketOwner("default", 219)).Name()
	off := session(t, c, leader, "forward=off")
	if _, err := off.Exec(t.Context(), "select * from t where id = $1", 5); err != nil {
		t.Errorf("the owner's leader can't serve: %v", err)
	}
}

// TestAddresses changes what is advertised, and where a node listens.
func TestAddresses(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	const query = "select address from _pico_peer_address where raft_id = 1 and connection_type = 'pgproto'"
	n.Advertise("0.0.0.0:4327")
	if got := column(t, c, query); got != "0.0.0.0:4327" {
		t.Errorf("advertised %s", got)
	}
	old := n.Addr()
	if err := n.Move(); err != nil {
		t.Fatal(err)
	}
	if n.Addr() == old || column(t, c, query) != n.Addr() {
		t.Errorf("moved from %s to %s, advertised %s", old, n.Addr(), n.Advertised())
	}
	if conn, err := net.Dial("tcp", old); err == nil {
		_ = conn.Close()
		t.Error("somebody listens on the old address")
	}
	if _, err := connect(t, n.AdminDSN()); err != nil {
		t.Error(err)
	}
}

// TestVersions: two versions in one cluster know and hash differently.
func TestVersions(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Version: "26.1"})
	if err := c.Node("i2").SetVersion("25.5"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("create table d (k double primary key) distributed by (k)"); err != nil {
		t.Fatal(err)
	}
	bucketOfOne := map[string]string{"i1": "1934", "i2": "2099"}
	for name, want := range bucketOfOne {
		conn := session(t, c, name, "")
		if _, err := conn.Exec(t.Context(), "delete from d"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "insert into d values ($1)", 1.0); err != nil {
			t.Fatal(err)
		}
		if got := column(t, c, "select bucket_id from d"); got != want {
			t.Errorf("%s put 1.0 into bucket %s, want %s", name, got, want)
		}
	}
	versions := column(t, c, "select picodata_version from _pico_instance")
	if !strings.Contains(versions, "25.5.") || !strings.Contains(versions, "26.1.") {
		t.Errorf("versions %s", versions)
	}
	old := session(t, c, "i2", "read_preference=nonsense") // unknown to 25.5, so no reason to close
	var build string
	if err := old.QueryRow(t.Context(), "select version()").Scan(&build); err != nil || !strings.HasPrefix(build, "25.5.") {
		t.Errorf("version %q, %v", build, err)
	}
}

// TestManyInstances has a thousand instances that stand in the tables only.
func TestManyInstances(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 2},
		{Name: "cold"},
		{Name: "ghosts", Replicasets: 250, ReplicationFactor: 4, RowsOnly: true, FailureDomain: map[string]string{"DC": "1"}},
	}})
	if got := column(t, c, "select count(*) from _pico_instance"); got != "1005" {
		t.Errorf("%s instances", got)
	}
	conn, err := connect(t, c.Node("i1").DSN())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "select i.name, p.address from _pico_instance i join _pico_peer_address p on i.raft_id = p.raft_id "+
		"where p.connection_type = 'pgproto' option (sql_vdbe_opcode_max = 0, sql_motion_row_max = 0)")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() != nil || n != 1005 {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
	if strings.Contains(c.DSN(), "192.0.2.") {
		t.Error("the DSN names instances that don't listen")
	}
}

// TestStatementStorage fills the instance's storage: the next Parse fails, on other instances it doesn't.
func TestStatementStorage(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	conn := session(t, c, "i1", "")
	c.Node("i1").FillStatements(1)
	if _, err := conn.Prepare(t.Context(), "a", "select 1"); err != nil {
		t.Errorf("one place was left: %v", err)
	}
	_, err := conn.Prepare(t.Context(), "b", "select 2")
	if err == nil || !strings.Contains(err.Error(), "Statement storage is full. Current size limit: 100000. Please, increase") {
		t.Errorf("no place was left: %v", err)
	}
	if _, err := session(t, c, "i2", "").Prepare(t.Context(), "b", "select 2"); err != nil {
		t.Error(err)
	}
	if err := c.Exec(`alter system set "pg_statement_max" to 200000`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Prepare(t.Context(), "b", "select 2"); err != nil {
		t.Errorf("with a higher limit: %v", err)
	}
	if k := c.Node("i1").Counters(); k.PreparedNow != 2 {
		t.Errorf("%d prepared statements, want 2", k.PreparedNow)
	}
	_ = conn.Close(context.Background())
}

// TestStatementsAreFreed by Close, by DEALLOCATE and by the end of the connection.
func TestStatementsAreFreed(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec(`alter system set "pg_statement_max" to 2`); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w, err := dialWire(c, "i1", "admin", "T0psecret", nil)
		if err != nil {
			t.Fatal(err)
		}
		parse := func(name string) message { return message{"P", []byte(name + "\x00select 1\x00\x00\x00")} }
		for _, frames := range [][]message{
			{parse("a"), parse("b"), {"C", []byte("Sa\x00")}, parse("c"), {"S", nil}},
			{{"Q", []byte("deallocate b\x00")}},
			{parse("d"), {"S", nil}},
			{{"Q", []byte("deallocate all\x00")}},
			{parse("e"), parse("f"), {"S", nil}},
		} {
			if got, _, err := w.exchange(frames); err != nil || lastError(got) != "" {
				t.Errorf("%v: %s, %v", frames, lastError(got), err)
			}
		}
		w.close()
		if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMovedMeanwhile: what an instance missed while it was down or lagging isn't written to buckets that have moved since.
func TestMovedMeanwhile(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	c.Node("i4").Kill()
	c.Node("i2").Lag(true)
	clock.Advance(31 * time.Second)
	if err := c.Exec("update t set v = 8"); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveBuckets("default", 1, 1500, "default_1"); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveBuckets("default", 1501, 3000, "default_2"); err != nil {
		t.Fatal(err)
	}
	<-startNow(c.Node("i4"))
	c.Node("i2").Lag(false)
	conn := session(t, c, "i1", "read_preference=replica")
	rows, err := conn.Query(t.Context(), "select id, v from t order by id")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ ID, V int }])
	if err != nil || fmt.Sprint(list) != "[{1 8} {2 8}]" {
		t.Errorf("the replicas have %v, %v", list, err)
	}
}

// TestPortalStorage limits the portals of an instance.
func TestPortalStorage(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec(`alter system set "pg_portal_max" to 2`); err != nil {
		t.Fatal(err)
	}
	w, err := dialWire(c, "i1", "admin", "T0psecret", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	const empty = "\x00\x00\x00\x00\x00\x00\x00\x00"
	for range 2 { // Sync frees the places
		got, _, err := w.exchange([]message{
			{"P", []byte("\x00select 1\x00\x00\x00")}, {"B", []byte("a" + empty)}, {"C", []byte("Pa\x00")},
			{"B", []byte("a" + empty)}, {"B", []byte("b" + empty)}, {"B", []byte("c" + empty)}, {"S", nil},
		})
		if err != nil || kinds(got) != "12322EZ" || !strings.HasPrefix(lastError(got), "E S=ERROR C=XX000 M=Portal storage is full. Current size limit: 2.") {
			t.Errorf("got %s, %q, %v", kinds(got), lastError(got), err)
		}
	}
}

// TestScaledTime uses the system's clock, faster.
func TestScaledTime(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Scale: 0.0001}) // 30 s in 3 ms
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c.Node("i2").Kill()
	if err := c.WaitState(ctx, "i2", "Offline"); err != nil {
		t.Fatal(err)
	}
	c.Node("i2").Start()
	if err := c.WaitState(ctx, "i2", "Online"); err != nil {
		t.Fatal(err)
	}
}
