package picotest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

// ids whose buckets lie in default_1 and default_2 of a fresh cluster.
const (
	inFirst  = 1 // bucket 1934
	inSecond = 2 // bucket 1410
)

// sharded starts a cluster with a table t (id, v) that holds both ids, and a clock that stands still.
func sharded(t *testing.T, config picotest.Config) (*picotest.Cluster, *picotest.ManualClock) {
	t.Helper()
	clock := picotest.NewManualClock(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	config.Clock = clock
	c := picotest.Start(t, config)
	for _, sql := range []string{
		"create table t (id int primary key, v int) distributed by (id)",
		fmt.Sprintf("insert into t values (%d, 0), (%d, 0)", inFirst, inSecond),
	} {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	return c, clock
}

func session(t *testing.T, c *picotest.Cluster, node string, options string) *pgx.Conn {
	t.Helper()
	dsn := c.Node(node).AdminDSN()
	if options != "" {
		dsn += "&options=" + strings.ReplaceAll(options, "=", "%3D")
	}
	conn, err := connect(t, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// begin runs a statement in the background; at the end of the test it is given up if it still waits.
func begin(t *testing.T, conn *pgx.Conn, sql string, args ...any) <-chan error {
	ctx, cancel := context.WithCancel(context.Background())
	done, ended := make(chan error, 1), make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		_, err := conn.Exec(ctx, sql, args...)
		done <- err
	}()
	return done
}

func servedBy(t *testing.T, conn *pgx.Conn, id int) string {
	t.Helper()
	var name string
	if err := conn.QueryRow(t.Context(), "select pico_instance_name(pico_instance_uuid()), id from t where id = $1", id).Scan(&name, nil); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestKilledLeader is the recorded failover: until the governor's timeout everything sharded hangs that needs a hop, through healthy
// instances and for healthy replicasets too; afterwards new statements work and those that hung don't wake.
func TestKilledLeader(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	via := session(t, c, "i2", "")
	other := session(t, c, "i1", "")
	idle := session(t, c, "i3", "")
	c.Node("i3").Kill()
	if _, err := idle.Exec(t.Context(), "select 1"); err == nil {
		t.Error("a connection to a killed node lives on")
	}
	stuck := begin(t, via, "select * from t where id = $1", inFirst)
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if state := c.Node("i3").State(); state != "Online" {
		t.Errorf("i3 is %s before the governor's timeout", state)
	}
	clock.Advance(29 * time.Second)
	if l := c.Leader("default_2").Name(); l != "i3" {
		t.Errorf("%s leads after 29 s", l)
	}
	clock.Advance(2 * time.Second)
	if l := c.Leader("default_2").Name(); l != "i4" {
		t.Errorf("%s leads after 31 s, want i4", l)
	}
	if state := c.Node("i3").State(); state != "Offline" {
		t.Errorf("i3 is %s after the governor's timeout", state)
	}
	if _, err := other.Exec(t.Context(), "update t set v = 1 where id = $1", inSecond); err != nil {
		t.Errorf("a new statement: %v", err)
	}
	if c.Hanging() != 1 {
		t.Error("the statement that hung woke up")
	}
	clock.Advance(6 * time.Minute)
	if err := <-stuck; code(err) != "XX000" {
		t.Errorf("after the server's own limit: %v", err)
	}
	<-startNow(c.Node("i3"))
	if c.Node("i3").IsLeader() {
		t.Error("i3 came back as a leader")
	}
	replica := session(t, c, "i3", "read_preference=replica")
	var v int
	if err := replica.QueryRow(t.Context(), "select v from t where id = $1", inSecond).Scan(&v); err != nil || v != 1 {
		t.Errorf("what was written meanwhile is %d at i3, %v", v, err)
	}
}

// TestKilledLeaderLocally: while a leader is dead and nobody knows, an instance goes on answering what it can by itself.
func TestKilledLeaderLocally(t *testing.T) {
	c, _ := sharded(t, picotest.Config{})
	owner, routed := session(t, c, "i1", ""), session(t, c, "i1", "forward=off")
	replica := session(t, c, "i4", "read_preference=any")
	healthy := session(t, c, "i2", "read_preference=replica")
	c.Node("i3").Kill()
	for _, s := range []struct {
		conn *pgx.Conn
		sql  string
		key  any
	}{
		{owner, "select * from t where id = $1", inFirst},
		{owner, "update t set v = 5 where id = $1", inFirst},
		{routed, "update t set v = 6 where id = $1", inFirst},
		{healthy, "select * from t where id = $1", inFirst},
		{replica, "select * from t where id = $1", inSecond},
	} {
		if _, err := s.conn.Exec(t.Context(), s.sql, s.key); err != nil {
			t.Errorf("%s: %v", s.sql, err)
		}
	}
	if n := c.Hanging(); n != 0 {
		t.Errorf("%d statements hang", n)
	}
	for i, s := range []struct {
		node, options, sql string
		key                any
	}{
		{"i1", "", "select * from t where id = $1", inSecond},
		{"i2", "", "select * from t where id = $1", inFirst},
		{"i1", "", "select count(*) from t where id >= $1", -1},
		{"i1", "read_preference=any", "select * from t where id = $1", inSecond},
		{"i4", "", "select * from t where id = $1", inSecond},
		{"i4", "", "update t set v = 7 where id = $1", inSecond},
	} {
		begin(t, session(t, c, s.node, s.options), s.sql, s.key)
		if err := c.WaitHanging(t.Context(), i+1); err != nil {
			t.Fatalf("%s at %s: %v", s.sql, s.node, err)
		}
	}
}

// TestStaleThaw: a frozen leader that was replaced takes a write for a moment that nobody gets to see, and what is read there
// afterwards is stale.
func TestStaleThaw(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	old, late := session(t, c, "i1", ""), session(t, c, "i1", "read_preference=any")
	n := c.Node("i1")
	n.StaleThaw(true)
	n.Freeze()
	clock.Advance(31 * time.Second)
	if l := c.Leader("default_1").Name(); l != "i2" {
		t.Fatalf("%s leads", l)
	}
	at := func(conn *pgx.Conn) (v int) {
		if err := conn.QueryRow(t.Context(), "select v from t where id = $1", inFirst).Scan(&v); err != nil {
			t.Error(err)
		}
		return v
	}
	set := func(conn *pgx.Conn, v int) error {
		_, err := conn.Exec(t.Context(), "update t set v = $2 where id = $1", inFirst, v)
		return err
	}
	leader := session(t, c, "i2", "")
	if err := set(leader, 10); err != nil {
		t.Fatal(err)
	}
	n.Thaw()
	if err := set(old, 20); err != nil {
		t.Errorf("a write at the old leader: %v", err)
	}
	if v := at(leader); v != 10 {
		t.Errorf("the new leader has %d", v)
	}
	clock.Advance(time.Second)
	if err := c.WaitState(t.Context(), "i1", "Online"); err != nil {
		t.Fatal(err)
	}
	if err := set(leader, 11); err != nil {
		t.Fatal(err)
	}
	if v := at(late); v != 20 {
		t.Errorf("the old leader shows %d, want its own 20", v)
	}
	n.Lag(false)
	if v := at(late); v != 11 {
		t.Errorf("after it followed again it shows %d", v)
	}
}

// TestKilledRaftLeader: a write to a global table finds nobody at its address, and nothing ran.
func TestKilledRaftLeader(t *testing.T) {
	c, clock := sharded(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"}}})
	conn := session(t, c, "i5", "")
	if _, err := conn.Exec(t.Context(), "create table g (id int primary key) distributed globally"); err != nil {
		t.Fatal(err)
	}
	c.Node("i1").Kill()
	if _, err := conn.Exec(t.Context(), "insert into g values (1)"); err == nil || !strings.Contains(err.Error(), "Connection refused (os error 111)") {
		t.Errorf("got %v", err)
	}
	clock.Advance(10 * time.Second)
	if _, err := conn.Exec(t.Context(), "insert into g values (1)"); err != nil {
		t.Errorf("with a new raft leader: %v", err)
	}
}

func startNow(n *picotest.Node) <-chan struct{} {
	up := n.Start()
	n.Online()
	return up
}

// TestStop leaves in an orderly way: another leader at once, EOF after the window.
func TestStop(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	at := session(t, c, "i3", "")
	gone := c.Node("i3").Stop()
	if l := c.Leader("default_2").Name(); l != "i4" {
		t.Errorf("%s leads, want i4", l)
	}
	if _, err := at.Exec(t.Context(), "update t set v = 7 where id = $1", inSecond); err != nil {
		t.Errorf("in the window: %v", err)
	}
	clock.Advance(100 * time.Millisecond)
	<-gone
	if _, err := at.Exec(t.Context(), "select 1"); err == nil {
		t.Error("the connection outlived the process")
	}
	if rows, err := c.Query("select v from t where id = 2"); err != nil || fmt.Sprint(rows) != "[[7]]" {
		t.Errorf("rows %v, %v", rows, err)
	}
}

// TestSwitch has a read-only window in which a write fails and a read doesn't.
func TestSwitch(t *testing.T) {
	c, _ := sharded(t, picotest.Config{SwitchWindow: -1})
	conn := session(t, c, "i1", "")
	s := c.SwitchLeader("default_2", "i4")
	_, err := conn.Exec(t.Context(), "update t set v = 1 where id = $1", inSecond)
	if err == nil || !strings.Contains(err.Error(), "Readonly: Can't modify data on a read-only instance") {
		t.Errorf("a write in the window: %v", err)
	}
	_, err = session(t, c, "i3", "").Exec(t.Context(), "insert into t values ($1, 0)", 5)
	if want := "sbroad: invalid transaction: transaction rolled-back: failed to insert space: box error: Readonly"; err == nil ||
		!strings.Contains(err.Error(), "ERROR: "+want) {
		t.Errorf("a write in the window at the leader itself: %v", err)
	}
	_, err = conn.Exec(t.Context(), "insert into t values (7, 0), (8, 0), (10, 0)") // buckets of both replicasets
	if err == nil || !strings.Contains(err.Error(), "Readonly") {
		t.Errorf("a write over both replicasets: %v", err)
	}
	if got := servedBy(t, conn, inSecond); got != "i3" {
		t.Errorf("a read in the window was served by %s", got)
	}
	s.Finish()
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "update t set v = 1 where id = $1", inSecond); err != nil {
		t.Error(err)
	}
	if got := servedBy(t, conn, inSecond); got != "i4" {
		t.Errorf("served by %s, want i4", got)
	}
	if _, err := conn.Exec(t.Context(), "update _pico_replicaset set target_master_name = 'i3' where name = 'default_2'"); err != nil {
		t.Fatal(err)
	}
}

// TestSwitchBack calls a switchover off: the old leader leads and writes, and the tables say so.
func TestSwitchBack(t *testing.T) {
	c, _ := sharded(t, picotest.Config{SwitchWindow: -1})
	first := c.SwitchLeader("default_2", "i4")
	if err := c.SwitchLeader("default_2", "i3").Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	if got := column(t, c, "select target_master_name from _pico_replicaset where name = 'default_2'"); got != "i3" {
		t.Errorf("the tables say that %s will lead", got)
	}
	if err := c.Exec("update t set v = 1 where id = 2"); err != nil {
		t.Errorf("the old leader still refuses writes: %v", err)
	}
	first.Finish()
	if l := c.Leader("default_2").Name(); l != "i3" {
		t.Errorf("%s leads after a switchover that was called off", l)
	}
}

// TestSwitchToDead: a switchover to an instance that dies meanwhile is given up.
func TestSwitchToDead(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	s := c.SwitchLeader("default_2", "i4")
	c.Node("i4").Kill()
	clock.Advance(time.Second)
	<-s.Done()
	if l := c.Leader("default_2").Name(); l != "i3" {
		t.Errorf("%s leads, want i3", l)
	}
	if err := c.Exec("update t set v = 1 where id = 2"); err != nil {
		t.Errorf("the old leader still refuses writes: %v", err)
	}
}

// TestReadPreference asks where reads are served.
func TestReadPreference(t *testing.T) {
	c, _ := sharded(t, picotest.Config{})
	for _, tc := range []struct {
		node, options string
		id            int
		want          string
		hops          int
	}{
		{"i1", "", inFirst, "i1", 0},
		{"i2", "", inFirst, "i1", 1},
		{"i1", "", inSecond, "i3", 1},
		{"i1", "read_preference=any", inFirst, "i1", 0},
		{"i2", "read_preference=any", inFirst, "i2", 0},
		{"i1", "read_preference=replica", inFirst, "i2", 1},
		{"i2", "read_preference=replica", inFirst, "i2", 0},
		{"i1", "read_preference=any", inSecond, "i4", 1},
	} {
		conn := session(t, c, tc.node, tc.options)
		c.ResetCounters()
		if got := servedBy(t, conn, tc.id); got != tc.want {
			t.Errorf("%s %s, id %d: served by %s, want %s", tc.node, tc.options, tc.id, got, tc.want)
		}
		list := c.Statements(picotest.SQL("from t"))
		if len(list) != 1 || list[0].Hops != tc.hops || len(list[0].Ran) != 1 || list[0].Ran[0] != tc.want {
			t.Errorf("%s %s, id %d: recorded as %+v, want %d hops", tc.node, tc.options, tc.id, list, tc.hops)
		}
	}
}

// TestKilledReplica: reads that prefer replicas hang, others don't; after the timeout "any" reads at the
// leader and "replica" still hangs.
func TestKilledReplica(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	c.Node("i4").Kill()
	leader := session(t, c, "i1", "")
	if _, err := leader.Exec(t.Context(), "update t set v = 1 where id = $1", inSecond); err != nil {
		t.Error(err)
	}
	first := session(t, c, "i1", "read_preference=any")
	_ = begin(t, first, "select v from t where id = $1", inSecond)
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * time.Second)
	if got := servedBy(t, session(t, c, "i1", "read_preference=any"), inSecond); got != "i3" {
		t.Errorf("any: served by %s, want i3", got)
	}
	_ = begin(t, session(t, c, "i1", "read_preference=replica"), "select v from t where id = $1", inSecond)
	if err := c.WaitHanging(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
}

// TestFrozen answers when it thaws.
func TestFrozen(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	n := c.Node("i3")
	at := session(t, c, "i3", "")
	via := session(t, c, "i1", "")
	n.Freeze()
	direct := begin(t, at, "select 1")
	forwarded := begin(t, via, "select * from t where id = $1", inSecond)
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-direct:
		t.Fatalf("a frozen node answered: %v", err)
	default:
	}
	clock.Advance(31 * time.Second)
	if l := c.Leader("default_2").Name(); l != "i4" {
		t.Errorf("%s leads, want i4", l)
	}
	n.Thaw()
	if err := errors.Join(<-direct, <-forwarded); err != nil {
		t.Error(err)
	}
	clock.Advance(time.Second)
	if n.State() != "Online" || n.IsLeader() {
		t.Errorf("thawed: %s, leader %v", n.State(), n.IsLeader())
	}
}

// TestLag reads stale rows on a replica, and loses what it lacks when it takes over.
func TestLag(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	c.Node("i4").Lag(true)
	if err := c.Exec("update t set v = 5 where id = 2"); err != nil {
		t.Fatal(err)
	}
	stale := session(t, c, "i4", "read_preference=any")
	var v int
	if err := stale.QueryRow(t.Context(), "select v from t where id = $1", inSecond).Scan(&v); err != nil || v != 0 {
		t.Errorf("the replica shows %d, %v; want 0", v, err)
	}
	c.Node("i4").Lag(false)
	if err := stale.QueryRow(t.Context(), "select v from t where id = $1", inSecond).Scan(&v); err != nil || v != 5 {
		t.Errorf("the replica shows %d, %v; want 5", v, err)
	}
	c.Node("i4").Lag(true)
	if err := c.Exec("update t set v = 6 where id = 2"); err != nil {
		t.Fatal(err)
	}
	c.Node("i3").Kill()
	clock.Advance(31 * time.Second)
	if rows, err := c.Query("select v from t where id = 2"); err != nil || fmt.Sprint(rows) != "[[5]]" {
		t.Errorf("after the failover: %v, %v; want 5, for 6 was lost", rows, err)
	}
}

// TestOfflineTimeout follows ALTER SYSTEM.
func TestOfflineTimeout(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	if err := c.Exec("alter system set governor_auto_offline_timeout = 2.5"); err != nil {
		t.Fatal(err)
	}
	c.Node("i2").Kill()
	clock.Advance(2400 * time.Millisecond)
	if s := c.Node("i2").State(); s != "Online" {
		t.Errorf("%s after 2.4 s", s)
	}
	clock.Advance(100 * time.Millisecond)
	if s := c.Node("i2").State(); s != "Offline" {
		t.Errorf("%s after 2.5 s", s)
	}
}

// TestAllDead kills a whole replicaset: who comes back first leads it, with the rows.
func TestAllDead(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	c.Node("i4").Kill()
	clock.Advance(31 * time.Second)
	c.Node("i3").Kill()
	clock.Advance(31 * time.Second)
	stuck := session(t, c, "i1", "")
	_ = begin(t, stuck, "select v from t where id = $1", inSecond)
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	healthy := session(t, c, "i1", "")
	if _, err := healthy.Exec(t.Context(), "select v from t where id = $1", inFirst); err != nil {
		t.Errorf("the other replicaset: %v", err)
	}
	<-startNow(c.Node("i4"))
	if !c.Node("i4").IsLeader() {
		t.Error("who came back doesn't lead")
	}
	if got := servedBy(t, healthy, inSecond); got != "i4" {
		t.Errorf("served by %s, want i4", got)
	}
	if _, err := healthy.Exec(t.Context(), "update t set v = 3 where id = $1", inSecond); err != nil {
		t.Error(err)
	}
	<-startNow(c.Node("i3"))
	replica := session(t, c, "i3", "read_preference=any")
	var v int
	if err := replica.QueryRow(t.Context(), "select v from t where id = $1", inSecond).Scan(&v); err != nil || v != 3 {
		t.Errorf("i3 has %d, %v; want 3", v, err)
	}
}

// TestStrandedRead is caught in the window of a planned stop: no answer until the instance is back, then an error.
func TestStrandedRead(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	n := c.Node("i3")
	n.StrandReads(true)
	n.Stop()
	done := begin(t, session(t, c, "i1", ""), "select v from t where id = $1", inSecond)
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	if _, err := session(t, c, "i1", "").Exec(t.Context(), "select v from t where id = $1", inSecond); err != nil {
		t.Errorf("after the window: %v", err)
	}
	n.Start()
	n.Online()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "Object is outdated after module reload") {
		t.Errorf("once the instance is back: %v", err)
	}
}

// TestDDLWaits for a leader that is dead: each has to apply it.
func TestDDLWaits(t *testing.T) {
	c, clock := sharded(t, picotest.Config{})
	c.Node("i3").Kill()
	ddl := begin(t, session(t, c, "i1", ""), "create table u (id int primary key)")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as long as it takes to fail
	defer cancel()
	if err := c.WaitHanging(ctx, 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * time.Second)
	if err := <-ddl; err != nil {
		t.Error(err)
	}
}

// TestRaftLeader is replaced ten seconds after it was killed; DDL waits meanwhile.
func TestRaftLeader(t *testing.T) {
	c, clock := sharded(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"}}})
	if l := c.RaftLeader().Name(); l != "i1" {
		t.Fatalf("%s leads raft", l)
	}
	conn := session(t, c, "i5", "")
	c.Node("i1").Kill()
	ddl := begin(t, conn, "create table u (id int primary key)")
	if err := c.WaitHanging(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(9 * time.Second)
	if c.RaftLeader() != nil {
		t.Error("no election after nine seconds")
	}
	clock.Advance(time.Second)
	if c.RaftLeader() == nil {
		t.Error("no raft leader after ten seconds")
	}
	if _, err := session(t, c, "i5", "").Exec(t.Context(), "alter system set sql_motion_row_max = 100"); err != nil {
		t.Errorf("what needs the raft leader alone: %v", err)
	}
	clock.Advance(30 * time.Second)
	if err := <-ddl; err != nil {
		t.Error(err)
	}
}
