package route

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/internal/bucket"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Buckets of 3000: int 1 → 1934 (default_2, i3), 2 → 1410 (default_2), 5 → 219 (default_1, i1),
// 42 → 2426 (default_3, i5); ('lol', 42) → 739 (default_1).

func TestInsertsByTheServersNotice(t *testing.T) {
	const sql = "insert into t values ($1, $2)"
	v := newCluster().view(false)
	check(t, "bucket 1934", input(v, sql, int64(1), "a").meta("default", one(20)), "leader i3 default_2 default/1934")
	check(t, "bucket 219", input(v, sql, int64(5), "a").meta("default", one(20)), "leader i1 default_1 default/219")
	check(t, "by string", input(v, sql, "42", "a").meta("default", one(20)), "leader i5 default_3 default/2426")
	check(t, "two columns, another order", input(v, sql, int64(42), "lol").
		meta("default", schema.KeyParam{Index: 1, OID: 25}, schema.KeyParam{Index: 0, OID: 20}), "leader i1 default_1 default/739")
	check(t, "another tier", input(v, sql, int64(5), "a").meta("cold", one(20)), "leader i7 cold_1 cold/219")

	check(t, "a text that only the server understands", input(v, "insert into t values ($1, E'x')", int64(1)).meta("default", one(20)), "leader i3 default_2 default/1934")

	check(t, "unknown yet", input(v, sql, int64(1), "a"), "balance meta_miss")
	check(t, "several rows", input(v, "insert into t values ($1, $2), ($3, $4)", int64(1), "a", int64(2), "b").meta("default"), "balance not_routable")
	check(t, "a global table", input(v, sql, int64(1), "a").meta(""), "balance")
	check(t, "an argument is missing", input(v, sql).meta("default", one(20)), "balance not_routable")
	check(t, "a value that can't be hashed", input(v, sql, "x", "a").meta("default", one(20)), "balance no_bucket")
	check(t, "a DOUBLE that isn't certain", input(v, sql, 1e300, "a").meta("default", one(701)), "balance no_bucket")
	check(t, "a tier that isn't known", input(v, sql, int64(1), "a").meta("new", one(20)), "balance unknown_tier")
	check(t, "no parameter", input(v, "insert into t values (1, 'a')"), "balance not_routable")
	check(t, "no parameter in the row", input(v, "insert into t values (1, 'a') on conflict (id) do update set s = $1", "b"), "balance not_routable")
}

