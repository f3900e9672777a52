package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// The scenarios of the topology: what statements see while the cluster changes, breaks or hides.
// They run in a bubble of virtual time, over a network in memory, so that thirty seconds of outage take
// none and the leader's switch comes at an exact moment.

// hideBehindNAT makes the nodes reachable through forwarded ports alone and lets the system
// tables advertise addresses of which none works from here.
func hideBehindNAT(w *world) (hosts []string) {
	advertised := []string{"172.17.0.2:4327", "0.0.0.0:4327", "10.255.255.1:4327"}
	for i, a := range advertised {
		n := w.cluster.Nodes()[i]
		forwarded := fmt.Sprintf("127.0.0.1:%d", 14327+i)
		w.route(forwarded, n.Addr())
		w.route(a, "black hole")
		n.Advertise(a)
		hosts = append(hosts, forwarded)
	}
	w.route("127.0.0.1:4327", "refused") // what becomes of 0.0.0.0:4327
	return hosts
}

// discovery-unreachable-advertised: Advertised addresses that lead nowhere fail no statement: bootstrap uses the hosts of the DSN, address_map leads
// elsewhere, and without either the error says what to set.
func TestDiscoveryUnreachableAdvertised(t *testing.T) {
	t.Run("bootstrap uses exactly the hosts of the DSN", func(t *testing.T) {
		bubble(t, threeNodes(), func(t *testing.T, w *world) {
			hosts := hideBehindNAT(w)
			w.open(hosts, options.WithMode(options.Bootstrap))
			began := time.Now()
			if errs := w.read("select 300", 300); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			if d := time.Since(began); d > 0 {
				t.Errorf("addresses nobody uses cost %v", d)
			}
			if got := w.ran("select 300"); !maps.Equal(got, map[string]int{"i1": 100, "i2": 100, "i3": 100}) {
				t.Errorf("%v", got)
			}
			for a, n := range w.dials {
				if !slices.Contains(hosts, a) {
					t.Errorf("%s was dialled %d times", a, n)
				}
			}
		})
	})
	t.Run("address_map makes discovery work", func(t *testing.T) {
		bubble(t, threeNodes(), func(t *testing.T, w *world) {
			hosts := hideBehindNAT(w)
			w.open(hosts[:1], options.WithAddressMap(
				options.Mapping{From: "172.17.0.2:4327", To: hosts[0]},
				options.Mapping{From: "i2", To: hosts[1]}, // by name: others could advertise 0.0.0.0 too
				options.Mapping{From: "10.255.255.1", To: hosts[2]}))
			if errs := w.read("select 300", 300); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			if got := w.ran("select 300"); !maps.Equal(got, map[string]int{"i1": 100, "i2": 100, "i3": 100}) {
				t.Errorf("%v", got)
			}
		})
	})
	t.Run("discovery lives by the host of the DSN", func(t *testing.T) {
		bubble(t, threeNodes(), func(t *testing.T, w *world) {
			hosts := hideBehindNAT(w)
			w.open(hosts[:1])
			began := time.Now()
			if errs := w.read("select 1", 1); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			if d, most := time.Since(began), w.c.Config().ConnectTimeout; d > most {
				t.Errorf("the first query took %v, more than a dial's time-out of %v", d, most)
			}
			for range 100 {
				if errs := w.read("select 100", 1); len(errs) > 0 {
					t.Error(errs[0])
				}
				time.Sleep(100 * time.Millisecond)
			}
			if got := w.ran("select 100"); got["i1"] != 100 {
				t.Errorf("%v", got)
			}
			if n := w.dialled("0.0.0.0:4327"); n > 0 {
				t.Errorf("0.0.0.0 was dialled %d times", n)
			}
			s := w.c.Stats()
			if !slices.Equal(s.Topology.Unreachable, []string{"i1"}) || s.Total.DialFailures == 0 {
				t.Errorf("unreachable %q, %d dials failed", s.Topology.Unreachable, s.Total.DialFailures)
			}
		})
	})
}

