package exec

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// bereaved is a cluster whose nodes don't answer; it counts who asks them.
type bereaved struct {
	pictured
	probes atomic.Int64
}

func (c *bereaved) Start(context.Context) error  { return nil }
func (c *bereaved) Buckets() *metadata.BucketMap { return nil }
func (c *bereaved) Probe(context.Context, *pool.NodeInfo) error {
	c.probes.Add(1)
	return context.DeadlineExceeded
}

// emptyPool is one that nobody leases from.
type emptyPool struct{ Pool }

func (emptyPool) Apply([]pool.NodeSpec) {}

func mourner(t *testing.T, topo *metadata.Topology) (*Executor, *bereaved) {
	t.Helper()
	cluster := &bereaved{pictured: pictured{topo: topo}}
	cfg := options.New()
	x := New(Parts{Options: cfg, Clock: options.SystemClock{}, Logger: slog.New(slog.DiscardHandler), Pool: emptyPool{}, Cluster: cluster})
	x.routing.tablesChanged(map[string]schema.Table{})
	t.Cleanup(x.Close)
	return x, cluster
}

func leaderA() *pool.NodeInfo {
	return &pool.NodeInfo{ID: "a", Name: "a", Replicaset: "rs", ReplicasetName: "rs", Tier: "default"}
}

// Close waits for all probes: none begins once it has looked.
func TestNoProbeAfterClose(t *testing.T) {
	x, cluster := mourner(t, led("a"))
	x.Close()
	l := &deadLeader{node: leaderA()}
	x.reprobe(l)
	x.suspect(leaderA(), false)
	x.dead.probes.Wait()
	if n := cluster.probes.Load(); n != 0 {
		t.Errorf("%d probes", n)
	}
}

// Several rows of one replicaset that nobody leads wait as one row does; what a server only parses waits for nobody.
func TestWhoIsHeldUp(t *testing.T) {
	x, _ := mourner(t, led(""))
	plan := route.Plan{Reason: route.NoLeader, ReplicasetUUID: "rs", Replicaset: "rs", Tier: "default"}
	for _, c := range []struct {
		name           string
		op             operation
		bucket, shared bool
		held           bool
	}{
		{"one row", opExec, true, false, true},
		{"several rows", opExec, false, true, true},
		{"parsed alone", opPrepare, true, false, false},
		{"a ping", opPing, true, false, false},
	} {
		r := run{x: x, op: c.op, ctx: t.Context(), text: x.texts.get("insert into t values ($1)"), plan: plan}
		r.plan.BucketKnown, r.plan.Shared = c.bucket, c.shared
		if why, _ := r.heldUp(); (why != nil) != c.held {
			t.Errorf("%s: %+v", c.name, why)
		}
	}
}
