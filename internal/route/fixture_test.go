package route

import (
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// cluster is the state of a cluster that a test changes before it makes a View.
type cluster struct {
	cfg      *options.Config
	topology metadata.Topology
	buckets  *metadata.BucketMap
	tables   map[string]schema.Table
}

// newCluster: tier default with default_1 (i1 leads, i2), default_2 (i3, i4), default_3 (i5,
// i6) and 1000 buckets each; tier cold with cold_1 (i7, i8) and 300 buckets; tier arbiter without buckets (i9).
func newCluster() *cluster {
	c := &cluster{cfg: options.New(), topology: metadata.Topology{RolesKnown: true}}
	n := 0
	add := func(tier string, replicasets, size int, buckets uint64) {
		c.topology.Tiers = append(c.topology.Tiers, metadata.Tier{Name: tier, BucketCount: buckets, BucketsKnown: true, IsDefault: tier == "default"})
		var ranges []metadata.Range
		for r := 1; r <= replicasets; r++ {
			name := fmt.Sprintf("%s_%d", tier, r)
			rs := metadata.Replicaset{UUID: "rs-" + name, Name: name, Tier: tier, State: "ready"}
			for range size {
				n++
				instance := fmt.Sprintf("i%d", n)
				if rs.CurrentMaster == "" {
					rs.CurrentMaster, rs.TargetMaster = instance, instance
				}
				c.topology.Instances = append(c.topology.Instances, metadata.Instance{
					UUID: "uuid-" + instance, Name: instance, RaftID: uint64(n), ReplicasetUUID: rs.UUID, ReplicasetName: name, Tier: tier,
					State: metadata.Online, TargetState: metadata.Online, Version: "26.2.1-rc2", Address: fmt.Sprintf("127.0.0.1:%d", 3300+n),
				})
			}
			c.topology.Replicasets = append(c.topology.Replicasets, rs)
			if buckets > 0 {
				per := buckets / uint64(replicasets)
				ranges = append(ranges, metadata.Range{Start: uint64(r-1)*per + 1, End: uint64(r) * per, State: metadata.BucketActive, Replicaset: rs.UUID, Target: rs.UUID})
			}
		}
		if buckets > 0 {
			c.buckets = c.buckets.With(tier, buckets, ranges)
		}
	}
	add("default", 3, 2, 3000)
	add("cold", 1, 2, 300)
	add("arbiter", 1, 1, 0)

	column := func(name, typ string, oid uint32) schema.Column {
		return schema.Column{Name: name, Type: typ, OID: oid}
	}
	id, hidden, s := column("id", "integer", 20), column("bucket_id", "unsigned", 20), column("s", "string", 25)
	c.tables = map[string]schema.Table{
		"t":    {Name: "t", Distribution: schema.ShardedByKey, Tier: "default", ShardingKey: []string{"id"}, Columns: []schema.Column{id, hidden, s}, Operable: true},
		"k2":   {Name: "k2", Distribution: schema.ShardedByKey, Tier: "default", ShardingKey: []string{"s", "id"}, Columns: []schema.Column{id, hidden, s}, Operable: true},
		"cold": {Name: "cold", Distribution: schema.ShardedByKey, Tier: "cold", ShardingKey: []string{"id"}, Columns: []schema.Column{id, hidden}, Operable: true},
		"d":    {Name: "d", Distribution: schema.ShardedByKey, Tier: "default", ShardingKey: []string{"f"}, Columns: []schema.Column{column("f", "double", 701)}, Operable: true},
		"g":    {Name: "g", Distribution: schema.Global, Columns: []schema.Column{id, s}, Operable: true},
		"fld":  {Name: "fld", Distribution: schema.ShardedByField, Tier: "default", Columns: []schema.Column{id, hidden}, Operable: true},
		"ddl":  {Name: "ddl", Distribution: schema.ShardedByKey, Tier: "default", ShardingKey: []string{"id"}, Columns: []schema.Column{id}, Operable: false},
	}
	return c
}

func (c *cluster) replicaset(name string) *metadata.Replicaset {
	for i := range c.topology.Replicasets {
		if c.topology.Replicasets[i].Name == name {
			return &c.topology.Replicasets[i]
		}
	}
	panic(name)
}

func (c *cluster) instance(name string) *metadata.Instance {
	for i := range c.topology.Instances {
		if c.topology.Instances[i].Name == name {
			return &c.topology.Instances[i]
		}
	}
	panic(name)
}

// view makes the View. Without tables the user may not read _pico_table.
func (c *cluster) view(withTables bool) *View {
	var tables *Tables
	if withTables {
		tables = NewTables(c.tables)
	}
	return NewView(c.cfg, metadata.Build(c.topology), c.buckets, tables)
}

// input is a statement with its arguments.
func input(v *View, sql string, args ...any) *Input {
	info := sqltext.Analyze(sql)
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return &Input{View: v, Info: &info, Args: named}
}

// meta makes the input as if a server had sent its notice.
func (in *Input) meta(tier string, params ...schema.KeyParam) *Input {
	in.KeyKnown = true
	in.Key = schema.KeyMeta{Tier: tier, Params: params, Routable: tier != "" && len(params) > 0}
	return in
}

// where is the plan in short: kind, names, reason.
func where(p Plan) string {
	s := p.Kind.String()
	if p.Strict {
		s += "!"
	}
	for _, name := range []string{p.Instance, p.Replicaset} {
		if name != "" {
			s += " " + name
		}
	}
	if p.BucketKnown {
		s += fmt.Sprintf(" %s/%d", p.Tier, p.Bucket)
	} else if p.Kind == Filter && p.Tier != "" && p.ReplicasetUUID == "" {
		s += " tier=" + p.Tier
	}
	if p.Role != options.RoleAny && p.Kind == Filter {
		s += " " + p.Role.String()
	}
	if p.Reason != NoReason {
		s += " " + string(p.Reason)
	}
	return s
}

func check(t *testing.T, name string, in *Input, want string) Plan {
	t.Helper()
	p := Decide(in)
	considered := *in
	c := Consider(in)
	considered.Candidate = &c
	if again := Decide(&considered); again != p { // what a text offers may be kept
		t.Errorf("%s: %+v, of the kept candidate %+v", name, p, again)
	}
	if got := where(p); got != want {
		t.Errorf("%s: %s, want %s\n\t%s", name, got, want, Describe(p))
	}
	// Who leases goes by uuids; the names are for people. Both mean the same one.
	for _, pair := range [][3]string{{"uuid-", p.Instance, p.InstanceUUID}, {"rs-", p.Replicaset, p.ReplicasetUUID}} {
		if pair[1] != "" && pair[2] != pair[0]+pair[1] {
			t.Errorf("%s: %q has the uuid %q", name, pair[1], pair[2])
		}
	}
	return p
}

func one(oid uint32) schema.KeyParam { return schema.KeyParam{Index: 0, OID: oid} }
