package scenarios_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Which failures make the driver leave a node alone, and which don't.

// BN1: One leader and one replica whose door is shut. Reads may go to either; after detection none goes to the
// replica, and no more than one probe per ejection finds out whether it is back.
func TestDeadReplicaIsLeftAlone(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 2}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.filled(5, options.WithReadPreference(options.ReadPreferenceAny))
		replica := w.cluster.Replicas("default_1")[0]
		w.read("select 45", 20)
		replica.Refuse()
		replica.DropConnections()
		w.read("select 45", 20) // detection
		dials := func() (n uint64) {
			for _, s := range w.c.Stats().Nodes {
				if s.Name == replica.Name() {
					n = s.Dials
				}
			}
			return n
		}
		before := dials()
		w.cluster.ResetCounters()
		var failed atomic.Int64
		stop := w.work(8, 100*time.Millisecond, func() { failed.Add(int64(len(w.read("select 45", 1)))) })
		time.Sleep(time.Minute)
		stop()
		if failed.Load() > 0 {
			t.Errorf("%d reads failed", failed.Load())
		}
		if n := w.ran("select 45")[replica.Name()]; n > 0 {
			t.Errorf("%d reads at the dead replica", n)
		}
		// Ejections of 1, 2, 4, 5, 5… seconds, the growing ones ± jitter, and a probe after each.
		if n := dials() - before; n < 4 || n > 3+60/4 {
			t.Errorf("%d probes of the dead replica in a minute", n)
		}
		replica.Accept()
		time.Sleep(40 * time.Second)
		w.cluster.ResetCounters()
		w.read("select 45", 100)
		if n := w.ran("select 45")[replica.Name()]; n == 0 {
			t.Error("the replica was never let back")
		}
	})
}

// BN3: Wrong passwords, syntax errors, full nodes and contexts that end, a hundred a second: nobody is ejected.
func TestErrorsThatEjectNobody(t *testing.T) {
	bubble(t, picotest.Config{}, func(t *testing.T, w *world) {
		var wrong atomic.Bool
		w.filled(10, options.WithPasswordFunc(func(context.Context) (string, error) {
			if wrong.Load() {
				return "Wr0ngsecret", nil
			}
			return "T0psecret", nil
		}))
		for _, n := range w.cluster.Nodes() {
			n.LimitConnections(4)
		}
		hold := w.cluster.Hold(picotest.SQL("select 46"))
		var slow answers
		for range 12 { // more than fit, together with the control connection
			slow.begin(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := w.ExecContext(ctx, "select 46")
				return err
			})
		}
		end := make(chan struct{})
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-end:
						return
					case <-time.After(40 * time.Millisecond):
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
					switch (n + i) % 4 {
					case 0:
						w.ExecContext(ctx, "selct 1")
					case 1:
						w.ExecContext(ctx, "insert into t values (1, 1)") // a duplicate
					case 2:
						w.ExecContext(ctx, "select v from nowhere")
					case 3:
						cancel()
						w.ExecContext(ctx, "select 1")
					}
					cancel()
				}
			})
		}
		time.Sleep(3 * time.Second)
		wrong.Store(true)
		for _, n := range w.cluster.Nodes() {
			n.LimitConnections(-1) // there is room now, but nobody with this password gets in
		}
		for range 20 {
			slow.begin(func() error { _, err := w.ExecContext(t.Context(), "select 46"); return err })
		}
		time.Sleep(3 * time.Second)
		hold.ReleaseAll()
		close(end)
		group.Wait()
		slow.group.Wait()
		s := w.c.Stats()
		if s.Total.Ejections != 0 {
			t.Errorf("%d ejections", s.Total.Ejections)
		}
		for _, n := range w.cluster.Nodes() {
			if failed := n.Counters().LoginFailures; failed > 3 {
				t.Errorf("%d refused logins at %s: four in a row lock the user there", failed, n.Name())
			}
		}
		if w.cluster.Counters().LoginFailures == 0 {
			t.Error("no login was refused: the test's premise is wrong")
		}
		if w.cluster.Counters().Refused == 0 {
			t.Error("no connection was refused for want of room: the test's premise is wrong")
		}
	})
}
