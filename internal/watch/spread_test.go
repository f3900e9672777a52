package watch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/metadata"
)

// fleet makes clients of one cluster, all with the first node in their DSN, and starts them.
func fleet(t *testing.T, c *fakeCluster, n int) (clients []*Watcher) {
	t.Cleanup(func() {
		for _, w := range clients {
			w.Close()
		}
		synctest.Wait()
		if n := c.openConns(); n != 0 {
			t.Errorf("%d control connections are left", n)
		}
	})
	for i := range n {
		clients = append(clients, New(Config{Config: fakeConfig("10.0.0.1:4327"), Dial: c.Dial, Rand: rand.New(rand.NewPCG(uint64(i), 7))}))
	}
	for _, w := range clients {
		start(t, w)
	}
	return clients
}

// perNode is how many connections each node holds.
func (c *fakeCluster) perNode() map[string]int {
	found := map[string]int{}
	c.do(func() {
		for conn := range c.conns {
			found[conn.address]++
		}
	})
	return found
}

// Clients whose DSN names one and the same node spread over all; those of a node that leaves find another, and a node
// that joins gets its share, within a minute, and nobody else moves.
func TestClientsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, nodes = 100, 10
		c := newFakeCluster(nodes)
		all := fleet(t, c, clients)
		if n := c.perNode()["10.0.0.1:4327"]; n != clients {
			t.Fatalf("%d of %d begin at the DSN's node", n, clients)
		}
		even := func(when string, nodes int) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			found := c.perNode()
			if len(found) != nodes {
				t.Errorf("%s: %d of %d nodes serve anybody: %v", when, len(found), nodes, found)
			}
			sum := 0
			for address, n := range found {
				sum += n
				if share := clients / nodes; n > 2*share+2 {
					t.Errorf("%s: %s serves %d of %d clients", when, address, n, clients)
				}
			}
			if sum != clients {
				t.Errorf("%s: %d connections of %d clients", when, sum, clients)
			}
		}
		even("after the start", nodes)

		before := c.perNode()
		dials := len(c.dials)
		c.setState("i3", metadata.Offline)
		c.kill("10.0.0.3:4327")
		even("without i3", nodes-1)
		for address, n := range c.perNode() {
			if n < before[address] {
				t.Errorf("%s lost clients though i3 left", address)
			}
		}
		if n := len(c.dials) - dials; n > 2*before["10.0.0.3:4327"] {
			t.Errorf("%d dials for %d clients of i3", n, before["10.0.0.3:4327"])
		}

		c.revive("10.0.0.3:4327")
		c.setState("i3", metadata.Online)
		dials = len(c.dials)
		time.Sleep(3 * time.Minute) // i3 was in trouble: for a while nobody comes back to it
		even("with i3 again", nodes)
		if n := len(c.dials) - dials; n > 2*before["10.0.0.3:4327"]+2 {
			t.Errorf("%d dials though only i3 came back", n)
		}
		for _, w := range all {
			if s := w.Stats(); s.Failures != 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A move that fails costs nothing: the old connection goes on.
func TestMoveToDeafNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		for i := 2; i <= 4; i++ {
			c.hole[fmt.Sprintf("10.0.0.%d:4327", i)] = true
		}
		all := fleet(t, c, 8)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for _, w := range all {
			if s := w.Stats(); s.Failures != 0 || s.ReadFrom != "i1" || s.Age > 30*time.Second {
				t.Errorf("%+v", s)
			}
		}
		if n := len(c.dials); n > 8*8 {
			t.Errorf("%d dials in five minutes", n)
		}
	})
}

