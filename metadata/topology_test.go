package metadata

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomTopology has reused names, expelled instances, switching replicasets and strays.
func randomTopology(rnd *rand.Rand) Topology {
	t := Topology{RolesKnown: rnd.IntN(8) > 0}
	states := []State{Online, Online, Online, Offline, Expelled, "Odd"}
	for r := range rnd.IntN(4) {
		name := func() string { return fmt.Sprintf("i%d", rnd.IntN(8)) }
		rs := Replicaset{UUID: fmt.Sprintf("rs-%d", r), Name: fmt.Sprintf("default_%d", r), Tier: "default", CurrentMaster: name()}
		rs.TargetMaster = rs.CurrentMaster
		if rnd.IntN(4) == 0 {
			rs.TargetMaster = name()
		}
		rs.ConfigVersion = uint64(rnd.IntN(3))
		t.Replicasets = append(t.Replicasets, rs)
	}
	for i := range rnd.IntN(9) {
		rs := rnd.IntN(4)
		in := Instance{UUID: fmt.Sprintf("uuid-%d", i), Name: fmt.Sprintf("i%d", rnd.IntN(8)), RaftID: uint64(i + 1), Tier: "default",
			ReplicasetUUID: fmt.Sprintf("rs-%d", rs), ReplicasetName: fmt.Sprintf("default_%d", rs), State: states[rnd.IntN(len(states))],
			Address: fmt.Sprintf("10.0.0.%d:4327", rnd.IntN(6)), Version: "26.2.1", Incarnation: uint64(rnd.IntN(3))}
		in.TargetState, in.Advertised = in.State, in.Address
		if rnd.IntN(5) == 0 {
			in.Address = ""
		}
		if rnd.IntN(6) == 0 {
			in.TargetState = Offline
		}
		if rnd.IntN(3) == 0 {
			in.Tier, in.FailureDomain = "cold", map[string]string{"DC": fmt.Sprint(rnd.IntN(2))}
		}
		t.Instances = append(t.Instances, in)
	}
	t.Tiers = []Tier{{Name: "default", BucketCount: 3000, BucketsKnown: true}, {Name: "cold", BucketCount: uint64(rnd.IntN(2)) * 100, BucketsKnown: rnd.IntN(2) == 0}}
	for i := range rnd.IntN(3) {
		s := Seed{Address: fmt.Sprintf("10.0.0.%d:4327", i)}
		if rnd.IntN(2) == 0 {
			s.InstanceUUID = fmt.Sprintf("uuid-%d", rnd.IntN(9))
		}
		t.Seeds = append(t.Seeds, s)
	}
	if rnd.IntN(10) == 0 {
		t.Static, t.Instances, t.Replicasets, t.Tiers = true, nil, nil, nil
	}
	return t
}

// shuffled is the same cluster told in another order.
func shuffled(t Topology, rnd *rand.Rand) Topology {
	t.Instances, t.Replicasets, t.Tiers = slices.Clone(t.Instances), slices.Clone(t.Replicasets), slices.Clone(t.Tiers)
	rnd.Shuffle(len(t.Instances), func(i, j int) { t.Instances[i], t.Instances[j] = t.Instances[j], t.Instances[i] })
	rnd.Shuffle(len(t.Replicasets), func(i, j int) { t.Replicasets[i], t.Replicasets[j] = t.Replicasets[j], t.Replicasets[i] })
	rnd.Shuffle(len(t.Tiers), func(i, j int) { t.Tiers[i], t.Tiers[j] = t.Tiers[j], t.Tiers[i] })
	return t
}

func TestBuildProperties(t *testing.T) {
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		raw := randomTopology(rnd)
		topo, again := Build(shuffled(raw, rnd)), Build(shuffled(raw, rnd))
		if !topo.Equal(again) {
			t.Fatalf("seed %d: the order of rows matters:\n%+v\n%+v", seed, topo, again)
		}
		plain := *topo
		plain.index = nil
		for i := range 10 {
			for what, pair := range map[string][2]any{
				"instance":   {first(topo.Instance(fmt.Sprintf("uuid-%d", i))), first(plain.Instance(fmt.Sprintf("uuid-%d", i)))},
				"name":       {first(topo.ByName(fmt.Sprintf("i%d", i))), first(plain.ByName(fmt.Sprintf("i%d", i)))},
				"replicaset": {first(topo.Replicaset(fmt.Sprintf("rs-%d", i))), first(plain.Replicaset(fmt.Sprintf("rs-%d", i)))},
				"tier":       {first(topo.Tier([]string{"default", "cold"}[i%2])), first(plain.Tier([]string{"default", "cold"}[i%2]))},
			} {
				if pair[0] != pair[1] {
					t.Fatalf("seed %d: %s %d: with the index %v, without %v", seed, what, i, pair[0], pair[1])
				}
			}
		}
		for i := range topo.Replicasets {
			r := &topo.Replicasets[i]
			leaders := 0
			for j := range topo.Instances {
				in := &topo.Instances[j]
				if in.Role == RoleLeader && in.ReplicasetUUID == r.UUID {
					leaders++
					if in.UUID != r.LeaderUUID || in.Name != r.CurrentMaster || in.State == Expelled || r.Switching || !topo.RolesKnown {
						t.Fatalf("seed %d: %+v leads %+v", seed, in, r)
					}
				}
			}
			if l, ok := topo.Leader(r.UUID); ok != (r.LeaderUUID != "") || ok != (leaders == 1) || ok && l.Role != RoleLeader {
				t.Fatalf("seed %d: %d leaders of %+v", seed, leaders, r)
			}
		}
	}
}

