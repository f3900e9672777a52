package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// fakeLive is a cluster that stands still: tier default with replicasets of i1, i2 and i3, i4, tier cold with i5.
type fakeLive struct {
	sys *System
}

func (f *fakeLive) System(string) *System { return f.sys }

func (f *fakeLive) Update(_, table string, key []Value, set map[string]Value) *Error {
	return nil
}

const (
	rs1 = "d2a15ee8-324e-4d1b-91e8-a9504725f65b"
	rs2 = "27d39d2f-596a-41ba-b726-46f1afe30125"
	rs3 = "216bd7fb-8b91-48c8-86fe-9db838473aaa"
)

var testVersions = map[string]Version{
	"25.2": {Major: 25, Minor: 2, Build: "25.2.6"},
	"25.5": {Major: 25, Minor: 5, Build: "25.5.8"},
	"25.6": {Major: 25, Minor: 6, Build: "25.6.0-a54cfb72b"},
	"26.1": {Major: 26, Minor: 1, Build: "26.1.6"},
	"26.2": {Major: 26, Minor: 2, Build: "26.2.1-rc2-dcd72bc91"},
}

func testSystem(v Version) *System {
	s := &System{RaftLeaderID: 1, RaftLeader: instUUID(1), Buckets: map[string][]BucketRange{
		"default": {{First: 1, Last: 1500, Replicaset: rs2}, {First: 1501, Last: 3000, Replicaset: rs1}},
		"cold":    {{First: 1, Last: 3000, Replicaset: rs3}},
	}}
	for i := uint64(1); i <= 5; i++ {
		rs, name, tier := rs1, "default_1", "default"
		switch i {
		case 3, 4:
			rs, name = rs2, "default_2"
		case 5:
			rs, name, tier = rs3, "cold_1", "cold"
		}
		s.Instances = append(s.Instances, InstanceRow{Name: fmt.Sprintf("i%d", i), UUID: instUUID(i), RaftID: i, ReplicasetName: name,
			ReplicasetUUID: rs, CurrentState: `["Online",1]`, TargetState: `["Online",1]`, Tier: tier, Version: v.Build})
		for _, k := range []string{"iproto", "pgproto", "http"} {
			if k == "http" && !v.AtLeast(26, 1) {
				continue
			}
			port := map[string]int{"iproto": 23300, "pgproto": 24300, "http": 28300}[k]
			s.Addresses = append(s.Addresses, AddressRow{RaftID: i, Address: fmt.Sprintf("127.0.0.1:%d", port+int(i)), Type: k})
		}
	}
	for i, r := range []struct{ uuid, name, tier, leader string }{{rs1, "default_1", "default", "i1"}, {rs2, "default_2", "default", "i3"}, {rs3, "cold_1", "cold", "i5"}} {
		_ = i
		s.Replicasets = append(s.Replicasets, ReplicasetRow{Name: r.name, UUID: r.uuid, Tier: r.tier, CurrentMaster: r.leader, TargetMaster: r.leader,
			Weight: 1, WeightOrigin: "auto", State: "ready", CurrentConfig: 2, TargetConfig: 2})
	}
	s.Tiers = []TierRow{
		{Name: "cold", ReplicationFactor: 1, BucketCount: 3000, CanVote: true, Bootstrapped: true, CurrentVshard: 3, TargetVshard: 3},
		{Name: "default", ReplicationFactor: 2, BucketCount: 3000, CanVote: true, Bootstrapped: true, Default: true, CurrentVshard: 10, TargetVshard: 10},
	}
	return s
}

// testNow is a moment of the recordings.
var testNow = time.Date(2026, 11, 29, 22, 57, 51, 385561000, time.UTC)

