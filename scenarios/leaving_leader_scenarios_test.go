package scenarios_test

import (
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

// A leader that was told to stop takes writes for a moment more, and they are lost with it. From the first row that says so
// no statement goes to it.
func TestLeaderThatWasToldToStop(t *testing.T) {
	cfg := pairs()
	cfg.StopWindow = 20 * time.Second // it lives on for so long
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.filled(20, options.WithRouting(options.RoutingKeys), options.WithAcquireTimeout(5*time.Second))
		time.Sleep(time.Second)
		leaving := w.cluster.Node("i3")
		if !leaving.IsLeader() {
			t.Fatal("i3 leads nobody")
		}
		leaving.Stop()
		time.Sleep(7 * time.Second) // the next look, at the latest
		if !leaving.Running() {
			t.Fatal("i3 is gone already")
		}
		leaving.ResetCounters()
		for i := range 20 {
			if _, err := w.Exec("update t set v = 1 where id = $1", i); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if c := leaving.Counters(); c.Statements > 0 || c.ForwardedTo > 0 {
			t.Errorf("%d statements ran at the leader that was told to stop, %d were forwarded to it", c.Statements, c.ForwardedTo)
		}
	})
}
