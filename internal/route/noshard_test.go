package route

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func withNoShard(b options.NoShardBehavior, shard int, scope options.NoShardScope) *View {
	c := newCluster()
	c.cfg.NoShard, c.cfg.NoShardScope = options.NoShard{Behavior: b, Shard: shard}, scope
	return c.view(false)
}

// Statements by what they are to a shard.
func shardStatements(v *View) map[string]*Input {
	const one, two = "insert into t values ($1, $2)", "insert into t values ($1, $2), ($3, $4)"
	asked := input(v, one, int64(1), "a")
	asked.KeyAsked = true
	return map[string]*Input{
		"routed":      input(v, one, int64(1), "a").meta("default", schema.KeyParam{Index: 0, OID: 20}),
		"bound":       input(v, two, int64(1), "a", int64(2), "b").meta("default"),
		"undecided":   input(v, one, "x", "a").meta("default", schema.KeyParam{Index: 0, OID: 20}),
		"unknown":     input(v, one, int64(1), "a"),
		"asked":       asked,
		"global":      input(v, one, int64(1), "a").meta(""),
		"select":      input(v, "select 1"),
		"unparsable":  input(v, "selec"),
		"empty":       input(v, ""),
		"with a hint": {View: v, Info: input(v, two).Info, Hint: &Hint{Instance: "i4"}},
	}
}

func TestNoShard(t *testing.T) {
	const routed, hint = "leader i3 default_2 default/1934", "filter! i4"
	for _, c := range []struct {
		behavior options.NoShardBehavior
		scope    options.NoShardScope
		want     map[string]string
	}{
		{options.NoShardBalance, options.NoShardBound, map[string]string{
			"routed": routed, "bound": "balance not_routable", "undecided": "balance no_bucket", "unknown": "balance meta_miss", "asked": "balance meta_miss",
			"global": "balance", "select": "balance", "unparsable": "balance", "empty": "balance", "with a hint": hint}},
		{options.NoShardFail, options.NoShardBound, map[string]string{
			"routed": routed, "bound": "no shard not_routable", "undecided": "no shard no_bucket", "unknown": "learn meta_miss", "asked": "no shard meta_miss",
			"global": "balance", "select": "balance", "unparsable": "balance", "empty": "balance", "with a hint": hint}},
		{options.NoShardFail, options.NoShardAll, map[string]string{
			"routed": routed, "bound": "no shard not_routable", "undecided": "no shard no_bucket", "unknown": "learn meta_miss", "asked": "no shard meta_miss",
			"global": "no shard", "select": "no shard", "unparsable": "no shard", "empty": "balance", "with a hint": hint}},
		{options.NoShardN, options.NoShardBound, map[string]string{
			"routed": routed, "bound": "filter! default_3 not_routable", "undecided": "filter! default_3 no_bucket", "unknown": "balance meta_miss",
			"asked": "filter! default_3 meta_miss", "global": "balance", "select": "balance", "empty": "balance", "with a hint": hint}},
		{options.NoShardN, options.NoShardAll, map[string]string{
			"routed": routed, "bound": "filter! default_3 not_routable", "unknown": "filter! default_3 meta_miss", "global": "filter! default_3",
			"select": "filter! default_3", "unparsable": "filter! default_3", "empty": "balance", "with a hint": hint}},
		{options.NoShardRandom, options.NoShardBound, map[string]string{
			"routed": routed, "bound": "filter default_2 not_routable", "unknown": "balance meta_miss", "select": "balance", "with a hint": hint}},
	} {
		shard := 0
		if c.behavior == options.NoShardN {
			shard = 2
		}
		v := withNoShard(c.behavior, shard, c.scope)
		for name, in := range shardStatements(v) {
			want, ok := c.want[name]
			if !ok {
				continue
			}
			in.Random = 1 << 63 // the middle one of three
			p := Decide(in)
			if got := where(p); got != want {
				t.Errorf("%v %v, %s: %s, want %s", c.behavior, c.scope, name, got, want)
			}
		}
	}
}