func first[T any](v *T, _ bool) *T { return v }

func TestLeaderNeedsItsReplicaset(t *testing.T) {
	rs := []Replicaset{
		{UUID: "r1", CurrentMaster: "i1", TargetMaster: "i1"},
		{UUID: "r2", CurrentMaster: "i3", TargetMaster: "i4"}, // switching
		{UUID: "r3", CurrentMaster: "i9", TargetMaster: "i9"}, // nobody of that name
		{UUID: "r4", CurrentMaster: "i1", TargetMaster: "i1"}, // a stale name: i1 is r1's now
	}
	topo := Build(Topology{RolesKnown: true, Replicasets: rs, Instances: []Instance{
		{UUID: "old1", Name: "i1", RaftID: 1, ReplicasetUUID: "r1", State: Expelled},
		{UUID: "new1", Name: "i1", RaftID: 7, ReplicasetUUID: "r1", State: Online},
		{UUID: "u2", Name: "i2", RaftID: 2, ReplicasetUUID: "r1", State: Offline},
		{UUID: "u3", Name: "i3", RaftID: 3, ReplicasetUUID: "r2", State: Online},
		{UUID: "u4", Name: "i4", RaftID: 4, ReplicasetUUID: "r2", State: Online},
		{UUID: "u5", Name: "i5", RaftID: 5, ReplicasetUUID: "r2", State: Online},
		{UUID: "u6", Name: "i6", RaftID: 6, ReplicasetUUID: "r3", State: Online},
		{UUID: "u8", Name: "i8", RaftID: 8, ReplicasetUUID: "r4", State: Online},
		{UUID: "u0", Name: "i0", RaftID: 10, ReplicasetUUID: "nowhere", State: Online},
	}})
	roles := map[string]Role{"old1": RoleUnknown, "new1": RoleLeader, "u2": RoleReplica, "u3": RoleUnknown, "u4": RoleUnknown,
		"u5": RoleReplica, "u6": RoleUnknown, "u8": RoleUnknown, "u0": RoleUnknown}
	for uuid, want := range roles {
		if in, _ := topo.Instance(uuid); in.Role != want {
			t.Errorf("%s is %s, want %s", uuid, in.Role, want)
		}
	}
	if r, _ := topo.Replicaset("r2"); !r.Switching || r.LeaderUUID != "" {
		t.Errorf("%+v", r)
	}
	if in, _ := topo.ByName("i1"); in.UUID != "new1" {
		t.Errorf("i1 is %s", in.UUID)
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	topo := bigTopology(100, 4)
	if n := testing.AllocsPerRun(100, func() {
		topo.Instance("uuid-77")
		topo.ByName("i77")
		topo.Leader("rs-7")
		topo.Tier("default")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var none *Topology
	if _, ok := none.Instance("x"); ok {
		t.Error("nil knows an instance")
	}
	if _, ok := none.Leader("x"); ok {
		t.Error("nil knows a leader")
	}
}

// bigTopology has this many replicasets in tier default, each of the same size, led by its first.
func bigTopology(replicasets, size int) *Topology {
	t := Topology{RolesKnown: true, Tiers: []Tier{{Name: "default", BucketCount: 3000, BucketsKnown: true}}}
	n := 0
	for r := range replicasets {
		for range size {
			t.Instances = append(t.Instances, Instance{UUID: fmt.Sprintf("uuid-%d", n), Name: fmt.Sprintf("i%d", n), RaftID: uint64(n + 1), Tier: "default",
				ReplicasetUUID: fmt.Sprintf("rs-%d", r), ReplicasetName: fmt.Sprintf("default_%d", r), State: Online, TargetState: Online,
				Version: "26.2.1", Address: fmt.Sprintf("10.0.%d.%d:4327", n/250, n%250), Advertised: fmt.Sprintf("10.0.%d.%d:4327", n/250, n%250), Incarnation: 1})
			n++
		}
		master := fmt.Sprintf("i%d", r*size)
		t.Replicasets = append(t.Replicasets, Replicaset{UUID: fmt.Sprintf("rs-%d", r), Name: fmt.Sprintf("default_%d", r), Tier: "default", State: "ready",
			CurrentMaster: master, TargetMaster: master, ConfigVersion: 1})
	}
	return Build(t)
}