func TestInsertsByOwnReading(t *testing.T) {
	v := newCluster().view(true)
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{"insert into t values ($1, $2)", []any{int64(1), "a"}, "leader i3 default_2 default/1934"},
		{"insert into t values (?, ?)", []any{int64(1), "a"}, "leader i3 default_2 default/1934"},
		{"insert into t (s, id) values ($1, $2)", []any{"a", int64(1)}, "leader i3 default_2 default/1934"},
		{"insert into t (s, id) values ($2, $1)", []any{int64(1), "a"}, "leader i3 default_2 default/1934"},
		{"insert into public.T (ID) values ($1::int)", []any{int64(1)}, "leader i3 default_2 default/1934"},
		{"insert into k2 values ($1, $2)", []any{int64(42), "lol"}, "leader i1 default_1 default/739"},
		{"insert into cold values ($1)", []any{int64(5)}, "leader i7 cold_1 cold/219"},
		{"insert into g values ($1, $2)", []any{int64(5), "a"}, "balance"},
		{"insert into fld values ($1, $2)", []any{int64(5), "a"}, "balance not_routable"},
		{"insert into ddl values ($1)", []any{int64(5)}, "balance not_routable"},
		{"insert into t values ($1::decimal, $2)", []any{int64(1), "a"}, "balance not_routable"},
		{"insert into t values ($1)", []any{int64(1)}, "balance not_routable"},
		{"insert into t (s) values ($1)", []any{"a"}, "balance not_routable"},
		{"insert into t (s, id) values ($1)", []any{"a"}, "balance not_routable"}, // a column without a value
		{"insert into t values (1, $1)", []any{"a"}, "balance not_routable"},
		{"insert into t values ($1, $2), ($3, $4)", []any{int64(1), "a", int64(255), "b"}, "leader i3 default_2"},
		{"insert into t values ($1, $2), ($3, $4)", []any{int64(1), "a", int64(1), "b"}, "leader i3 default_2 default/1934"},
		{"insert into t (s, id) values ($1, $2), ($3, $4)", []any{"a", int64(1), "b", int64(255)}, "leader i3 default_2"},
		{"insert into t values ($1, $2), ($3, $4)", []any{int64(1), "a", int64(65536), "b"}, "balance several_owners"},
		{"insert into t values ($1, $2), ($3, $4), (1)", []any{int64(1), "a", int64(255), "b"}, "balance not_routable"},
		{"insert into t values ($1, $2), (2, $3)", []any{int64(1), "a", "b"}, "balance not_routable"},
		{"insert into t values ($1, $2), ($3, $4)", []any{int64(1), "a"}, "balance not_routable"},
		{"insert into t select id, s from g where id = $1", []any{int64(1)}, "balance not_routable"},
		{"insert into t values ($1, $2)", []any{int64(1)}, "leader i3 default_2 default/1934"}, // the server will refuse it
		{"insert into t values ($2, $1)", []any{int64(1)}, "balance not_routable"},
		{"insert into unknown values ($1)", []any{int64(1)}, "balance meta_miss"},
		{`insert into "T" values ($1)`, []any{int64(1)}, "balance meta_miss"}, // another table
	} {
		check(t, c.sql, input(v, c.sql, c.args...), c.want)
	}
	// A table that was made after _pico_table was read.
	if p := Decide(input(v, "insert into unknown values ($1)", int64(1))); p.Refresh != schema.HintTables {
		t.Errorf("%+v", p)
	}
	if p := Decide(input(newCluster().view(false), "insert into unknown values ($1)", int64(1))); p.Refresh != "" {
		t.Errorf("tables can't be read, but %+v", p)
	}
	// What the server says wins over the own reading.
	check(t, "both", input(v, "insert into t values ($1, $2)", int64(1), "a").meta("default", schema.KeyParam{Index: 1, OID: 25}), "leader i1 default_1 default/714")
}

func TestKeysOfOtherStatements(t *testing.T) {
	statements := []struct {
		sql  string
		args []any
		want string
	}{
		{"select * from t where id = $1", []any{int64(1)}, "leader i3 default_2 default/1934"},
		{"update t set s = $1 where id = $2", []any{"a", int64(5)}, "leader i1 default_1 default/219"},
		{"delete from k2 where id = $1 and s = $2", []any{int64(42), "lol"}, "leader i1 default_1 default/739"},
		{"select * from k2 where s = $1", []any{"lol"}, "balance not_routable"},
		{"select * from t", nil, "balance not_routable"},
		{"select * from t where id = 1", nil, "balance not_routable"},
		{"select * from g where id = $1", []any{int64(1)}, "balance"},
		{"select 1", nil, "balance"},
		{"update t set id = $1 where id = $2", []any{int64(1), int64(2)}, "balance not_routable"},
		{"select * from unknown where id = $1", []any{int64(1)}, "balance meta_miss"},
		{"create table x (id int primary key)", nil, "balance"},
		{"do $$ begin insert into t values ($1, $2); end $$", []any{int64(1), "a"}, "balance"},
	}
	c := newCluster()
	v := c.view(true)
	for _, s := range statements {
		check(t, "routing=insert: "+s.sql, input(v, s.sql, s.args...), "balance")
	}
	c.cfg.Routing = options.RoutingKeys
	v = c.view(true)
	for _, s := range statements {
		check(t, s.sql, input(v, s.sql, s.args...), s.want)
	}
	// Reads go where the server would read.
	const read = "select * from t where id = $1"
	for _, r := range []struct {
		preference options.ReadPreference
		role       options.InstanceRole
		want       string
	}{
		{options.ReadPreferenceUnset, options.RoleAny, "leader i3 default_2 default/1934"},
		{options.ReadPreferenceLeader, options.RoleLeader, "leader i3 default_2 default/1934"},
		{options.ReadPreferenceAny, options.RoleAny, "filter default_2 default/1934"},
		{options.ReadPreferenceAny, options.RoleLeader, "leader i3 default_2 default/1934"},
		{options.ReadPreferenceAny, options.RoleReplica, "filter default_2 default/1934 replica"},
		{options.ReadPreferenceReplica, options.RoleAny, "filter default_2 default/1934 replica"},
		{options.ReadPreferenceUnset, options.RoleReplica, "filter default_2 default/1934 replica"},
	} {
		c.cfg.ReadPreference, c.cfg.InstanceRole = r.preference, r.role
		check(t, r.preference.String()+" "+r.role.String(), input(c.view(true), read, int64(1)), r.want)
	}
}