// TestNoShardLeavesAKnownShardAlone: a shard that is known and can't be reached isn't one that
// isn't known; its statements go by the policy under every behaviour.
func TestNoShardLeavesAKnownShardAlone(t *testing.T) {
	for _, b := range []options.NoShardBehavior{options.NoShardFail, options.NoShardRandom, options.NoShardN} {
		c := newCluster()
		c.cfg.NoShard = options.NoShard{Behavior: b}
		c.replicaset("default_2").TargetMaster = "i4"
		in := shardStatements(c.view(false))["routed"]
		check(t, fmt.Sprint(b), in, "balance default_2 default/1934 no_leader")
	}
}

func TestShardOutOfRange(t *testing.T) {
	v := withNoShard(options.NoShardN, 9, options.NoShardBound)
	var e *ShardRangeError
	if p := Decide(shardStatements(v)["bound"]); p.Kind != Invalid || !errors.As(p.Err, &e) || e.Have != 3 || e.Shard != 9 || e.Tier != "default" {
		t.Errorf("%+v", p)
	}
	if p := Decide(shardStatements(v)["routed"]); p.Kind != Leader {
		t.Errorf("a routed statement: %+v", p)
	}
}

// TestRandomIsUniformOverReplicasets is NS1, with replicasets of one, two and seven nodes.
func TestRandomIsUniformOverReplicasets(t *testing.T) {
	c := newCluster()
	c.cfg.NoShard = options.NoShard{Behavior: options.NoShardRandom}
	c.instance("i2").State = metadata.Expelled
	for i := range 5 {
		in := *c.instance("i6")
		in.UUID, in.Name, in.Address = fmt.Sprintf("more-%d", i), fmt.Sprintf("more%d", i), fmt.Sprintf("127.0.0.2:%d", i)
		c.topology.Instances = append(c.topology.Instances, in)
	}
	v := c.view(false)
	in := shardStatements(v)["bound"]
	r := rand.New(rand.NewPCG(5, 6))
	got := map[string]int{}
	for range 3000 {
		in.Random = r.Uint64()
		p := Decide(in)
		if !p.ByShard || p.Strict || p.Kind != Filter || p.Role != options.RoleAny {
			t.Fatalf("%+v", p)
		}
		got[p.Replicaset]++
	}
	for _, name := range []string{"default_1", "default_2", "default_3"} {
		if got[name] < 880 || got[name] > 1120 {
			t.Errorf("%v", got)
		}
	}
}

func TestRandomPassesOverReplicasetsThatCannotBeUsed(t *testing.T) {
	c := newCluster()
	c.cfg.NoShard = options.NoShard{Behavior: options.NoShardRandom}
	c.instance("i3").State, c.instance("i4").State = metadata.Offline, metadata.Offline
	in := shardStatements(c.view(false))["bound"]
	for random := uint64(1); random != 0; random <<= 1 {
		in.Random = random
		if p := Decide(in); p.Replicaset == "default_2" || p.Kind != Filter {
			t.Fatalf("%+v", p)
		}
	}
	c.cfg.ForbiddenTiers = []string{"default", "cold"}
	check(t, "none can be used", shardStatements(c.view(false))["bound"], "balance not_routable")
}

