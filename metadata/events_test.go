package metadata

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What a listener who knows nothing but the events believes is what the new snapshot says.
func TestDiffTellsEverything(t *testing.T) {
	type node struct{ address, state, role, version string }
	living := func(topo *Topology) map[string]node {
		m := map[string]node{}
		for i := range topo.Instances {
			if in := &topo.Instances[i]; in.State != Expelled {
				m[in.UUID] = node{in.Address, stateText(in), in.Role.String(), in.Version}
			}
		}
		return m
	}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		old, new := Build(randomTopology(rnd)), Build(randomTopology(rnd))
		events := Diff(old, new)
		view, want := living(old), living(new)
		for _, e := range events {
			n := view[e.UUID]
			switch e.Kind {
			case Joined:
				if _, had := view[e.UUID]; had {
					t.Fatalf("seed %d: %+v was there", seed, e)
				}
				n = want[e.UUID] // a newcomer comes with everything
			case Left:
				if _, had := view[e.UUID]; !had {
					t.Fatalf("seed %d: %+v wasn't there", seed, e)
				}
				delete(view, e.UUID)
				continue
			case StateChanged:
				if n.state != e.From {
					t.Fatalf("seed %d: %+v, but it was %+v", seed, e, n)
				}
				n.state = e.To
			case RoleChanged:
				n.role = e.To
			case AddressChanged:
				n.address = e.To
			case VersionChanged:
				n.version = e.To
			default:
				continue
			}
			view[e.UUID] = n
		}
		if len(view) != len(want) {
			t.Fatalf("seed %d: %d instances by the events, %d in truth", seed, len(view), len(want))
		}
		for uuid, n := range want {
			if view[uuid] != n {
				t.Fatalf("seed %d: %s is %+v by the events, %+v in truth", seed, uuid, view[uuid], n)
			}
		}
		if same := old.Equal(new); same && len(events) > 0 {
			t.Fatalf("seed %d: the same, but %+v", seed, events)
		}
		if n := len(new.Instances); n > 0 {
			moved := *new
			moved.Instances = slices.Clone(new.Instances)
			moved.Instances[rnd.IntN(n)].Address += "0"
			if new.Equal(&moved) {
				t.Fatalf("seed %d: an address changed unseen", seed)
			}
		}
		if e := Diff(new, new); len(e) > 0 {
			t.Fatalf("seed %d: different from itself: %+v", seed, e)
		}
		if twin := Build(shuffled(*new, rnd)); len(Diff(new, twin)) > 0 || !new.Equal(twin) {
			t.Fatalf("seed %d: different from its twin", seed)
		}
	}
}

func TestDiffOfReplicasets(t *testing.T) {
	at := func(current, target string) *Topology {
		return Build(Topology{RolesKnown: true, Replicasets: []Replicaset{{UUID: "r", Name: "default_1", CurrentMaster: current, TargetMaster: target}},
			Instances: []Instance{{UUID: "a", Name: "i1", ReplicasetUUID: "r", State: Online}, {UUID: "b", Name: "i2", ReplicasetUUID: "r", State: Online}}})
	}
	kinds := func(old, new *Topology) (k []EventKind) {
		for _, e := range Diff(old, new) {
			if e.Kind == SwitchStarted || e.Kind == SwitchEnded || e.Kind == ReplicasetAdded || e.Kind == ReplicasetGone {
				k = append(k, e.Kind)
			}
		}
		return k
	}
	for _, c := range []struct {
		old, new *Topology
		want     []EventKind
	}{
		{nil, at("i1", "i1"), []EventKind{ReplicasetAdded}},
		{at("i1", "i1"), at("i1", "i2"), []EventKind{SwitchStarted}},
		{at("i1", "i2"), at("i2", "i2"), []EventKind{SwitchEnded}},
		{at("i1", "i1"), at("i2", "i2"), []EventKind{SwitchEnded}}, // too quick to be seen under way
		{at("i1", "i2"), at("i1", "i1"), []EventKind{SwitchEnded}},
		{at("i1", "i2"), at("i1", "i2"), nil},
		{at("i1", "i1"), nil, []EventKind{ReplicasetGone}},
	} {
		if got := kinds(c.old, c.new); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

func TestEventKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Joined; k <= SeedIdentified; k++ {
		if s := k.String(); s == "unknown event" || seen[s] {
			t.Errorf("kind %d is called %q", k, s)
		} else {
			seen[s] = true
		}
	}
	if EventKind(0).String() != "unknown event" || EventKind(200).String() != "unknown event" {
		t.Error("a kind that doesn't exist has a name")
	}
}

// An unchanged cluster costs no allocation, whatever its size; one change costs that change.
func TestDiffAllocatesForChangesAlone(t *testing.T) {
	a, b := bigTopology(100, 4), bigTopology(100, 4)
	if n := testing.AllocsPerRun(20, func() { Diff(a, b) }); n != 0 {
		t.Errorf("%v allocations for no change", n)
	}
	b.Instances[123].State = Offline
	if n := testing.AllocsPerRun(20, func() { Diff(a, b) }); n > 4 {
		t.Errorf("%v allocations for one change", n)
	}
}