func TestReasons(t *testing.T) {
	const sql = "insert into t values ($1, $2)"
	seen := map[Reason]bool{}
	try := func(name string, change func(*cluster), want string) {
		t.Helper()
		c := newCluster()
		change(c)
		p := check(t, name, input(c.view(false), sql, int64(1), "a").meta("default", one(20)), want)
		seen[p.Reason] = true
		if p.Routed() != strings.HasPrefix(want, "leader") {
			t.Errorf("%s: routed = %v", name, p.Routed())
		}
		if p.Reason != NoReason && (p.Counter() != string(p.Reason) || p.Reason.Words() == "" || !strings.Contains(Describe(p), string(p.Reason))) {
			t.Errorf("%s: counted as %q, %q", name, p.Counter(), Describe(p))
		}
	}
	try("all is well", func(c *cluster) {}, "leader i3 default_2 default/1934")
	try("no bucket map", func(c *cluster) { c.buckets = nil }, "balance no_topology")
	try("not this tier", func(c *cluster) { c.buckets = c.buckets.Without("default") }, "balance unknown_tier")
	try("a gap", func(c *cluster) {
		c.buckets = c.buckets.With("default", 3000, []metadata.Range{{Start: 1, End: 1000, State: "active", Replicaset: "rs-default_1"}})
	}, "balance default/1934 no_bucket")
	try("an overlap", func(c *cluster) {
		c.buckets = c.buckets.With("default", 3000, []metadata.Range{
			{Start: 1, End: 2000, State: "active", Replicaset: "rs-default_1"}, {Start: 1900, End: 3000, State: "active", Replicaset: "rs-default_2"}})
	}, "balance default/1934 no_bucket")
	try("switching", func(c *cluster) { c.replicaset("default_2").TargetMaster = "i4" }, "balance default_2 default/1934 no_leader")
	try("another replicaset is switching", func(c *cluster) { c.replicaset("default_1").TargetMaster = "i2" }, "leader i3 default_2 default/1934")
	try("switched", func(c *cluster) {
		c.replicaset("default_2").TargetMaster, c.replicaset("default_2").CurrentMaster = "i4", "i4"
	}, "leader i4 default_2 default/1934")
	try("the leader is gone", func(c *cluster) { c.instance("i3").State = metadata.Offline }, "balance i3 default_2 default/1934 no_leader")
	try("roles aren't known", func(c *cluster) { c.topology.RolesKnown, c.topology.Replicasets = false, nil }, "balance default/1934 no_leader")
	try("instance_role=replica", func(c *cluster) { c.cfg.InstanceRole = options.RoleReplica }, "balance i3 default_2 default/1934 role_excluded")
	try("a forbidden tier", func(c *cluster) { c.cfg.ForbiddenTiers = []string{"default"} }, "balance i3 default_2 default/1934 role_excluded")
	try("instance_role=leader", func(c *cluster) { c.cfg.InstanceRole = options.RoleLeader }, "leader i3 default_2 default/1934")
	try("no address", func(c *cluster) { c.instance("i3").Address = "" }, "balance i3 default_2 default/1934 role_excluded")
	try("routing=off", func(c *cluster) { c.cfg.Routing = options.RoutingOff }, "balance")
	try("nothing is known", func(c *cluster) { c.topology, c.buckets = metadata.Topology{}, nil }, "balance no_topology")
	// What proved to be behind is named.
	c := newCluster()
	c.buckets = c.buckets.With("default", 3000, []metadata.Range{{Start: 1, End: 3000, State: "active", Replicaset: "rs-new"}})
	if p := Decide(input(c.view(false), sql, int64(1), "a").meta("default", one(20))); p.Refresh != schema.HintUnknownReplicaset || p.Reason != NoLeader {
		t.Errorf("a replicaset that no snapshot has: %+v", p)
	}
	c.buckets = c.buckets.With("default", 3000, nil)
	if p := Decide(input(c.view(false), sql, int64(1), "a").meta("default", one(20))); p.Refresh != schema.HintBuckets {
		t.Errorf("a gap: %+v", p)
	}
	seen[MetaMiss], seen[NotRoutable] = true, true // TestInsertsByTheServersNotice
	seen[LeaderEjected], seen[LeaderBusy], seen[StaleRead] = true, true, true
	seen[SeveralOwners] = true // TestInsertsByOwnReading
	for _, r := range Reasons() {
		if !seen[r] {
			t.Errorf("%s never arose", r)
		}
	}
}

