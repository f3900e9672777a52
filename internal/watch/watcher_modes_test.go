package watch

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// included are the names of the nodes that the policy lets in.
func included(cfg *options.Config, topo *metadata.Topology) (names []string) {
	for _, v := range metadata.Select(cfg, topo) {
		if v.Excluded == metadata.Included {
			names = append(names, v.Name())
		}
	}
	slices.Sort(names)
	return names
}

// The DSN says localhost, the cluster something else: who is who is asked of the servers.
func TestWatcherBootstrapByIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		c.at["localhost:14301"], c.at["node-two:4327"], c.at["node-three:4327"] = "uuid-1", "uuid-2", "uuid-3"
		c.hole["node-three:4327"] = true
		cfg := fakeConfig("localhost:14301", "node-two:4327", "node-three:4327")
		cfg.Mode = options.Bootstrap
		w, log := watch(t, c, cfg)
		began := time.Now()
		c.do(func() { c.slow["localhost:14301"], c.slow["node-two:4327"] = 10*time.Millisecond, 20*time.Millisecond })
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 2*stagger+30*time.Millisecond {
			t.Errorf("the black hole cost %v", d)
		}
		if got := included(cfg, w.Topology()); !slices.Equal(got, []string{"i1", "i2"}) {
			t.Errorf("%v", got)
		}
		for _, v := range metadata.Select(cfg, w.Topology()) {
			if v.Name() == "i2" && v.Address != "node-two:4327" {
				t.Errorf("i2 is dialled at %s", v.Address)
			}
		}
		c.do(func() { delete(c.hole, "node-three:4327") })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := included(cfg, w.Topology()); !slices.Equal(got, []string{"i1", "i2", "i3"}) {
			t.Errorf("%v, but node-three is back", got)
		}
		// The control connection's node dies: another one of the DSN takes over.
		var at string
		c.do(func() {
			for conn := range c.conns {
				at = conn.address
				conn.breakNow()
			}
		})
		c.do(func() { c.down[at] = true })
		time.Sleep(2 * time.Minute)
		c.revive(at)
		time.Sleep(2 * time.Minute)
		settled := len(c.dials)
		time.Sleep(10 * time.Minute)
		if n := len(c.dials) - settled; n > 0 {
			t.Errorf("%d more logins once everybody is known", n)
		}
		for _, a := range c.dials {
			if a[:3] == "10." {
				t.Errorf("%s isn't a node of the DSN", a)
			}
		}
		if len(log.lines("node of the DSN identified")) == 0 {
			t.Error("nothing in the log")
		}
		// Another instance takes the place of i2.
		c.do(func() {
			c.at["node-two:4327"] = "uuid-4"
			for conn := range c.conns {
				if conn.address == "node-two:4327" {
					conn.breakNow()
				}
			}
		})
		c.setState("i2", metadata.Expelled)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := included(cfg, w.Topology()); !slices.Equal(got, []string{"i1", "i3", "i4"}) {
			t.Errorf("%v, but i4 took the place of i2", got)
		}
	})
}

func TestWatcherTopologyOff(t *testing.T) {
	for _, mode := range []options.Mode{options.Discovery, options.Bootstrap} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(4)
			c.down["10.0.0.2:4327"] = true
			cfg := fakeConfig("10.0.0.1:4327", "10.0.0.2:4327")
			cfg.Mode, cfg.Topology = mode, false
			w, _ := watch(t, c, cfg)
			start(t, w)
			want := []string{"i1", "i2", "i3", "i4"}
			if mode == options.Bootstrap {
				want = []string{"10.0.0.2:4327", "i1"} // nobody could be asked there, it is used all the same
			}
			if got := included(cfg, w.Topology()); !slices.Equal(got, want) {
				t.Errorf("mode %v: %v, want %v", mode, got, want)
			}
			if n := c.openConns(); n != 0 {
				t.Errorf("mode %v: %d control connections", mode, n)
			}
			queries, version := len(c.queries), w.Topology().Version
			c.switchLeader("rs-1", "i2")
			w.Hint(schema.HintSwitchover)
			time.Sleep(time.Hour)
			if len(c.queries) != queries || w.Topology().Version != version {
				t.Errorf("mode %v: the list isn't fixed", mode)
			}
		})
	}
}

