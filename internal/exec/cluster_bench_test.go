package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
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

// fixture is what an executor needs of a cluster, without one: its pool has no nodes.
type fixture struct{ *pool.Gate }

func (fixture) Start(context.Context) error                   { return nil }
func (fixture) Topology() *metadata.Topology                  { return nil }
func (fixture) Buckets() *metadata.BucketMap                  { return nil }
func (fixture) Hint(schema.Reason)                            {}
func (fixture) Server(r *Refused) error                       { return r.Err }
func (fixture) Undecodable(err error, _ *pool.NodeInfo) error { return err }
func (fixture) Unknown(u *Unknown) error                      { return u.Cause }
func (fixture) Pool(err error) error                          { return err }
func (fixture) Plan(err error) error                          { return err }
func (fixture) Hazard(err error) error                        { return err }
func (fixture) RolesUnknown(_ []string, cause error) error    { return cause }
func (fixture) Probe(context.Context, *pool.NodeInfo) error   { return nil }
func (fixture) Leaderless(*Leaderless) error                  { return nil }

func thousandExecutor(tb testing.TB) *Executor {
	cfg, err := options.ParseDSN("picodata://u@h?node_weights=tier:cold=0,i3_1=5")
	if err != nil {
		tb.Fatal(err)
	}
	if err := cfg.Apply(options.WithMaxConnsPerInstance(10)); err != nil {
		tb.Fatal(err)
	}
	if err := cfg.Normalize(); err != nil {
		tb.Fatal(err)
	}
	f := fixture{pool.New(pool.Config{
		Options: cfg,
		Dial:    func(context.Context, pool.NodeSpec) (pool.Conn, error) { return nil, errors.New("no server") },
	})}
	x := New(Parts{Options: cfg, Clock: options.SystemClock{}, Logger: slog.New(slog.DiscardHandler), Pool: f.Gate, Cluster: f, Faults: f})
	tb.Cleanup(func() {
		x.Close()
		f.Close()
	})
	return x
}

// What a new snapshot with one change costs: the comparison is per node, the work is for the changed one.
func BenchmarkApplyThousandNodes(b *testing.B) {
	c := thousandExecutor(b)
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
		c := thousandExecutor(t)
		small := thousand(1)
		small.Instances = small.Instances[:10]
		topo := metadata.Build(small)
		c.applyNodes(topo)
		return testing.AllocsPerRun(100, func() { c.applyNodes(topo) })
	}()
	c := thousandExecutor(t)
	topo := metadata.Build(thousand(1))
	c.applyNodes(topo)
	many := testing.AllocsPerRun(100, func() { c.applyNodes(topo) })
	// What is left are the few growing tables of the comparison itself.
	if many > few+20 {
		t.Errorf("applying an unchanged snapshot: %v allocations for 10 nodes, %v for 1,000", few, many)
	}
	t.Logf("%v allocations for 10 nodes, %v for 1,000", few, many)
}