func TestDoublesByVersion(t *testing.T) {
	const sql = "insert into d values ($1)"
	for _, c := range []struct{ versions, want string }{
		{"25.5.3", "leader i5 default_3 default/2099"}, // with the header
		{"25.6.0-a54cfb72b", "leader i3 default_2 default/1934"},
		{"26.1.6-0-gabc", "leader i3 default_2 default/1934"},
		{"25.5.3 26.1.1", "balance no_bucket"}, // in the middle of an upgrade
		{"25.6.0 26.1.1", "balance no_bucket"},
		{"26.1.1 26.2.1", "leader i3 default_2 default/1934"},
		{"?", "balance no_bucket"},
	} {
		cl := newCluster()
		versions := strings.Fields(c.versions)
		for i := range cl.topology.Instances {
			cl.topology.Instances[i].Version = versions[i%len(versions)]
		}
		check(t, c.versions, input(cl.view(true), sql, 1.0), c.want)
	}
	// An instance that is gone has no say.
	cl := newCluster()
	cl.instance("i2").State, cl.instance("i2").Version = metadata.Offline, "25.5.1"
	check(t, "offline", input(cl.view(true), sql, 1.0), "leader i3 default_2 default/1934")
}

// TestDecisionsDependOnTheirInputAlone is NS6: whatever was decided before, a statement's plan is its own.
func TestDecisionsDependOnTheirInputAlone(t *testing.T) {
	c := newCluster()
	c.cfg.Routing = options.RoutingKeys
	v := c.view(true)
	inputs := []*Input{
		input(v, "insert into t values ($1, $2)", int64(1), "a"),
		input(v, "select * from t where id = $1", int64(5)),
		input(v, "selec nonsense"),
		input(v, "select 1"),
		input(v, ""),
		input(v, "insert into t values ($1, $2), ($3, $4)", int64(1), "a", int64(2), "b"),
	}
	hinted := input(v, "select 1")
	hinted.Hint = &Hint{Instance: "i8"}
	inputs = append(inputs, hinted)
	var first []Plan
	for _, in := range inputs {
		first = append(first, Decide(in))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		i := r.IntN(len(inputs))
		if p := Decide(inputs[i]); p != first[i] {
			t.Fatalf("%+v, at first %+v", p, first[i])
		}
	}
	if first[2].Kind != Balance || first[2].Role != options.RoleAny {
		t.Errorf("a text that can't be read: %+v", first[2])
	}
}

// TestRandomKeysGoToTheirOwner compares with the ranges of the fixture.
func TestRandomKeysGoToTheirOwner(t *testing.T) {
	c := newCluster()
	v := c.view(true)
	r := rand.New(rand.NewPCG(3, 4))
	leaders := []string{"i1", "i3", "i5"} // of a thousand buckets each
	got := map[string]int{}
	for range 20_000 {
		id, s := int64(r.Uint64()), string(rune('a'+r.IntN(26)))
		var key bucket.Key
		key.Add(s, 25, bucket.DoubleNew)
		key.Add(id, 20, bucket.DoubleNew)
		want := leaders[(key.Bucket(3000)-1)/1000]
		p := Decide(input(v, "insert into k2 (id, s) values ($1, $2)", id, s))
		if p.Kind != Leader || p.Instance != want || p.Counter() != "routed" || !p.OneBucket() {
			t.Fatalf("(%q, %d): %s, want %s", s, id, where(p), want)
		}
		got[p.Instance]++
	}
	if len(got) != 3 {
		t.Errorf("only %v", got)
	}
}