// discovery-seed-down-at-start: A host of the DSN that is down at the start costs one attempt, not the start.
func TestDiscoverySeedDownAtStart(t *testing.T) {
	ping := func(w *world, limit time.Duration) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(w.t.Context(), limit)
		defer cancel()
		began := time.Now()
		err := w.PingContext(ctx)
		return time.Since(began), err
	}
	for how, most := range map[string]time.Duration{"refused": 0, "black hole": 300 * time.Millisecond} {
		t.Run(how, func(t *testing.T) {
			for range 40 { // wherever the random starts of topology and statement fall
				bubble(t, threeNodes(), func(t *testing.T, w *world) {
					a := w.cluster.Node("i1")
					w.route(a.Addr(), how)
					w.open(nil)
					if took, err := ping(w, 2*time.Second); err != nil || took > most {
						t.Errorf("%v after %v, want at most %v", err, took, most)
					}
				})
			}
		})
	}
	t.Run("all down", func(t *testing.T) {
		bubble(t, threeNodes(), func(t *testing.T, w *world) {
			for _, n := range w.cluster.Nodes() {
				w.route(n.Addr(), "refused")
			}
			w.open(nil)
			took, err := ping(w, 2*time.Second)
			if !errors.Is(err, syscall.ECONNREFUSED) || took > time.Second {
				t.Errorf("%v after %v", err, took)
			}
			for _, n := range w.cluster.Nodes() {
				if err != nil && !strings.Contains(err.Error(), n.Addr()) {
					t.Errorf("%v doesn't say what became of %s", err, n.Addr())
				}
			}
			time.Sleep(time.Second)
			w.route(w.cluster.Node("i2").Addr(), w.cluster.Node("i2").Addr())
			if took, err := ping(w, 5*time.Second); err != nil {
				t.Errorf("one seed is back, and the same DB says after %v: %v", took, err)
			}
		})
	})
}

// discovery-stale-list-after-flaps: Once nodes flapped, moved or came back the list is that of the cluster, not of the past.
func TestDiscoveryStaleListAfterFlaps(t *testing.T) {
	bubble(t, threeNodes(), func(t *testing.T, w *world) {
		w.route("seed.example:4327", w.cluster.Node("i3").Addr()) // a name of ours that leads wherever we say
		seed := func(n *picotest.Node) { w.route("seed.example:4327", n.Addr()) }
		w.open([]string{"seed.example:4327"})
		if errs := w.read("select 1", 3); len(errs) > 0 {
			t.Fatal(errs)
		}
		var failed, done atomic.Int64
		stop := w.work(50, 250*time.Millisecond, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var n int
			if err := w.QueryRowContext(ctx, "select 50").Scan(&n); err != nil {
				failed.Add(1)
			}
			done.Add(1)
		})
		defer stop()
		interval := w.c.Config().TopologyUpdateInterval
		served := func(during time.Duration) map[string]int {
			w.cluster.ResetCounters()
			time.Sleep(during)
			return w.ran("select 50")
		}
		i1, i2, i3 := w.cluster.Node("i1"), w.cluster.Node("i2"), w.cluster.Node("i3")
		time.Sleep(time.Second)
		// i3 is cut off for 30 s, and healed.
		i3.Refuse()
		i3.ResetConnections()
		seed(i1)
		time.Sleep(30 * time.Second)
		if got := served(time.Second); got["i1"] == 0 || got["i2"] == 0 || got["i3"] != 0 {
			t.Errorf("with i3 cut off: %v", got)
		}
		i3.Accept()
		time.Sleep(interval + interval/4)
		if got := served(time.Second); got["i3"] < got["i1"]/4 {
			t.Errorf("one refresh after the healing i3 has its part again: %v", got)
		}
		time.Sleep(5 * time.Second)
		<-i2.Stop()
		if got := served(2 * time.Second); got["i1"] == 0 || got["i3"] == 0 || got["i2"] != 0 {
			t.Errorf("with i2 stopped: %v", got)
		}
		seed(i3)
		<-i1.Stop()
		if got := served(2 * time.Second); got["i3"] == 0 || got["i1"]+got["i2"] != 0 {
			t.Errorf("with i1 and i2 stopped: %v", got)
		}
		if n := failed.Load(); n > 0 {
			t.Errorf("%d of %d statements failed, though a node was up all the time", n, done.Load())
		}
		// All stop, and come back with new addresses.
		<-i3.Stop()
		time.Sleep(10 * time.Second)
		for _, n := range []*picotest.Node{i1, i2, i3} {
			<-n.Start()
			if err := n.Move(); err != nil {
				t.Fatal(err)
			}
			n.DropConnections()
		}
		seed(i2)
		time.Sleep(interval + 5*time.Second)
		failed.Store(0)
		if got := served(2 * time.Second); got["i1"] == 0 || got["i2"] == 0 || got["i3"] == 0 {
			t.Errorf("after a total loss, at new addresses: %v", got)
		}
		if n := failed.Load(); n > 0 {
			t.Errorf("%d statements failed after the return", n)
		}
	})
}

