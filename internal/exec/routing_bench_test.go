package exec

import (
	"database/sql/driver"
	"runtime"
	"testing"
	"weak"

	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
)

// planned is a connector that knows a cluster of a thousand instances, a table with a sharding key of two
// columns, and an INSERT of one row, with its arguments. notice: a server has told the text's key, else the driver
// reads text and table itself.
func planned(tb testing.TB, notice bool) (*Executor, *Text, []driver.NamedValue) {
	c := thousandExecutor(tb)
	topo := thousand(1)
	for i := range topo.Replicasets {
		topo.Replicasets[i].CurrentMaster = topo.Instances[4*i].Name
		topo.Replicasets[i].TargetMaster = topo.Instances[4*i].Name
	}
	var ranges []metadata.Range
	for i, r := range topo.Replicasets {
		ranges = append(ranges, metadata.Range{Start: uint64(12*i + 1), End: uint64(12*i + 12), State: metadata.BucketActive, Replicaset: r.UUID, Target: r.UUID})
	}
	var buckets *metadata.BucketMap
	tables := route.NewTables(map[string]schema.Table{"t": {
		Name: "t", Distribution: schema.ShardedByKey, Tier: "default", ShardingKey: []string{"s", "id"}, Operable: true,
		Columns: []schema.Column{{Name: "id", Type: "integer", OID: 20}, {Name: "s", Type: "string", OID: 25}},
	}})
	c.routing.view.Store(route.NewView(c.Options, metadata.Build(topo), buckets.With("default", 3000, ranges), tables))
	t := c.texts.get("insert into t (id, s) values ($1, $2)")
	if notice {
		t.keys.Store(&keyAnswer{known: true, meta: schema.KeyMeta{Tier: "default", Routable: true, Params: []schema.KeyParam{{Index: 1, OID: 25}, {Index: 0, OID: 20}}}})
	}
	return c, t, []driver.NamedValue{{Ordinal: 1, Value: int64(4711)}, {Ordinal: 2, Value: "a customer's name"}}
}

// The whole decision about a statement: at most 200 ns and one allocation on an idle machine.
func BenchmarkPlan(b *testing.B) {
	for name, notice := range map[string]bool{"notice": true, "own reading": false} {
		b.Run(name, func(b *testing.B) {
			c, t, args := planned(b, notice)
			b.ReportAllocs()
			for b.Loop() {
				if p := c.routing.plan(t, args, nil); p.Kind != route.Leader {
					b.Fatalf("%+v", p)
				}
			}
		})
	}
}

func TestPlanAllocatesOnceAtMost(t *testing.T) {
	for _, notice := range []bool{true, false} {
		c, text, args := planned(t, notice)
		if n := testing.AllocsPerRun(100, func() { c.routing.plan(text, args, nil) }); n > 1 {
			t.Errorf("notice %v: %v allocations", notice, n)
		}
	}
}

// A text keeps what it offers to route by, but not the view of the cluster by which that was found: texts are many, and
// views of a large cluster large.
func TestTextsKeepNoView(t *testing.T) {
	x, text, args := planned(t, false)
	x.routing.plan(text, args, nil)
	first := weak.Make(x.routing.view.Load())
	x.routing.renew()
	for range 3 {
		runtime.GC()
	}
	if first.Value() != nil {
		t.Error("the old view is still held")
	}
	if was := text.route.Load(); was == nil {
		t.Error("the text keeps nothing")
	} else if x.routing.plan(text, args, nil); text.route.Load() == was {
		t.Error("what an old view told is used for a new one")
	}
}