// TestRandomHealthy is NS3 without the network: all but a trickle of the statements keep away from a replicaset
// that failed lately, and it gets its share back by itself, or sooner as statements succeed there.
func TestRandomHealthy(t *testing.T) {
	c := newCluster()
	c.cfg.NoShard = options.NoShard{Behavior: options.NoShardRandomHealthy}
	in := shardStatements(c.view(false))["bound"]
	in.Health = new(Health)
	r := rand.New(rand.NewPCG(7, 8))
	shares := func(now time.Time) map[string]int {
		got := map[string]int{}
		in.Now = now
		for range 3000 {
			in.Random = r.Uint64()
			got[Decide(in).Replicaset]++
		}
		return got
	}
	even := func(name string, got map[string]int) {
		t.Helper()
		for _, rs := range []string{"default_1", "default_2", "default_3"} {
			if got[rs] < 880 || got[rs] > 1120 {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	even("no errors", shares(t0))
	for range 8 {
		in.Health.Error("rs-default_1", t0)
	}
	few := func(got map[string]int) bool { return got["default_1"] > 20 && got["default_1"] < 120 }
	if got := shares(t0); !few(got) || got["default_2"] < 1300 {
		t.Errorf("after errors all but a trickle go elsewhere: %v", got)
	}
	if got := shares(t0.Add(39 * time.Second)); !few(got) {
		t.Errorf("too early: %v", got)
	}
	for range 4 { // as the trickle shows that it is well
		in.Health.Success("rs-default_1", t0)
	}
	even("forgiven", shares(t0))
	even("recovered", shares(t0.Add(41*time.Second)))
	for _, rs := range []string{"rs-default_1", "rs-default_2", "rs-default_3"} {
		in.Health.Error(rs, t0.Add(time.Minute))
	}
	even("all failed alike", shares(t0.Add(time.Minute)))
	in.Health = nil
	even("no scores kept", shares(t0))
}

func TestHealthDecays(t *testing.T) {
	var h Health
	near := func(after time.Duration, want float64) {
		t.Helper()
		if got := h.scores["a"].now(t0.Add(after)); math.Abs(got-want) > 1e-9 {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
	near(0, 0)
	h.Error("a", t0)
	near(0, 1)
	near(10*time.Second, 0.5)
	near(20*time.Second, 0.25)
	near(-time.Second, 1) // a clock that went back gives no credit
	h.Error("a", t0.Add(10*time.Second))
	near(10*time.Second, 1.5)
	for range 100 {
		h.Error("a", t0.Add(20*time.Second))
	}
	near(20*time.Second, scoreMax)
	h.Error("", t0)
	h.Error("b", t0.Add(time.Hour)) // and "a" is forgotten
	if len(h.scores) != 1 || h.scores["b"].now(t0.Add(time.Hour)) != 1 {
		t.Errorf("%v", h.scores)
	}
	for range 4 {
		h.Error("b", t0.Add(time.Hour))
	}
	for range 10 {
		h.Success("b", t0.Add(time.Hour))
		h.Success("c", t0.Add(time.Hour))
	}
	if len(h.scores) != 0 || h.kept.Load() != 0 {
		t.Errorf("ten successes after five errors leave %v", h.scores)
	}
}

func TestCompareNatural(t *testing.T) {
	ordered := []string{"", "1", "01", "2", "10", "a", "a1", "a1b", "a02", "a2", "a10", "a10b1", "a10b02", "b", "b99999999999999999999998", "b99999999999999999999999"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := compareNatural(a, b)
			if (got < 0) != (i < j) && !(a == "1" && b == "01" || a == "01" && b == "1" || a == "a02" && b == "a2" || a == "a2" && b == "a02") || (got == 0) != (i == j) || got != -compareNatural(b, a) {
				t.Errorf("%q, %q: %d", a, b, got)
			}
		}
	}
}

// A key of a tier whose bucket can't be told stays in its tier: the others have none of its rows.
func TestNoShardStaysInTheTier(t *testing.T) {
	v := withNoShard(options.NoShardRandom, 0, options.NoShardBound)
	const sql = "insert into cold values ($1)"
	for _, in := range []*Input{
		input(v, sql, "x").meta("cold", one(20)), // not hashed
		input(v, sql).meta("cold", one(20)),      // no argument
	} {
		for i := range 50 {
			in.Random = uint64(i) << 58
			if p := Decide(in); p.Kind != Filter || p.Tier != "cold" || p.Replicaset != "cold_1" || p.ReplicasetUUID != "rs-cold_1" {
				t.Fatalf("%s", Describe(p))
			}
		}
	}
}

// What a hint names is checked against tiers only where there are tiers.
func TestHintOfATierBeforeTiersAreKnown(t *testing.T) {
	c := newCluster()
	c.topology.Tiers = nil
	in := input(c.view(false), "select 1")
	in.Hint = &Hint{Tier: "hot"}
	if p := Decide(in); p.Kind != Filter || p.Tier != "hot" || !p.Strict {
		t.Errorf("%s", Describe(p))
	}
}

// A replicaset that isn't there is an error beside a bucket too.
func TestHintOfABucketAndAnUnknownReplicaset(t *testing.T) {
	in := input(newCluster().view(false), "select 1")
	in.Hint = &Hint{Bucket: 1934, BucketSet: true, Replicaset: "nope"}
	var unknown *UnknownNameError
	if p := Decide(in); p.Kind != Invalid || !errors.As(p.Err, &unknown) || unknown.What != "replicaset" || unknown.Name != "nope" {
		t.Errorf("%+v", p)
	}
}