// Many clients that wait for a cluster to come back don't come back together.
func TestReturnIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		c := newFakeCluster(4)
		fleet(t, c, clients)
		time.Sleep(2 * time.Minute)
		for _, in := range c.instances {
			c.kill(in.Advertised)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, in := range c.instances {
			c.revive(in.Advertised)
		}
		most, last := 0, c.openConns()
		for range 40 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			now := c.openConns()
			most, last = max(most, now-last), now
		}
		if last != clients {
			t.Errorf("%d of %d clients are back", last, clients)
		}
		if most > clients/6 {
			t.Errorf("%d of %d clients came within 100 ms", most, clients)
		}
	})
}

// A quiet cluster is asked one small question at a time; whatever may happen to it changes the answer.
func TestMarkShowsChanges(t *testing.T) {
	c := newFakeCluster(4)
	c.tables = [][]any{{int64(1024), "t", `{"Global":null}`, formatABC, int64(1), true}}
	conn, err := c.Dial(t.Context(), Target{Address: "10.0.0.1:4327"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSQL(SQLConfig{Tables: func(*metadata.Topology) bool { return true }})
	have, err := s.Read(t.Context(), conn, Target{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func() *Reading {
		r, err := s.Read(context.Background(), conn, Target{}, have)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	asked := len(c.queries)
	if r := read(); !r.Topology.Equal(have.Topology) || len(c.queries) != asked+1 {
		t.Errorf("%q", c.queries[asked:])
	}
	for name, change := range map[string]func(){
		"an instance is told to stop": func() { c.instances[1].TargetState = metadata.Offline },
		"an instance was restarted":   func() { c.instances[1].Incarnation++ },
		"another leader shall come":   func() { c.replicasets[0].TargetMaster = "i2" },
		"another leader came":         func() { c.replicasets[1].CurrentMaster, c.replicasets[1].TargetMaster = "i4", "i4" },
		"a replicaset is configured":  func() { c.replicasets[1].ConfigVersion++; c.replicasets[1].Weight = 2 },
		"an instance has another name": func() {
			c.instances = append(c.instances, c.instances[0])
			c.instances[4].UUID, c.instances[4].Name = "uuid-9", "i9"
		},
	} {
		change()
		if r := read(); r.Topology.Equal(have.Topology) && r.mark == have.mark {
			t.Errorf("%s: not seen", name)
		} else {
			have = r
		}
	}
	before := have
	c.tables[0][4] = int64(2)
	if r := read(); r.SameTables(before) || !r.Topology.Equal(before.Topology) {
		t.Error("a table that was altered isn't seen, or taken for a change of the topology")
	}
}

// On a server that doesn't know the columns, states are compared; on one that understands nothing of it, all is read.
func TestMarkOfOldServers(t *testing.T) {
	for refused, queries := range map[string]int{"sync_incarnation": 2, " AS part": 3} {
		c := newFakeCluster(4)
		conn, _ := c.Dial(t.Context(), Target{Address: "10.0.0.1:4327"})
		c.refused = refused
		s := NewSQL(SQLConfig{})
		have, err := s.Read(t.Context(), conn, Target{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := len(c.queries)
		again, err := s.Read(t.Context(), conn, Target{}, have)
		if err != nil || len(c.queries)-asked != queries {
			t.Errorf("%s is refused: %v, %q", refused, err, c.queries[asked:])
		}
		c.instances[2].State = metadata.Offline
		if r, err := s.Read(t.Context(), conn, Target{}, again); err != nil || r.Topology.Equal(again.Topology) {
			t.Errorf("%s is refused: a change isn't seen, %v", refused, err)
		}
	}
}

// All that there is is read again now and then, less often the longer that brings nothing new.
func TestWholeReadingsAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		time.Sleep(2 * time.Hour)
		if n := c.count(queryInstances); n < 1+5 || n > 1+7 {
			t.Errorf("read %d times in two quiet hours, want after 5, 10, 20 minutes and then each 30", n)
		}
		// Something that no mark shows ends that.
		c.do(func() { c.instances[1].Version = "26.3.1" })
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		if in, _ := w.Topology().ByName("i2"); in.Version != "26.3.1" {
			t.Error("not seen after half an hour")
		}
	})
}