// A plain user sees instances only: they are used, roles are unknown, the GRANT is told once.
func TestWatcherWithoutRightOnReplicasets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		c.denied["_pico_replicaset"], c.denied["_pico_tier"] = true, true
		cfg := fakeConfig("10.0.0.1:4327")
		w, log := watch(t, c, cfg)
		start(t, w)
		for range 10 {
			c.setState("i4", metadata.Offline)
			time.Sleep(30 * time.Second)
			c.setState("i4", metadata.Online)
			time.Sleep(30 * time.Second)
		}
		synctest.Wait()
		if got := included(cfg, w.Topology()); len(got) != 4 || w.Topology().RolesKnown {
			t.Errorf("%v", got)
		}
		want := []string{"GRANT READ ON TABLE _pico_replicaset TO plain", "GRANT READ ON TABLE _pico_tier TO plain"}
		if got := w.Stats().DegradedGrants; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for _, g := range want {
			if n := len(log.lines(g)); n != 1 {
				t.Errorf("%q is told %d times", g, n)
			}
		}
		if w.Stats().Failures != 0 {
			t.Error("a right that is missing counts as a failure")
		}
		leaders := *cfg
		leaders.InstanceRole = options.RoleLeader
		for _, v := range metadata.Select(&leaders, w.Topology()) {
			if v.Excluded != metadata.RoleNotKnown {
				t.Errorf("%+v", v)
			}
		}
		c.do(func() { clear(c.denied) })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !w.Topology().RolesKnown || len(w.Stats().DegradedGrants) != 0 {
			t.Error("the right that was given isn't used")
		}
		// And taken away again in mid-flight.
		c.do(func() { c.denied["_pico_replicaset"] = true })
		time.Sleep(25 * time.Second) // the longest interval
		synctest.Wait()
		if topo := w.Topology(); topo.RolesKnown || len(included(cfg, topo)) != 4 {
			t.Errorf("%+v", topo)
		}
		if len(log.lines("rights on system tables changed")) != 2 {
			t.Error(log.lines("rights"))
		}
	})
}

// Who may read nothing at all gets the nodes of the DSN.
func TestWatcherWithoutAnyRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		for _, table := range []string{"_pico_instance", "_pico_peer_address", "_pico_replicaset", "_pico_tier"} {
			c.denied[table] = true
		}
		cfg := fakeConfig("10.0.0.1:4327", "10.0.0.3:4327")
		w, log := watch(t, c, cfg)
		start(t, w)
		time.Sleep(30 * time.Second)
		if got := included(cfg, w.Topology()); !slices.Equal(got, []string{"10.0.0.1:4327", "10.0.0.3:4327"}) || !w.Topology().Static {
			t.Errorf("%v", got)
		}
		if n := len(c.queries); n > 4 {
			t.Errorf("%d queries of somebody who may not ask", n)
		}
		if n := len(log.lines("GRANT READ ON TABLE")); n != 1 {
			t.Errorf("told %d times", n)
		}
		c.do(func() { clear(c.denied) })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := included(cfg, w.Topology()); len(got) != 4 {
			t.Errorf("%v after the GRANT", got)
		}
		// Losing it again costs nobody a node that is known.
		c.do(func() { c.denied["_pico_instance"] = true })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := included(cfg, w.Topology()); len(got) != 4 || len(w.Stats().DegradedGrants) != 1 {
			t.Errorf("%v, %q", got, w.Stats().DegradedGrants)
		}
	})
}

func TestWatcherWarnsOfHangingReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cfg := newFakeCluster(4), fakeConfig("10.0.0.1:4327")
		cfg.ReadPreference = options.ReadPreferenceReplica
		w, log := watch(t, c, cfg)
		start(t, w)
		if s := w.Stats(); len(s.WithoutReplica) != 0 {
			t.Errorf("%q", s.WithoutReplica)
		}
		c.setState("i4", metadata.Offline)
		time.Sleep(time.Minute)
		if s := w.Stats(); !slices.Equal(s.WithoutReplica, []string{"default_2"}) {
			t.Errorf("%q", s.WithoutReplica)
		}
		if n := len(log.lines("prefer read_preference=any")); n != 1 {
			t.Errorf("told %d times of one change", n)
		}
		c.setState("i4", metadata.Online)
		time.Sleep(time.Minute)
		c.setState("i4", metadata.Offline)
		time.Sleep(time.Minute)
		if n := len(log.lines("prefer read_preference=any")); n != 2 {
			t.Errorf("told %d times of two changes", n)
		}
	})
}

