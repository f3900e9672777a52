package scenarios_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A node is stopped as planned while 16 workers read: nobody sees an error.
func TestPlannedStopUnderReads(t *testing.T) {
	bubble(t, pairs(), func(t *testing.T, w *world) {
		w.open(nil)
		w.must("create table t (id int primary key)")
		for i := range 50 {
			w.must("insert into t values ($1)", i)
		}
		const reads, workers = 10_000, 16
		var next, failed atomic.Int64
		var group sync.WaitGroup
		stopped := make(chan struct{})
		for range workers {
			group.Go(func() {
				for {
					n := next.Add(1)
					if n > reads {
						return
					}
					if n == reads/3 {
						go func() {
							<-w.cluster.Node("i1").Stop() // a leader
							<-w.cluster.Node("i4").Stop() // a replica
							close(stopped)
						}()
					}
					var id int64
					if err := w.QueryRowContext(t.Context(), "select id from t where id = $1", n%50).Scan(&id); err != nil || id != n%50 {
						failed.Add(1)
						t.Errorf("read %d: %d, %v", n, id, err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		group.Wait()
		<-stopped
		if n := failed.Load(); n > 0 {
			t.Errorf("%d of %d reads failed", n, reads)
		}
		if n := w.c.Stats().Total; n.InUse != 0 || n.Draining != 0 {
			t.Errorf("%d connections in use, %d draining", n.InUse, n.Draining)
		}
	})
}

// The node of the control connection freezes: statements to the others don't notice, and the
// topology comes from another one.
func TestFrozenControlNode(t *testing.T) {
	bubble(t, pairs(), func(t *testing.T, w *world) {
		w.open(nil)
		if errs := w.read("select 1", 8); len(errs) > 0 {
			t.Fatal(errs)
		}
		time.Sleep(time.Second)
		control := w.cluster.Node(w.c.Topology().ReadFrom)
		control.Freeze()
		defer control.Thaw()
		var others []string
		for _, n := range w.cluster.Nodes() {
			if n != control {
				others = append(others, n.Name())
			}
		}
		// Right into the middle of a refresh that hangs: each of these runs at once, in no time.
		time.Sleep(w.c.Config().TopologyUpdateInterval)
		for i := range 300 {
			began := time.Now()
			ctx := picodata.ToInstance(t.Context(), others[i%3])
			var n int
			if err := w.QueryRowContext(ctx, "select 300").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > 0 {
				t.Fatalf("statement %d waited %v", i, d)
			}
		}
		time.Sleep(10 * time.Second)
		topo := w.c.Topology()
		if age := time.Since(topo.ReadAt); topo.ReadFrom == control.Name() || age > 8*time.Second {
			t.Errorf("read from %s %v ago", topo.ReadFrom, age)
		}
		if s := w.c.Stats().Topology; s.Failures > 0 {
			t.Errorf("%d refreshes failed, though three nodes could answer: %s", s.Failures, s.LastError)
		}
	})
}

// Everything is down for 30 s; then one node is back.
func TestTotalOutage(t *testing.T) {
	bubble(t, pairs(), func(t *testing.T, w *world) {
		w.open(nil)
		if errs := w.read("select 1", 8); len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, n := range w.cluster.Nodes() {
			n.Refuse()
			n.ResetConnections()
		}
		down := time.Now()
		for time.Since(down) < 30*time.Second {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			var n int
			if err := w.QueryRowContext(ctx, "select 30").Scan(&n); err == nil {
				t.Fatal("an answer from nobody")
			}
			cancel()
		}
		dials := 0
		for _, n := range w.cluster.Nodes() {
			dials += w.dialled(n.Addr())
		}
		if dials > 1500 {
			t.Errorf("%d dials in 30 s: nodes that are down are hammered", dials)
		}
		w.cluster.Node("i3").Accept()
		failures := w.c.Stats().Topology.Failures
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var n int
		if err := w.QueryRowContext(ctx, "select 31").Scan(&n); err != nil {
			t.Errorf("a statement that came after the first node was back: %v", err)
		}
		for old := w.c.Topology().ReadAt; w.c.Topology().ReadAt.Equal(old); {
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.c.Stats().Topology.Failures - failures; n > 1 {
			t.Errorf("%d more refreshes failed before one worked", n)
		}
	})
}

// Two hundred clients that begin together don't meet on the first node of the DSN.
func TestFreshClientsSpread(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 4, ReplicationFactor: 1}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		for range 200 {
			w.open(nil)
			if errs := w.read("select 200", 1); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			w.Close()
		}
		for node, n := range w.ran("select 200") {
			if n < 20 || n > 90 {
				t.Errorf("the first statements of %d of 200 clients went to %s", n, node)
			}
		}
		logins := 0
		for _, n := range w.cluster.Nodes() {
			c := n.Counters()
			logins += c.Logins
			if c.Logins > 200 {
				t.Errorf("%s saw %d logins", n.Name(), c.Logins)
			}
		}
		if logins > 2*200+40 {
			t.Errorf("%d logins of 200 clients, want one for the topology and one for the statement each", logins)
		}
		w.DB = nil
	})
}

// An ordinary user sees instances only, one of an old server nothing: both work, and each is told once what would help.
func TestOrdinaryUsers(t *testing.T) {
	t.Run("26.2", func(t *testing.T) {
		bubble(t, pairs(), func(t *testing.T, w *world) {
			w.openAs("plain", nil)
			if errs := w.read("select 100", 100); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			if got := w.ran("select 100"); len(got) != 4 {
				t.Errorf("%v", got)
			}
			if g := w.c.Stats().Topology.DegradedGrants; !slices.Contains(g, "GRANT READ ON TABLE _pico_replicaset TO plain") {
				t.Errorf("%q", g)
			}
			w.Close()
			w.openAs("plain", nil, options.WithInstanceRole(options.RoleLeader))
			errs := w.read("select 1", 1)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "GRANT READ ON TABLE _pico_replicaset TO plain") {
				t.Errorf("instance_role=leader without the right to know leaders: %v", errs)
			}
			// The right comes: no restart.
			if err := w.cluster.Exec(`grant read on table _pico_replicaset to "plain"`); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			if errs := w.read("select 101", 10); len(errs) > 0 {
				t.Error(errs[0])
			}
			if got := w.ran("select 101"); len(got) != 2 || got["i1"] == 0 || got["i3"] == 0 {
				t.Errorf("leaders only: %v", got)
			}
			// And goes: what knows no leaders says so.
			if err := w.cluster.Exec(`revoke read on table _pico_replicaset from "plain"`); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			if errs := w.read("select 1", 1); len(errs) != 1 || !strings.Contains(errs[0].Error(), "GRANT") {
				t.Errorf("after the right was taken away: %v", errs)
			}
		})
	})
	t.Run("no rights at all", func(t *testing.T) {
		bubble(t, pairs(), func(t *testing.T, w *world) {
			for _, table := range []string{"_pico_instance", "_pico_peer_address"} {
				if err := w.cluster.Exec("revoke read on table " + table + ` from "public"`); err != nil {
					t.Fatal(err)
				}
			}
			hosts := []string{w.cluster.Node("i1").Addr(), w.cluster.Node("i3").Addr()}
			w.openAs("plain", hosts)
			if errs := w.read("select 100", 100); len(errs) > 0 {
				t.Fatal(errs[0])
			}
			if got := w.ran("select 100"); got["i1"] != 50 || got["i3"] != 50 {
				t.Errorf("the nodes of the DSN: %v", got)
			}
		})
	})
}

// Servers of every version that has pgproto, and two of them in one cluster.
func TestTopologyOfAllVersions(t *testing.T) {
	for _, version := range []string{"25.2", "25.5", "25.6", "26.1", "26.2"} {
		t.Run(version, func(t *testing.T) {
			cfg := pairs()
			cfg.Version = version
			bubble(t, cfg, func(t *testing.T, w *world) {
				w.open(nil)
				if errs := w.read("select 40", 40); len(errs) > 0 {
					t.Fatal(errs[0])
				}
				if got := w.ran("select 40"); len(got) != 4 || got["i1"] != 10 {
					t.Errorf("%v", got)
				}
				if l := w.leaders(); l["default_1"] != "i1" || l["default_2"] != "i3" {
					t.Errorf("%v", l)
				}
				if v := w.c.Topology().MinVersion(); !strings.HasPrefix(v.String(), version+".") {
					t.Errorf("version %s", v)
				}
				_, known := w.c.Buckets().Lookup("default", 1)
				if want := version != "25.2"; known != want && version != "25.5" {
					t.Errorf("buckets known: %v", known)
				}
				if s := w.c.Stats().Topology; s.Failures+s.BucketFailures > 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// allowed_networks: what discovery brings from outside is not dialled, the DSN's own hosts are.
func TestAllowedNetworks(t *testing.T) {
	bubble(t, threeNodes(), func(t *testing.T, w *world) {
		addresses := []string{"10.0.0.1:4327", "10.0.0.2:4327", "169.254.169.254:80"}
		for i, a := range addresses {
			n := w.cluster.Nodes()[i]
			w.route(a, n.Addr())
			n.Advertise(a)
		}
		w.route("192.168.7.7:4327", w.cluster.Node("i1").Addr())
		w.open([]string{"192.168.7.7:4327"}, options.WithAllowedNetworks(netip.MustParsePrefix("10.0.0.0/24")))
		if errs := w.read("select 100", 100); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		time.Sleep(time.Minute)
		if got := w.ran("select 100"); got["i1"] != 50 || got["i2"] != 50 {
			t.Errorf("%v", got)
		}
		if n := w.dialled("169.254.169.254:80"); n > 0 {
			t.Errorf("an address outside the networks was dialled %d times", n)
		}
	})
}

// The control connection's node stops following the cluster without knowing it: what it tells isn't believed.
func TestLaggingControlNode(t *testing.T) {
	cfg := pairs()
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.open(nil)
		if errs := w.read("select 1", 4); len(errs) > 0 {
			t.Fatal(errs)
		}
		control := w.cluster.Node(w.c.Topology().ReadFrom)
		switchAndWait := func(want string) {
			t.Helper()
			if err := w.cluster.SwitchLeader("default_2", want).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			for since := time.Now(); w.leaders()["default_2"] != want; time.Sleep(10 * time.Millisecond) {
				if time.Since(since) > time.Minute {
					t.Fatalf("%s leads for a minute, and the driver thinks %v", want, w.leaders())
				}
			}
		}
		switchAndWait("i4")
		control.LagCatalog(true) // from here on it knows of i4
		defer control.LagCatalog(false)
		w.cluster.Node(control.Name()).DropConnections() // the driver goes elsewhere
		time.Sleep(10 * time.Second)
		switchAndWait("i3")
		for range 60 {
			time.Sleep(time.Second)
			w.cluster.Node(w.c.Topology().ReadFrom).DropConnections() // and elsewhere again
			if l := w.leaders()["default_2"]; l != "i3" {
				t.Fatalf("%q leads, says the driver: it believes %s, which is cut off", l, control.Name())
			}
		}
	})
}

// A thousand instances in 250 replicasets, rows without sockets, beside four that live.
func TestThousandInstances(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 2},
		{Name: "big", Replicasets: 250, ReplicationFactor: 4, RowsOnly: true},
	}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		hosts := []string{w.cluster.Node("i1").Addr(), w.cluster.Node("i2").Addr(), w.cluster.Node("i3").Addr(), w.cluster.Node("i4").Addr()}
		w.open(hosts, options.WithForbiddenTiers("big"))
		if errs := w.read("select 40", 40); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		if got := w.ran("select 40"); len(got) != 4 || got["i4"] != 10 {
			t.Errorf("%v", got)
		}
		old := w.c.Topology()
		if len(old.Instances) != 1004 || len(old.Replicasets) != 252 || old.Skipped > 0 {
			t.Fatalf("%d instances, %d replicasets, %d rows skipped", len(old.Instances), len(old.Replicasets), old.Skipped)
		}
		before := w.c.Stats().Total.Dials // those for statements; the one that reads the topology may move
		if err := w.cluster.Expel("i1000"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * w.c.Config().TopologyUpdateInterval)
		events := metadata.Diff(old, w.c.Topology())
		if !slices.ContainsFunc(events, func(e metadata.Event) bool { return e.Kind == metadata.Left && e.Name == "i1000" }) || len(events) > 3 {
			t.Errorf("%+v", events)
		}
		if n := w.c.Stats().Total.Dials - before; n > 0 {
			t.Errorf("a change elsewhere made %d connections anew", n)
		}
	})
}
