package picodata

import (
	"fmt"
	"testing"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// thousand is a snapshot of 250 replicasets of four.
func thousand(version uint64) metadata.Topology {
	t := metadata.Topology{Version: version, RolesKnown: true, Tiers: []metadata.Tier{{Name: "default", BucketCount: 3000, BucketsKnown: true, IsDefault: true}}}
	for rs := range 250 {
		r := metadata.Replicaset{UUID: fmt.Sprintf("rs-%03d", rs), Name: fmt.Sprintf("default_%d", rs), Tier: "default", LeaderUUID: fmt.Sprintf("in-%03d-0", rs)}
		t.Replicasets = append(t.Replicasets, r)
		for i := range 4 {
			role := metadata.RoleReplica
			if i == 0 {
				role = metadata.RoleLeader
			}
			t.Instances = append(t.Instances, metadata.Instance{
				UUID: fmt.Sprintf("in-%03d-%d", rs, i), Name: fmt.Sprintf("i%d_%d", rs, i), ReplicasetUUID: r.UUID, ReplicasetName: r.Name,
				Tier: "default", State: metadata.Online, TargetState: metadata.Online, Role: role, Version: "26.2.1",
				Address: fmt.Sprintf("127.0.%d.%d:4327", rs, i+1), Advertised: fmt.Sprintf("127.0.%d.%d:4327", rs, i+1),
			})
		}
	}
	return t
}

func thousandConnector(tb testing.TB) *Connector {
	cfg, err := ParseDSN("picodata://u@h?node_weights=tier:cold=0,i3_1=5")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := NewConnector(cfg, options.WithMaxConnsPerInstance(10))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// What a new snapshot with one change costs: the comparison is per node, the work is for the changed one.
func BenchmarkApplyThousandNodes(b *testing.B) {
	c := thousandConnector(b)
	var topos [2]*metadata.Topology
	for i := range topos {
		t := thousand(uint64(i + 1))
		if i == 1 {
			t.Instances[500].State = metadata.Offline
		}
		topos[i] = metadata.Build(t)
	}
	c.applyNodes(topos[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.applyNodes(topos[(i+1)%2])
	}
}

// An unchanged node costs no allocation: a thousand nodes cost no more of them than ten.
func TestApplyAllocatesNothingPerUnchangedNode(t *testing.T) {
	few := func() float64 {
		c := thousandConnector(t)
		small := thousand(1)
		small.Instances = small.Instances[:10]
		topo := metadata.Build(small)
		c.applyNodes(topo)
		return testing.AllocsPerRun(100, func() { c.applyNodes(topo) })
	}()
	c := thousandConnector(t)
	topo := metadata.Build(thousand(1))
	c.applyNodes(topo)
	many := testing.AllocsPerRun(100, func() { c.applyNodes(topo) })
	// What is left are the few growing tables of the comparison itself.
	if many > few+20 {
		t.Errorf("applying an unchanged snapshot: %v allocations for 10 nodes, %v for 1,000", few, many)
	}
	t.Logf("%v allocations for 10 nodes, %v for 1,000", few, many)
}
