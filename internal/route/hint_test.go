package route

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

func TestHints(t *testing.T) {
	v := newCluster().view(true)
	const leader, replica = options.RoleLeader, options.RoleReplica
	for _, c := range []struct {
		name string
		hint Hint
		want string
	}{
		{"instance by name", Hint{Instance: "i4"}, "filter! i4"},
		{"instance by uuid", Hint{Instance: "uuid-i4"}, "filter! i4"},
		{"instance and role", Hint{Instance: "i4", Role: leader}, "filter! i4 leader"},
		{"replicaset by name", Hint{Replicaset: "default_2"}, "filter! default_2"},
		{"replicaset by uuid", Hint{Replicaset: "rs-default_2"}, "filter! default_2"},
		{"its leader", Hint{Replicaset: "default_2", Role: leader}, "filter! default_2 leader"},
		{"its replicas", Hint{Replicaset: "default_2", Role: replica}, "filter! default_2 replica"},
		{"tier", Hint{Tier: "cold"}, "filter! tier=cold"},
		{"tier and role", Hint{Tier: "cold", Role: replica}, "filter! tier=cold replica"},
		{"leaders", Hint{Role: leader}, "filter! leader"},
		{"bucket of the default tier", Hint{Bucket: 1934, BucketSet: true}, "filter! default_2 default/1934 leader"},
		{"bucket of a tier", Hint{Tier: "cold", Bucket: 300, BucketSet: true}, "filter! cold_1 cold/300 leader"},
		{"a replica of a bucket", Hint{Bucket: 1934, BucketSet: true, Role: replica}, "filter! default_2 default/1934 replica"},
		{"key", Hint{Key: []any{1}, KeySet: true}, "filter! default_2 default/1934 leader"},
		{"key of two columns", Hint{Tier: "default", Key: []any{"lol", int32(42)}, KeySet: true}, "filter! default_1 default/739 leader"},
		{"key of a UUID", Hint{Key: []any{uuid.MustParse("9035910e-8342-4460-8c25-25e5f10d9876")}, KeySet: true}, "filter! default_1 default/63 leader"},
		{"key of NULL", Hint{Key: []any{nil}, KeySet: true}, "filter! default_2 default/1638 leader"},
		{"an instance for a bucket", Hint{Bucket: 1934, BucketSet: true, Instance: "i4"}, "filter! i4 default_2 default/1934"},
		{"a replicaset that doesn't own the bucket", Hint{Bucket: 1934, BucketSet: true, Replicaset: "default_1"}, "filter! default_1 leader"},

		{"a key that can't be hashed", Hint{Key: []any{1e300}, KeySet: true}, "balance no_bucket"},
		{"a key of an unknown type", Hint{Key: []any{struct{}{}}, KeySet: true}, "balance no_bucket"},
		{"a key that can't be hashed, on a leader", Hint{Key: []any{1e300}, KeySet: true, Role: leader}, "filter! leader no_bucket"},
		{"a tier whose buckets aren't known", Hint{Tier: "new", Bucket: 1, BucketSet: true}, "balance unknown_tier"},

		{"no such instance", Hint{Instance: "i99"}, "invalid!"},
		{"no such replicaset", Hint{Replicaset: "default_99"}, "invalid!"},
		{"no such tier", Hint{Tier: "hot"}, "invalid!"},
		{"bucket 0", Hint{Bucket: 0, BucketSet: true}, "invalid!"},
		{"a bucket too many", Hint{Bucket: 3001, BucketSet: true}, "invalid!"},
	} {
		in := input(v, "insert into t values ($1, $2)", int64(5), "a")
		in.Hint = &c.hint
		p := Decide(in)
		if p.Kind == Invalid {
			if c.want != "invalid!" || p.Err == nil {
				t.Errorf("%s: %v, want %s", c.name, p.Err, c.want)
			}
			continue
		}
		if got := where(p); got != c.want || !p.Hinted || p.Routed() || p.OneBucket() {
			t.Errorf("%s: %s, want %s\n\t%s", c.name, got, c.want, Describe(p))
		}
		if p.Reason == NoReason && p.Counter() != "hint" || p.Reason != NoReason && p.Counter() != string(p.Reason) {
			t.Errorf("%s: counted as %s", c.name, p.Counter())
		}
	}
}

func TestHintErrorsAreTyped(t *testing.T) {
	v := newCluster().view(false)
	decide := func(h Hint) error {
		in := input(v, "select 1")
		in.Hint = &h
		return Decide(in).Err
	}
	var name *UnknownNameError
	if err := decide(Hint{Replicaset: "x"}); !errors.As(err, &name) || name.What != "replicaset" || name.Name != "x" {
		t.Errorf("%v", err)
	}
	var rng *BucketRangeError
	if err := decide(Hint{Tier: "cold", Bucket: 301, BucketSet: true}); !errors.As(err, &rng) || rng.Count != 300 || rng.Tier != "cold" {
		t.Errorf("%v", err)
	}
}

// TestHintsWhileNothingIsKnown: the names can't be judged then, so whoever leases waits or fails.
func TestHintsWhileNothingIsKnown(t *testing.T) {
	for name, v := range map[string]*View{
		"no snapshot": NewView(options.New(), nil, nil, nil),
		"static":      NewView(options.New(), metadata.Build(metadata.Topology{Static: true}), nil, nil),
	} {
		for _, c := range []struct {
			hint Hint
			want Plan
		}{
			{Hint{Instance: "i4"}, Plan{Kind: Filter, Strict: true, Hinted: true, InstanceUUID: "i4"}},
			{Hint{Replicaset: "r"}, Plan{Kind: Filter, Strict: true, Hinted: true, ReplicasetUUID: "r"}},
			{Hint{Tier: "cold"}, Plan{Kind: Filter, Strict: true, Hinted: true, Tier: "cold"}},
			{Hint{Bucket: 5, BucketSet: true}, Plan{Kind: Balance, Hinted: true, Reason: NoTopology, Refresh: schema.HintBuckets}},
		} {
			in := input(v, "select 1")
			in.Hint = &c.hint
			if p := Decide(in); p != c.want {
				t.Errorf("%s, %+v: %+v", name, c.hint, p)
			}
		}
	}
}

// TestReplicasetHintsWithoutTheRightToReadReplicasets: the instances' rows name them too.
func TestReplicasetHintsWithoutTheRightToReadReplicasets(t *testing.T) {
	c := newCluster()
	c.topology.RolesKnown, c.topology.Replicasets = false, nil
	in := input(c.view(false), "select 1")
	in.Hint = &Hint{Replicaset: "default_2"}
	check(t, "by name", in, "filter! default_2")
	in.Hint = &Hint{Bucket: 1934, BucketSet: true}
	check(t, "by bucket: no role is known to ask for", in, "filter! default_2 default/1934")
}
