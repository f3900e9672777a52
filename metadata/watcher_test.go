package metadata

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatcherFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w := NewWatcher(WatcherConfig{Config: fakeConfig("10.0.0.1:4327", "10.0.0.3:4327"), Dial: c.Dial})
		if err := w.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		topo := w.Topology()
		if len(topo.Instances) != 4 || len(topo.Replicasets) != 2 || topo.Version != 1 {
			t.Fatalf("%+v", topo)
		}
		if l, ok := topo.Leader("rs-2"); !ok || l.Name != "i3" || l.Role != RoleLeader {
			t.Fatalf("leader of rs-2: %+v", l)
		}
		synctest.Wait()
		if rs, ok := w.Buckets().Lookup("default", 2000); !ok || rs != "rs-2" {
			t.Fatalf("bucket 2000: %q %v", rs, ok)
		}
		c.switchLeader("rs-2", "i4")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-2"); l == nil || l.Name != "i4" {
			t.Fatalf("leader of rs-2 after the switch: %+v", l)
		}
		if n := c.count("_pico_bucket"); n != 1 {
			t.Errorf("a leader's switch made the driver ask %d times for buckets, not once", n)
		}
		w.Close()
		if n := c.openConns(); n != 0 {
			t.Errorf("%d connections left", n)
		}
	})
}
