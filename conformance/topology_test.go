package conformance

import (
	"testing"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// topology is about how the driver learns of changes.
func topology(t *testing.T, s *subject) {
	t.Run("a quiet cluster is asked small questions", func(t *testing.T) {
		known := metadata.Version{Major: 25, Minor: 5, Patch: 3} // has the columns that the question is about
		s.need(t, !s.version.Less(known), "a server of 25.5.3 or later")
		db, conn := s.with(t, options.WithTopologyUpdateInterval(50*time.Millisecond))
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := conn.Stats().Topology
		for conn.Stats().Topology.Refreshes < first.Refreshes+10 {
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
		last := conn.Stats().Topology
		changed := last.Version - first.Version // somebody else's doing
		if n := last.Readings - first.Readings; n > 3*changed+1 {
			t.Errorf("rows were read in %d of %d looks, though the topology changed %d times: the server doesn't understand the question", n, last.Refreshes-first.Refreshes, changed)
		}
	})
}
