package watch

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

func TestWatcherFrozenControlNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.do(func() { c.frozen["10.0.0.1:4327"] = true })
		c.switchLeader("rs-2", "i4")
		w.Hint(schema.HintConnectionLost)
		synctest.Wait()
		for range 1000 { // readers don't wait for the refresh that hangs
			w.Topology()
			w.Buckets()
			w.Stats()
		}
		if l, _ := w.Topology().Leader("rs-2"); l.Name != "i3" {
			t.Fatal("news from a frozen node")
		}
		time.Sleep(3*time.Second + 2*stagger) // the query's deadline, and perhaps the frozen node once more
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-2"); l.Name != "i4" || w.Topology().ReadFrom == "i1" {
			t.Errorf("leader %s, read from %s", l.Name, w.Topology().ReadFrom)
		}
		if w.Stats().Failures != 0 {
			t.Error("a refresh that another node answered counts as failed")
		}
	})
}

// Everything goes, and comes back with other addresses behind those of the DSN.
func TestWatcherTotalOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		c.at["seed.example:4327"] = "uuid-1"
		w, log := watch(t, c, fakeConfig("seed.example:4327"))
		start(t, w)
		for _, in := range slices.Clone(c.instances) {
			c.kill(in.Advertised)
		}
		c.kill("seed.example:4327")
		w.Hint(schema.HintConnectionLost)
		time.Sleep(30 * time.Second)
		if topo := w.Topology(); len(topo.Instances) != 4 {
			t.Errorf("the last snapshot isn't in force: %+v", topo)
		}
		if s := w.Stats(); s.Failures < 10 || s.LastError == "" || s.Age < 30*time.Second {
			t.Errorf("%+v", s)
		}
		c.do(func() {
			for i := range c.instances {
				c.instances[i].Advertised = strings.Replace(c.instances[i].Advertised, "10.0.0", "10.9.9", 1)
			}
		})
		c.revive("seed.example:4327")
		attempts := w.Stats().Failures
		for old := w.Topology().ReadAt; w.Topology().ReadAt.Equal(old); {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if n := w.Stats().Failures - attempts; n > 1 {
			t.Errorf("%d more failures before it worked again", n)
		}
		if in, _ := w.Topology().ByName("i3"); in.Address != "10.9.9.3:4327" {
			t.Errorf("%+v", in)
		}
		if len(log.lines("fresh again")) != 1 || len(log.lines("can't be refreshed")) != 1 {
			t.Error(log.lines("refresh"))
		}
	})
}

// A node that failed is tried last, for it may well take the next login and then fail again.
func TestWatcherTriesFailedNodeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(20) {
			c := newFakeCluster(2)
			w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327"), func(wc *Config) { wc.Rand = rand.New(rand.NewPCG(seed, 3)) })
			start(t, w)
			at := c.dials[0]
			c.do(func() { c.stuck[at] = true })
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := c.countExact(c.dials, at); n != 1 {
				t.Fatalf("seed %d: the node that failed was dialled again at once", seed)
			}
		}
	})
}

// A login that comes through when another has won is closed. (That none is left, watch checks.)
func TestWatcherClosesLosers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.slow["10.0.0.1:4327"], c.slow["10.0.0.2:4327"] = 300*time.Millisecond, 300*time.Millisecond
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327"))
		start(t, w)
		time.Sleep(time.Second)
		if len(c.dials) != 2 || c.openConns() != 1 {
			t.Errorf("%d dials, %d connections", len(c.dials), c.openConns())
		}
	})
}

func TestWatcherLeavesNodeThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.setState("i1", metadata.Offline)
		time.Sleep(20 * time.Second)
		if w.Topology().ReadFrom == "i1" {
			t.Error("an instance that is Offline is still asked")
		}
	})
}

// A node that is cut off tells of the past; its snapshot isn't taken.
func TestWatcherLaggingNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		past := &fakeView{slices.Clone(c.instances), slices.Clone(c.replicasets)}
		c.switchLeader("rs-2", "i4")
		w.Hint(schema.HintSwitchover)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		c.do(func() { c.views["uuid-1"] = past })
		for range 10 {
			time.Sleep(time.Second)
			w.Hint(schema.HintConnectionLost)
			synctest.Wait()
			if l, _ := w.Topology().Leader("rs-2"); l.Name != "i4" {
				t.Fatal("back to the old leader")
			}
		}
		if w.Stats().Stale == 0 || w.Topology().ReadFrom == "i1" {
			t.Errorf("%+v", w.Stats())
		}
		// All of them tell it, and go on: then it is true.
		c.do(func() { c.instances, c.replicasets, c.views = past.instances, past.replicasets, map[string]*fakeView{} })
		time.Sleep(setBack - time.Second)
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-2"); l.Name != "i4" {
			t.Error("nodes that lag behind are believed")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-2"); l.Name != "i3" {
			t.Error("a cluster that was set back isn't believed")
		}
	})
}

// A node that answers hint after hint with nothing new is left for another.
func TestWatcherAsksAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.do(func() { c.views["uuid-1"] = &fakeView{slices.Clone(c.instances), slices.Clone(c.replicasets)} })
		c.switchLeader("rs-1", "i2")
		for range 40 {
			w.Hint(schema.HintSwitchover)
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-1"); l.Name != "i2" {
			t.Error("the one node that knows nothing is asked for ever")
		}
	})
}

func TestWatcherFollowsSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, log := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.do(func() { c.replicasets[1].TargetMaster = "i4" })
		w.Hint(schema.HintSwitchover)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if r, _ := w.Topology().Replicaset("rs-2"); !r.Switching || r.LeaderUUID != "" {
			t.Fatalf("%+v", r)
		}
		c.switchLeader("rs-2", "i4")
		time.Sleep(300 * time.Millisecond) // no hint, and the interval is 5 s
		synctest.Wait()
		if l, ok := w.Topology().Leader("rs-2"); !ok || l.Name != "i4" {
			t.Error("the end of the switch isn't seen")
		}
		if len(log.lines("began to switch")) != 1 || len(log.lines("replicaset has a leader")) != 1 {
			t.Error(log.lines("replicaset"))
		}
		// A switch that takes for ever isn't polled for ever.
		c.do(func() { c.replicasets[1].TargetMaster = "i3" })
		w.Hint(schema.HintSwitchover)
		synctest.Wait()
		time.Sleep(2 * time.Minute)
		before := w.Stats().Refreshes
		time.Sleep(time.Minute)
		if n := w.Stats().Refreshes - before; n > 20 {
			t.Errorf("%d refreshes in a minute of switching", n)
		}
	})
}

// While statements wait for a leader that is known to be dead, which the cluster doesn't know yet, the next one is looked for
// four times a second by one small question each, for a minute; then less and less often.
func TestWatcherLooksForNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		var urgent atomic.Bool
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"), func(wc *Config) { wc.Urgent = urgent.Load })
		start(t, w)
		time.Sleep(time.Minute)
		urgent.Store(true) // the leader i3 refuses connections
		w.Hint(schema.HintConnectionLost)
		time.Sleep(time.Second)
		before, asked := w.Stats().Refreshes, c.count(" ")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		n := w.Stats().Refreshes - before
		if n < 100 || n > 150 {
			t.Errorf("%d looks in 30 s, want one each 250 ms", n)
		}
		if q := c.count(" ") - asked; q != int(n) {
			t.Errorf("%d questions in %d looks", q, n)
		}
		c.switchLeader("rs-2", "i4")
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		if l, ok := w.Topology().Leader("rs-2"); !ok || l.Name != "i4" {
			t.Error("the new leader isn't known after 300 ms")
		}
		time.Sleep(5 * time.Minute)
		before = w.Stats().Refreshes
		time.Sleep(time.Minute)
		if n := w.Stats().Refreshes - before; n > 20 {
			t.Errorf("%d looks a minute for a leader that doesn't come", n)
		}
	})
}

// A stop is seen from its first row to its last, though nobody hints: a state that isn't its target is looked at again at once.
func TestWatcherFollowsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.do(func() { c.instances[3].TargetState = metadata.Offline })
		w.Hint(schema.HintConnectionLost)
		time.Sleep(firstGap)
		synctest.Wait()
		if in, _ := w.Topology().ByName("i4"); in.TargetState != metadata.Offline {
			t.Fatalf("%+v", in)
		}
		c.do(func() { c.instances[3].State = metadata.Offline })
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		if in, _ := w.Topology().ByName("i4"); in.State != metadata.Offline {
			t.Error("the end of the stop isn't seen after 150 ms")
		}
		// One that takes long is looked at alone.
		c.do(func() { c.instances[1].TargetState = metadata.Offline })
		w.Hint(schema.HintConnectionLost)
		time.Sleep(lastGap)
		synctest.Wait()
		all := c.countExact(c.queries, "10.0.0.1:4327 "+queryInstances)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := c.countExact(c.queries, "10.0.0.1:4327 "+queryInstances) - all; n != 0 || c.count("AND i.raft_id IN (2)") < 3 {
			t.Errorf("all instances are read %d times because one is on its way, that one %d times", n, c.count("AND i.raft_id IN (2)"))
		}
	})
}

// A table that a statement doesn't know is looked for at once, however many other hints were in vain before.
func TestWatcherReadsMissingTableAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cfg := newFakeCluster(2), fakeConfig("10.0.0.1:4327")
		cfg.Routing = options.RoutingKeys
		w, _ := watch(t, c, cfg)
		start(t, w)
		for range 300 {
			w.Hint(schema.HintConnectionLost)
			time.Sleep(10 * time.Millisecond)
		}
		c.do(func() { c.tables = [][]any{{int64(1024), "t", `{"Global":null}`, formatABC, int64(1), true}} })
		w.Hint(schema.HintTables)
		time.Sleep(firstGap)
		synctest.Wait()
		if _, ok := w.Tables()["t"]; !ok {
			t.Error("the table isn't known")
		}
	})
}

// asked counts how often a source is asked for the first texts; its readings take a second.
type asked struct {
	Source
	first int
}

func (a *asked) First() []string { a.first++; return a.Source.First() }

func (a *asked) Read(ctx context.Context, q Querier, from Target, have *Reading) (*Reading, error) {
	time.Sleep(time.Second)
	return a.Source.Read(ctx, q, from, have)
}

// A source is the loop's alone: an attempt to connect that lost, and comes to its end while the winner's connection is read,
// asks it for nothing.
func TestLostAttemptsLeaveTheSourceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		o := fakeConfig("10.0.0.1:4327", "10.0.0.2:4327")
		source := &asked{Source: NewSQL(SQLConfig{Config: o})}
		var dials atomic.Int32
		w, _ := watch(t, c, o, func(wc *Config) {
			wc.Source = source
			wc.Dial = func(ctx context.Context, to Target) (Conn, error) {
				if dials.Add(1) == 1 { // comes to its end while the second attempt's connection is read
					time.Sleep(500 * time.Millisecond)
				}
				return c.Dial(ctx, to)
			}
		})
		start(t, w)
		if dials.Load() != 2 {
			t.Errorf("%d attempts", dials.Load())
		}
		if source.first != 1 {
			t.Errorf("the first texts were asked for %d times", source.first)
		}
	})
}