// Bad rows are counted at each reading and told of once.
func TestWatcherBadRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		c.instances[1].Advertised = "::1:4327"
		w, log := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		time.Sleep(time.Minute)
		if s := w.Stats(); s.SkippedRows != 1 {
			t.Errorf("%d", s.SkippedRows)
		}
		if n := len(log.lines("can't be used")); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestWatcherUnspecifiedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.instances[0].Advertised, c.instances[1].Advertised = "0.0.0.0:4327", "[::]:4328"
		c.at["seed.example:4327"] = "uuid-1"
		w, _ := watch(t, c, fakeConfig("seed.example:4327"))
		start(t, w)
		for name, want := range map[string]string{"i1": "seed.example:4327", "i2": "seed.example:4328"} {
			if in, _ := w.Topology().ByName(name); in.Address != want {
				t.Errorf("%s is dialled at %s", name, in.Address)
			}
		}
		time.Sleep(time.Minute)
		for _, a := range c.dials {
			if a != "seed.example:4327" && a != "seed.example:4328" {
				t.Errorf("dialled %s", a)
			}
		}
	})
}

// The DSN's address works, the advertised one does or doesn't: whichever it is, statements go
// where somebody answers, from the first one on.
func TestWatcherFindsOwnAddress(t *testing.T) {
	addressOf := func(topo *metadata.Topology, name string) string {
		for _, v := range metadata.Select(&options.Config{Topology: true}, topo) {
			if v.Name() == name && v.Excluded == metadata.Included {
				return v.Address
			}
		}
		return ""
	}
	for name, c := range map[string]struct {
		prepare func(c *fakeCluster)
		want    string // the address of i1
		took    time.Duration
		lost    bool
	}{
		"reachable":          {func(*fakeCluster) {}, "10.0.0.1:4327", 0, false},
		"refused":            {func(c *fakeCluster) { c.down["10.0.0.1:4327"] = true }, "seed.example:4327", 0, true},
		"black hole":         {func(c *fakeCluster) { c.hole["10.0.0.1:4327"] = true }, "seed.example:4327", firstGrace, true},
		"another's":          {func(c *fakeCluster) { c.at["10.0.0.1:4327"] = "uuid-2" }, "seed.example:4327", 0, false},
		"slow, but it works": {func(c *fakeCluster) { c.slow["10.0.0.1:4327"] = 100 * time.Millisecond }, "10.0.0.1:4327", 100 * time.Millisecond, false},
	} {
		for _, topology := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster := newFakeCluster(2)
					cluster.at["seed.example:4327"] = "uuid-1"
					c.prepare(cluster)
					cfg := fakeConfig("seed.example:4327")
					cfg.Topology = topology
					var heard []string
					w, log := watch(t, cluster, cfg, func(wc *Config) {
						wc.OnTopology = func(_, new *metadata.Topology) { heard = append(heard, addressOf(new, "i1")) }
					})
					began := time.Now()
					if err := w.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took != c.took {
						t.Errorf("the first snapshot took %v, want %v", took, c.took)
					}
					if !slices.Equal(heard, []string{c.want}) {
						t.Errorf("dialled at %q, want %q alone", heard, c.want)
					}
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					if n := len(log.lines("nobody answers at the address")); c.lost && topology && n != 1 || !c.lost && n != 0 {
						t.Errorf("told %d times", n)
					}
					if s := w.Stats(); topology && (len(s.Unreachable) == 1) != c.lost {
						t.Errorf("%q", s.Unreachable)
					}
					if n := cluster.countExact(cluster.dials, "10.0.0.1:4327"); n > 20 {
						t.Errorf("%d dials of an address where nobody answers in 10 minutes", n)
					}
				})
			})
		}
	}
	// An address that begins to work is found.
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.at["seed.example:4327"] = "uuid-1"
		c.hole["10.0.0.1:4327"] = true
		w, _ := watch(t, c, fakeConfig("seed.example:4327"))
		start(t, w)
		c.do(func() { delete(c.hole, "10.0.0.1:4327") })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if a := addressOf(w.Topology(), "i1"); a != "10.0.0.1:4327" {
			t.Errorf("still dialled at %s", a)
		}
		if s := w.Stats(); len(s.Unreachable) != 0 {
			t.Errorf("%q", s.Unreachable)
		}
	})
}

func TestNodeErrorUnwraps(t *testing.T) {
	err := &metadata.NodeError{Node: "h:1", Err: errRefused}
	if !errors.Is(err, errRefused) || err.Error() != "picodata: node h:1: connection refused" {
		t.Error(err)
	}
}
