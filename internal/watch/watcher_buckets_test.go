package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

func TestWatcherAsksForBucketsRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		c.tiers = append(c.tiers, metadata.Tier{Name: "arbiter", BucketsKnown: true})
		c.instances = append(c.instances, metadata.Instance{UUID: "arb", Name: "a1", RaftID: 9, ReplicasetUUID: "rs-a", ReplicasetName: "arbiter_1", Tier: "arbiter",
			State: metadata.Online, TargetState: metadata.Online, Version: "26.2.1", Advertised: "10.0.0.9:4327"})
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"), func(wc *Config) { wc.BucketFloor = time.Hour })
		start(t, w)
		time.Sleep(10 * time.Minute)
		if n := c.count("_pico_bucket('default')"); n != 1 {
			t.Errorf("asked %d times in 10 minutes without a change", n)
		}
		// Neither a leader's switch nor a restart moves buckets.
		c.switchLeader("rs-1", "i2")
		c.setState("i3", metadata.Offline)
		time.Sleep(time.Minute)
		c.setState("i3", metadata.Online)
		time.Sleep(time.Minute)
		if n := c.count("_pico_bucket('default')"); n != 1 {
			t.Errorf("asked %d times after a switch and a restart", n)
		}
		// A new replicaset does, for a while.
		c.do(func() {
			for i, name := range []string{"i5", "i6"} {
				c.instances = append(c.instances, metadata.Instance{UUID: "uuid-" + name, Name: name, RaftID: uint64(20 + i), ReplicasetUUID: "rs-3", ReplicasetName: "default_3",
					Tier: "default", State: metadata.Online, TargetState: metadata.Online, Version: "26.2.1", Advertised: fmt.Sprintf("10.0.0.%d:4327", 20+i), Incarnation: 1})
			}
			c.replicasets = append(c.replicasets, metadata.Replicaset{UUID: "rs-3", Name: "default_3", Tier: "default", State: "ready", CurrentMaster: "i5", TargetMaster: "i5", ConfigVersion: 1})
		})
		time.Sleep(25 * time.Second) // the longest interval
		if n := c.count("_pico_bucket('default')"); n < 2 {
			t.Error("a new replicaset isn't reason enough to ask")
		}
		c.do(func() { c.spreadBuckets() }) // the move itself shows in no system table
		time.Sleep(45 * time.Second)
		synctest.Wait()
		if rs, ok := w.Buckets().Lookup("default", 3000); !ok || rs != "rs-3" {
			t.Errorf("bucket 3000 is at %s", rs)
		}
		time.Sleep(10 * time.Minute)
		settled := c.count("_pico_bucket('default')")
		if settled > 12 {
			t.Errorf("asked %d times after one change", settled)
		}
		time.Sleep(10 * time.Minute)
		if n := c.count("_pico_bucket('default')"); n != settled {
			t.Error("still asking")
		}
		time.Sleep(time.Hour)
		if n := c.count("_pico_bucket('default')"); n != settled+1 {
			t.Errorf("%d questions in an hour, want the one of the floor", n-settled)
		}
		if n := c.count("_pico_bucket('arbiter')"); n != 0 {
			t.Errorf("a tier without buckets was asked about %d times", n)
		}
		if n := c.busiest(); n != 1 {
			t.Errorf("%d queries at a time", n)
		}
	})
}

func TestWatcherBucketsOnEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		time.Sleep(time.Second)
		c.do(func() {
			c.buckets["default"] = strings.ReplaceAll(c.buckets["default"], `"current_replicaset_uuid":"rs-1"`, `"current_replicaset_uuid":"rs-2"`)
		})
		w.Hint(schema.HintBuckets)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if rs, ok := w.Buckets().Lookup("default", 1); !ok || rs != "rs-2" {
			t.Errorf("bucket 1 is at %q", rs)
		}
		// Evidence that comes right after a reading counts at a later refresh.
		time.Sleep(4 * time.Minute)
		w.Hint(schema.HintBuckets)
		time.Sleep(100 * time.Millisecond)
		c.do(func() { c.buckets["default"] = strings.ReplaceAll(c.buckets["default"], "rs-2", "rs-1") })
		w.Hint(schema.HintBuckets)
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if rs, ok := w.Buckets().Lookup("default", 1); !ok || rs != "rs-1" {
			t.Errorf("bucket 1 is at %q", rs)
		}
		// Evidence in vain, again and again: asked less and less.
		before := c.count("_pico_bucket")
		for range 600 {
			w.Hint(schema.HintBuckets)
			time.Sleep(100 * time.Millisecond)
		}
		if n := c.count("_pico_bucket") - before; n < 3 || n > 14 {
			t.Errorf("asked %d times in a minute of evidence", n)
		}
	})
}