// readonly-after-failover: After a switch writes go to the new leader, and the old one, read-only now, gets none.
func TestReadonlyAfterFailover(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 2}}, SwitchWindow: -1}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.open(nil)
		w.must("create table t (id int primary key, v int)")
		a, b := w.cluster.Leader("default_1"), w.cluster.Replicas("default_1")[0]
		var conns []*sql.Conn
		for range 20 {
			c, err := w.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			c.Close()
		}
		toA := a.Counters().Open
		for i := range 20 {
			w.must("insert into t values ($1, $2)", i, 1)
		}
		w.cluster.ResetCounters()
		// A write in the middle of the switch: A refuses it, which proves that it hasn't run, and B takes it.
		change := w.cluster.SwitchLeader("default_1", b.Name())
		written := make(chan error)
		go func() {
			_, err := w.ExecContext(t.Context(), "insert into t values ($1, $2)", 100, 1)
			written <- err
		}()
		time.Sleep(100 * time.Millisecond) // as long as a real switch
		change.Finish()
		if err := <-written; err != nil {
			t.Errorf("the write that met the switch: %v", err)
		}
		if got := w.ran("insert into t values"); got[b.Name()] == 0 {
			t.Errorf("the write that met the switch ran on %v", got)
		}
		time.Sleep(250 * time.Millisecond) // a refresh that nobody asked for is seconds away
		w.cluster.ResetCounters()
		for i := range 200 {
			w.must("insert into t values ($1, $2)", 1000+i, 2)
		}
		for _, s := range w.cluster.Statements(picotest.SQL("insert into t")) {
			if s.Node == a.Name() {
				t.Errorf("an INSERT went to %s after %s had taken over", a.Name(), b.Name())
				break
			}
		}
		if got := w.leaders()["default_1"]; got != b.Name() {
			t.Errorf("the leader is %q for the driver", got)
		}
		if n := a.Counters().Open; n < toA {
			t.Errorf("%d of %d connections to the old leader are left: it is good for reads", n, toA)
		}
		if errs := w.read("select 77", 20); len(errs) > 0 || w.ran("select 77")[a.Name()] == 0 {
			t.Errorf("reads on the old leader: %v, %v", errs, w.ran("select 77"))
		}
	})
}

// A leader's switch under load: writes with instance_role=leader reach the new leader without an error
// that a user sees, outside the server's own interregnum.
func TestLeaderSwitchUnderLoad(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.open(nil, options.WithInstanceRole(options.RoleLeader))
		w.must("create table t (id int primary key)")
		var next atomic.Int64
		stop := w.work(8, 3*time.Millisecond, func() {
			id := next.Add(1)
			if _, err := w.ExecContext(t.Context(), "insert into t values ($1)", id); err != nil {
				t.Errorf("row %d: %v", id, err)
			}
		})
		defer stop()
		time.Sleep(time.Second)
		for i := range 4 {
			b := w.cluster.Replicas("default_2")[0]
			if err := w.cluster.SwitchLeader("default_2", b.Name()).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The errors of the switch hint at it; a refresh needs no interval.
			time.Sleep(200 * time.Millisecond)
			if got := w.leaders()["default_2"]; got != b.Name() {
				t.Errorf("switch %d: the leader is %q for the driver, want %s", i, got, b.Name())
			}
			w.cluster.ResetCounters()
			time.Sleep(time.Second)
			got := w.ran("insert into t")
			if len(got) != 2 || got[b.Name()] == 0 || got["i1"] == 0 {
				t.Errorf("switch %d: INSERTs went to %v", i, got)
			}
		}
		stop()
		var n int64
		if err := w.QueryRowContext(t.Context(), "select count(*) from t").Scan(&n); err != nil || n != next.Load() {
			t.Errorf("%d rows of %d, %v", n, next.Load(), err)
		}
	})
}
