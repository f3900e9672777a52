package metadata

import (
	"testing"

	"github.com/picodata/go-picodata/options"
)

// A thousand instances in 250 replicasets, of which one changes its state: what it costs to
// see the change and to apply the policy. No allocation for the 999 others but the two slices.
func BenchmarkApplyOneChange(b *testing.B) {
	old, new := bigTopology(250, 4), bigTopology(250, 4)
	new.Instances[500].State = Offline
	cfg := &options.Config{Topology: true, TopologyUpdateInterval: 1}
	b.Run("diff", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if len(Diff(old, new)) != 1 {
				b.Fatal("one change")
			}
		}
	})
	b.Run("compare", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			old.Equal(old)
		}
	})
	b.Run("select", func(b *testing.B) {
		b.ReportAllocs()
		var views []NodeView
		for range b.N {
			views = AppendNodes(views[:0], cfg, new)
		}
		if len(views) != 1000 {
			b.Fatal(len(views))
		}
	})
}

func BenchmarkLeaderLookup(b *testing.B) {
	t := bigTopology(250, 4)
	b.ReportAllocs()
	for range b.N {
		if _, ok := t.Leader("rs-77"); !ok {
			b.Fatal("no leader")
		}
	}
}

// Selecting allocates the map of addresses, whose size it knows, and nothing for each node.
func TestSelectAllocatesNothingPerNode(t *testing.T) {
	cfg := &options.Config{Topology: true}
	allocs := func(topo *Topology) float64 {
		views := make([]NodeView, 0, len(topo.Instances))
		return testing.AllocsPerRun(10, func() { views = AppendNodes(views[:0], cfg, topo) })
	}
	small, big := allocs(bigTopology(25, 4)), allocs(bigTopology(250, 4))
	if big > small+40 { // what a ten times larger map is made of
		t.Errorf("%v allocations for 100 nodes, %v for 1000", small, big)
	}
}