// A server that can't answer keeps the map that is; half a map is never taken.
func TestWatcherKeepsBucketsThroughErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, log := watch(t, c, fakeConfig("10.0.0.1:4327"), func(wc *Config) { wc.BucketFloor = 30 * time.Second })
		start(t, w)
		whole := c.buckets["default"]
		for _, broken := range []string{`[]`, `{`, `[{"bucket_id_start":1}]`} {
			c.do(func() { c.buckets["default"] = broken })
			time.Sleep(2 * time.Minute)
			if rs, ok := w.Buckets().Lookup("default", 3000); !ok || rs != "rs-2" {
				t.Errorf("%s: bucket 3000 is at %q", broken, rs)
			}
		}
		if s := w.Stats(); s.BucketFailures == 0 || s.Failures != 0 {
			t.Errorf("%+v", s)
		}
		if n := len(log.lines("bucket map can't be read")); n != 1 {
			t.Errorf("logged %d times", n)
		}
		// Gaps are known for what they are.
		c.do(func() {
			c.buckets["default"] = strings.Replace(whole, `"bucket_id_end":1500`, `"bucket_id_end":1400`, 1)
		})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, ok := w.Buckets().Lookup("default", 1450); ok {
			t.Error("a bucket that nobody has")
		}
		if rs, ok := w.Buckets().Lookup("default", 1501); !ok || rs != "rs-2" {
			t.Errorf("bucket 1501 is at %q", rs)
		}
		if b := w.Stats().Buckets; len(b) != 1 || b[0].Missing != 100 {
			t.Errorf("%+v", b)
		}
		if n := len(log.lines("missing=100")); n != 1 {
			t.Errorf("the gap is logged %d times", n)
		}
	})
}

// Without the right to read _pico_tier a tier without buckets is found out by asking, once.
func TestWatcherBucketsWithoutTiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.denied["_pico_tier"] = true
		c.instances = append(c.instances, metadata.Instance{UUID: "arb", Name: "a1", RaftID: 9, ReplicasetUUID: "rs-a", ReplicasetName: "arbiter_1", Tier: "arbiter",
			State: metadata.Online, TargetState: metadata.Online, Version: "26.2.1", Advertised: "10.0.0.9:4327"})
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"), func(wc *Config) { wc.BucketFloor = time.Hour })
		start(t, w)
		time.Sleep(30 * time.Minute)
		if n := c.count("_pico_bucket('arbiter')"); n != 1 {
			t.Errorf("asked %d times about a tier without buckets", n)
		}
		for range 10 {
			w.Hint(schema.HintBuckets)
			time.Sleep(10 * time.Second)
		}
		if n := c.count("_pico_bucket('arbiter')"); n != 1 {
			t.Errorf("asked %d times on evidence about other tiers", n)
		}
		if n, ok := w.Buckets().Count("default"); !ok || n != 3000 {
			t.Errorf("%d buckets", n)
		}
		if w.Stats().BucketFailures != 0 {
			t.Error("a tier without buckets counts as a failure")
		}
	})
}

func TestWatcherBucketsWhenNobodyNeedsThem(t *testing.T) {
	for name, prepare := range map[string]func(c *fakeCluster, cfg *options.Config){
		"routing is off":        func(_ *fakeCluster, cfg *options.Config) { cfg.Routing = options.RoutingOff },
		"leaders are not known": func(c *fakeCluster, _ *options.Config) { c.denied["_pico_replicaset"] = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, cfg := newFakeCluster(4), fakeConfig("10.0.0.1:4327")
				prepare(c, cfg)
				w, _ := watch(t, c, cfg)
				start(t, w)
				time.Sleep(10 * time.Minute)
				if n := c.count("_pico_bucket"); n != 0 {
					t.Errorf("asked %d times", n)
				}
				w.Hint(schema.HintBuckets) // a hint in somebody's context names a bucket
				synctest.Wait()
				if _, ok := w.Buckets().Lookup("default", 1); !ok {
					t.Error("not even on demand")
				}
			})
		})
	}
}

// A server that is slow with its buckets doesn't hold up the first statement for long.
func TestWatcherStartsWithoutBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.stuckBuckets = true
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327"))
		began := time.Now()
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > firstGrace {
			t.Errorf("Start took %v", took)
		}
		c.do(func() { c.stuckBuckets = false })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, ok := w.Buckets().Lookup("default", 1); !ok {
			t.Error("the buckets aren't read later")
		}
	})
}

func TestWatcherBucketsOfOldServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.noBucketFunction = true
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"), func(wc *Config) { wc.BucketFloor = time.Hour })
		start(t, w)
		time.Sleep(10 * time.Minute)
		if n := c.count("_pico_bucket"); n != 1 {
			t.Errorf("asked %d times for a function that isn't there", n)
		}
		// The upgrade brings it.
		c.do(func() {
			c.noBucketFunction = false
			for i := range c.instances {
				c.instances[i].Version = "26.3.1"
				c.instances[i].Incarnation++
			}
		})
		time.Sleep(25 * time.Second) // the longest interval
		synctest.Wait()
		if _, ok := w.Buckets().Lookup("default", 1); !ok {
			t.Error("the function that came with the upgrade isn't used")
		}
	})
}

func TestWatcherReadsTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cfg := newFakeCluster(2), fakeConfig("10.0.0.1:4327")
		cfg.Routing = options.RoutingKeys
		c.tables = [][]any{{int64(1024), "t", `{"ShardedImplicitly":[["a"],"murmur3","default"]}`, formatABC, int64(1), true}}
		heard, last := 0, map[string]schema.Table(nil)
		w, log := watch(t, c, cfg, func(wc *Config) { wc.OnTables = func(m map[string]schema.Table) { heard, last = heard+1, m } })
		start(t, w)
		if tab := w.Tables()["t"]; tab.Distribution != schema.ShardedByKey || heard != 1 {
			t.Errorf("%+v, heard %d times", tab, heard)
		}
		time.Sleep(time.Minute)
		if n := c.count(queryTables); n != 1 {
			t.Errorf("asked %d times", n)
		}
		c.do(func() {
			c.tables = append(c.tables, []any{int64(1025), "u", `{"Global":null}`, formatABC, int64(2), true})
		})
		w.Hint(schema.HintTables)
		synctest.Wait()
		if _, ok := w.Tables()["u"]; !ok {
			t.Error("a table that a statement asked about isn't read")
		}
		c.do(func() { c.denied["_pico_table"] = true })
		time.Sleep(time.Second)
		w.Hint(schema.HintTables)
		time.Sleep(time.Second)
		synctest.Wait()
		if w.Tables() != nil {
			t.Error("tables that may not be read any more are still known")
		}
		if last != nil {
			t.Errorf("nobody was told: %v", last)
		}
		if g := w.Stats().DegradedGrants; len(g) != 1 || g[0] != "GRANT READ ON TABLE _pico_table TO plain" {
			t.Errorf("%q", g)
		}
		if n := len(log.lines("table=_pico_table")); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2) // a server that sends notices
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		if n := c.count("_pico_table"); n != 0 || w.Tables() != nil {
			t.Errorf("_pico_table was read %d times though notices tell of keys", n)
		}
	})
}

// A table that another client makes anew, alters or drops is read anew within one refresh, though no statement
// complains of it; and once more when DDL that was under way has ended, which changes no version.
func TestWatcherSeesTablesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cfg := newFakeCluster(2), fakeConfig("10.0.0.1:4327")
		cfg.Routing = options.RoutingKeys
		row := func(id int64, name, key string, version int64, operable bool) []any {
			return []any{id, name, `{"ShardedImplicitly":[["` + key + `"],"murmur3","default"]}`, formatABC, version, operable}
		}
		c.tables = [][]any{row(1024, "t", "a", 1, true), row(1025, "u", "a", 2, true)}
		w, _ := watch(t, c, cfg)
		start(t, w)
		refresh := func() {
			time.Sleep(25 * time.Second) // the longest interval
			synctest.Wait()
		}
		keyOf := func(table string) string {
			tab, ok := w.Tables()[table]
			switch {
			case !ok:
				return "no table"
			case !tab.Operable:
				return "not operable"
			}
			return tab.ShardingKey[0]
		}
		for _, step := range []struct {
			what   string
			tables [][]any
			t, u   string
		}{
			{"t is made anew with another key", [][]any{row(1026, "t", "b", 4, true), row(1025, "u", "a", 2, true)}, "b", "a"},
			{"u is dropped", [][]any{row(1026, "t", "b", 4, true)}, "b", "no table"},
			{"u is being made", [][]any{row(1026, "t", "b", 4, true), row(1027, "u", "c", 6, false)}, "b", "not operable"},
			{"u is made", [][]any{row(1026, "t", "b", 4, true), row(1027, "u", "c", 6, true)}, "b", "c"},
		} {
			c.do(func() { c.tables = step.tables })
			refresh()
			if a, b := keyOf("t"), keyOf("u"); a != step.t || b != step.u {
				t.Errorf("%s: the keys are %q and %q, want %q and %q", step.what, a, b, step.t, step.u)
			}
		}
		read := c.count(queryTables)
		time.Sleep(time.Minute)
		if n := c.count(queryTables) - read; n != 0 {
			t.Errorf("read %d times more though nothing changes", n)
		}
	})
}
