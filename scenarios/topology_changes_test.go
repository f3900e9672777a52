package scenarios_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/picotest"
)

// OnTopologyChange hears of every change once, in order, with the snapshot in force.
func TestOnTopologyChange(t *testing.T) {
	bubble(t, pairs(), func(t *testing.T, w *world) {
		w.open(nil)
		var (
			mu    sync.Mutex
			heard []*metadata.Topology
		)
		w.c.OnTopologyChange(func(topo *metadata.Topology) {
			if w.c.Topology() != topo {
				t.Error("told of another snapshot than the one in force")
			}
			mu.Lock()
			heard = append(heard, topo)
			mu.Unlock()
		})
		if errs := w.read("select 1", 1); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		// what tells the kinds of changes since the last call, by instance.
		last := 0
		what := func() (kinds []string) {
			time.Sleep(3 * w.c.Config().TopologyUpdateInterval)
			mu.Lock()
			defer mu.Unlock()
			for ; last < len(heard); last++ {
				var old *metadata.Topology
				if last > 0 {
					old = heard[last-1]
					if heard[last].Version != old.Version+1 {
						t.Errorf("version %d after %d", heard[last].Version, old.Version)
					}
				}
				for _, e := range metadata.Diff(old, heard[last]) {
					kinds = append(kinds, e.Kind.String()+" "+e.Name)
				}
			}
			return kinds
		}
		for _, name := range []string{"i1", "i2", "i3", "i4"} {
			if first := what(); name == "i1" && !slices.Contains(first, metadata.Joined.String()+" "+name) {
				t.Errorf("at first: %q", first)
			}
		}
		if quiet := what(); len(quiet) > 0 {
			t.Errorf("nothing has changed, and told was %q", quiet)
		}
		added := w.cluster.AddInstance("default_1")
		if got := what(); !slices.Contains(got, metadata.Joined.String()+" "+added.Name()) {
			t.Errorf("an instance was added: %q", got)
		}
		if err := w.cluster.SwitchLeader("default_2", "i4").Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := what(); !slices.Contains(got, metadata.RoleChanged.String()+" i4") || !slices.Contains(got, metadata.RoleChanged.String()+" i3") {
			t.Errorf("the leader changed: %q", got)
		}
		if err := w.cluster.Expel(added.Name()); err != nil {
			t.Fatal(err)
		}
		if got := what(); !slices.Contains(got, metadata.Left.String()+" "+added.Name()) {
			t.Errorf("an instance was expelled: %q", got)
		}
		w.c.OnTopologyChange(nil)
		w.cluster.AddInstance("default_1")
		if got := what(); len(got) > 0 {
			t.Errorf("told after the end: %q", got)
		}
	})
}

// Whatever happens to a cluster, in any order: once it is quiet the driver's picture of it is the cluster's own,
// every node of the set serves, and rows go to their owner without a hop.
func TestPictureComesRight(t *testing.T) {
	runs, steps := 8, 20
	if testing.Short() {
		runs, steps = 2, 12
	}
	for range runs {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 3}}}, func(t *testing.T, w *world) {
				disturb(t, w, rand.New(rand.NewPCG(seed, 0)), steps)
			})
		})
	}
}

func disturb(t *testing.T, w *world, random *rand.Rand, steps int) {
	w.open(nil)
	w.must("create table t (id int primary key)")
	w.must("insert into t values ($1)", -1)
	stop := w.work(4, 20*time.Millisecond, func() {
		var n int
		_ = w.QueryRowContext(t.Context(), "select 5").Scan(&n) // may fail: everything may be down
	})
	defer stop()
	c := w.cluster
	grown := 0
	for range steps {
		nodes := c.Nodes()
		n := nodes[random.IntN(len(nodes))]
		switch random.IntN(10) {
		case 0:
			if replicas := c.Replicas(n.Replicaset()); len(replicas) > 0 {
				c.SwitchLeader(n.Replicaset(), replicas[random.IntN(len(replicas))].Name())
			}
		case 1:
			if grown++; grown <= 3 {
				c.AddInstance(n.Replicaset())
			}
		case 2:
			if grown++; grown <= 3 {
				c.AddReplicaset("default", 2)
				c.Rebalance("default")
			}
		case 3:
			n.Freeze()
			time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
			n.Thaw()
		case 4:
			n.Refuse()
			n.ResetConnections()
		case 5:
			n.Accept()
		case 6:
			n.DropConnections()
		case 7:
			if !n.IsLeader() {
				stopped := n.Stop()
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				<-stopped
				<-n.Start()
			}
		case 8: // a leader's successor is there after half a minute, or not before it is back
			n.Kill()
			time.Sleep(time.Duration(random.IntN(60)) * time.Second)
			<-n.Start()
		case 9:
			from, to := uint64(1+random.IntN(2000)), c.Replicasets()
			c.MoveBuckets("default", from, from+uint64(random.IntN(900)), to[random.IntN(len(to))])
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	}
	for _, n := range c.Nodes() {
		n.Accept()
	}
	time.Sleep(10 * time.Second)
	stop()
	// Buckets that move without a trace in instances and replicasets are seen after the slow floor interval.
	time.Sleep(6 * time.Minute)
	w.samePicture(t)
	c.ResetCounters()
	for i := range 100 {
		w.must("insert into t values ($1)", i)
	}
	if hops := c.Counters().Hops; hops > 0 {
		t.Errorf("%d hops of 100 inserts: %v", hops, w.c.Stats().Routing)
	}
	for range 5 * len(c.Nodes()) {
		if errs := w.read("select 6", 1); len(errs) > 0 {
			t.Error(errs[0])
		}
	}
	if got := w.ran("select 6"); len(got) != len(c.Nodes()) {
		t.Errorf("of %d nodes only %v serve", len(c.Nodes()), got)
	}
}