func instUUID(i uint64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// bench is an engine with the smallest cluster around it that can run statements: it plays the part of package picotest.
type bench struct {
	t    testing.TB
	e    *Engine
	live *fakeLive
	sess Session
}

func newBench(t testing.TB, version string) *bench {
	t.Helper()
	v := testVersions[version]
	live := &fakeLive{testSystem(v)}
	e, err := New(Config{Live: live, Version: v, AdminPassword: "T0psecret", Now: func() time.Time { return testNow }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []Copy{{rs1, "i1"}, {rs1, "i2"}, {rs2, "i3"}, {rs2, "i4"}, {rs3, "i5"}} {
		e.AddInstance(c.Replicaset, c.Instance, "")
	}
	return &bench{t: t, e: e, live: live, sess: Session{User: "admin", Instance: "i1", Version: v}}
}

// view picks copies as a cluster does: leaders, or replicas where the options say so.
func (b *bench) view(s *Stmt, args []Value) (View, *Error) {
	v := View{Instance: b.sess.Instance, Local: true}
	if s.Tier() == "" {
		return v, nil
	}
	set, err := s.Buckets(args)
	if err != nil {
		return v, err
	}
	o, err := s.Options(args)
	if err != nil {
		return v, err
	}
	leaders, replicas := map[string]string{}, map[string]string{}
	for _, r := range b.live.sys.Replicasets {
		leaders[r.UUID] = r.CurrentMaster
		for _, i := range b.live.sys.Instances {
			if i.ReplicasetUUID == r.UUID && (i.Name != r.CurrentMaster || replicas[r.UUID] == "") {
				replicas[r.UUID] = i.Name
			}
		}
	}
	need := map[string]bool{}
	for _, r := range b.live.sys.Buckets[s.Tier()] {
		if set.All {
			need[r.Replicaset] = true
		}
		for _, n := range set.List {
			if n >= r.First && n <= r.Last {
				need[r.Replicaset] = true
			}
		}
	}
	for _, rs := range []string{rs1, rs2, rs3} {
		if !need[rs] {
			continue
		}
		at := leaders[rs]
		if s.Kind() == DQL && o.ReadPreference != "leader" {
			at = replicas[rs]
		}
		v.Copies = append(v.Copies, Copy{rs, at})
		v.Local = v.Local && at == b.sess.Instance
	}
	return v, nil
}

// try runs a statement with text arguments.
func (b *bench) try(sql string, args ...string) (*Result, *Error) {
	s, err := b.e.Prepare(b.sess, sql, nil)
	if err != nil {
		return nil, err
	}
	raw := make([][]byte, len(args))
	for i, a := range args {
		if a != "<null>" {
			raw[i] = []byte(a)
		}
	}
	vals, err := s.Bind(nil, raw)
	if err != nil {
		return nil, err
	}
	v, err := b.view(s, vals)
	if err != nil {
		return nil, err
	}
	return s.Run(context.Background(), vals, v)
}

// run gives rows and tag, or the error, as one text.
func (b *bench) run(sql string, args ...string) string {
	r, err := b.try(sql, args...)
	if err != nil {
		return "! " + err.Code + " " + err.Message
	}
	return show(r)
}

func show(r *Result) string {
	var out []string
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			b, err := Encode(v, r.Columns[i].OID, 0)
			switch {
			case err != nil:
				cells[i] = "! " + err.Error()
			case b == nil:
				cells[i] = "<null>"
			default:
				cells[i] = string(b)
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return strings.Join(append(out, r.Tag), "; ")
}

func (b *bench) want(want, sql string, args ...string) {
	b.t.Helper()
	if got := b.run(sql, args...); got != want {
		b.t.Errorf("%s %v\n got %s\nwant %s", sql, args, got, want)
	}
}

func TestFirstLight(t *testing.T) {
	b := newBench(t, "26.2")
	b.want("CREATE TABLE", "create table dlg_t (id int primary key, s text, n int) distributed by (id)")
	b.want("INSERT 0 3", "insert into dlg_t values (1,'one',10),(2,'two',20),(3,null,null)")
	b.want("INSERT 0 1", "insert into dlg_t values ($1,$2,$3)", "5", "five", "<null>")
	b.want("1|one|10; SELECT 1", "select * from dlg_t where id = 1")
	b.want("1934|1; 1410|2; 1958|3; SELECT 3", "select bucket_id, id from dlg_t where id in (1,2,3) order by id")
	b.want("UPDATE 1", "update dlg_t set n = n + $1 where id = $2", "1", "1")
	b.want("11; SELECT 1", "select n from dlg_t where id = 1 option (read_preference = replica)")
	b.want("DELETE 1", "delete from dlg_t where id = 3")
	b.want("i1|1; i3|2; i3|5; SELECT 3", "select pico_instance_name(pico_instance_uuid()), id from dlg_t order by id")
	b.want("i1; i2; i3; i4; i5; SELECT 5", "select name from _pico_instance")
	b.want("picodata 26.2.1-rc2-dcd72bc91; SELECT 1", "select version()")
	b.want("5; SELECT 1", "SELECT count(*) FROM _pico_instance i JOIN _pico_peer_address p ON i.raft_id=p.raft_id WHERE p.connection_type='pgproto'")
	b.want(`{"ShardedImplicitly":[["id"],"murmur3","default"]}; SELECT 1`, "select distribution from _pico_table where name = $1", "dlg_t")
}