func TestViewOfNothing(t *testing.T) {
	v := NewView(options.New(), nil, nil, nil)
	check(t, "insert", input(v, "insert into t values ($1)", int64(1)), "balance meta_miss")
	check(t, "select", input(v, "select 1"), "balance")
	if v.Topology() != nil || v.DefaultTier() != "" || len(v.Shards("")) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestShardsAreCountedByName(t *testing.T) {
	c := newCluster()
	for _, name := range []string{"default_10", "default_02", "default_2b", "defaul"} {
		c.topology.Replicasets = append(c.topology.Replicasets, metadata.Replicaset{UUID: "rs-" + name, Name: name, Tier: "default"})
	}
	c.topology.Replicasets = append(c.topology.Replicasets, metadata.Replicaset{UUID: "rs-gone", Name: "default_0", Tier: "default", State: "expelled"})
	var names []string
	for _, s := range c.view(false).Shards("default") {
		names = append(names, s.Name)
	}
	want := []string{"defaul", "default_1", "default_02", "default_2", "default_2b", "default_3", "default_10"}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if len(c.view(false).Shards("arbiter")) != 0 {
		t.Error("a tier without buckets has shards")
	}
}

func TestDefaultTier(t *testing.T) {
	for _, c := range []struct {
		tiers []metadata.Tier
		want  string
	}{
		{[]metadata.Tier{{Name: "a"}, {Name: "default"}, {Name: "z", IsDefault: true}}, "z"},
		{[]metadata.Tier{{Name: "a"}, {Name: "default"}}, "default"}, // before 25.4 no tier says so
		{[]metadata.Tier{{Name: "a"}}, "a"},
		{[]metadata.Tier{{Name: "a"}, {Name: "b"}}, ""},
		{nil, ""},
	} {
		v := NewView(options.New(), metadata.Build(metadata.Topology{Tiers: c.tiers}), nil, nil)
		if got := v.DefaultTier(); got != c.want {
			t.Errorf("%v: %q, want %q", c.tiers, got, c.want)
		}
	}
}

func TestRoutingDoesNotAllocate(t *testing.T) {
	v := newCluster().view(true)
	notice := input(v, "insert into k2 values ($1, $2)", int64(42), "lol").meta("default", schema.KeyParam{Index: 1, OID: 25}, one(20))
	own := input(v, "insert into k2 values ($1, $2)", int64(42), "lol")
	for name, in := range map[string]*Input{"notice": notice, "own": own} {
		if n := testing.AllocsPerRun(100, func() { Decide(in) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	v := newCluster().view(true)
	for name, in := range map[string]*Input{
		"notice":  input(v, "insert into k2 values ($1, $2)", int64(42), "lol").meta("default", schema.KeyParam{Index: 1, OID: 25}, one(20)),
		"own":     input(v, "insert into k2 values ($1, $2)", int64(42), "lol"),
		"balance": input(v, "select 1"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := Consider(in)
			in.Candidate = &c
			for b.Loop() {
				Decide(in)
			}
		})
	}
}

// Only a text with one key touches one bucket: rows of an INSERT have keys of their own, wherever they lie.
func TestOneBucketByTheText(t *testing.T) {
	v := newCluster().view(true)
	for sql, want := range map[string]bool{
		"insert into t values ($1, $2)":           true,
		"insert into t values ($1, $2), ($3, $4)": false,
		"insert into t values ($1, $2), ($1, $3)": false,
		"update t set s = $1 where id = $2":       true,
		"update t set s = $1 where id > $2":       false,
		"delete from g where id = $1":             false,
	} {
		info := sqltext.Analyze(sql)
		if got := v.OneBucket(&info); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}

// A bucket without an owner says nothing of the rows behind the one that lies in it.
func TestRowsBesideABucketWithoutOwner(t *testing.T) {
	c := newCluster()
	c.buckets = c.buckets.With("default", 3000, []metadata.Range{{Start: 1, End: 1000, State: "active", Replicaset: "rs-default_1"}})
	p := Decide(input(c.view(true), "insert into t values ($1, $2), ($3, $4)", int64(1), "a", int64(65536), "b"))
	if p.Reason != NoBucket || p.OneBucket() {
		t.Errorf("%+v", p)
	}
}
