package watch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/picodata/go-picodata/metadata"
)

// history is what a cluster goes through, one step after another.
func history(rnd *rand.Rand, steps int) (all []*metadata.Topology) {
	c := newFakeCluster(6)
	joined := 6
	for range steps {
		i := rnd.IntN(len(c.instances))
		in := &c.instances[i]
		switch rnd.IntN(5) {
		case 0: // one step on the way of an instance
			switch {
			case in.State == metadata.Expelled:
			case in.State == metadata.Online && in.TargetState == metadata.Online:
				in.TargetState = metadata.Offline
			case in.State == metadata.Online:
				in.State = metadata.Offline
			case in.TargetState == metadata.Offline:
				in.TargetState = metadata.Online
			default:
				in.State = metadata.Online
				in.Incarnation++
			}
		case 1:
			r := &c.replicasets[rnd.IntN(len(c.replicasets))]
			r.ConfigVersion++
		case 2:
			joined++
			next := *in
			next.UUID, next.Name, next.RaftID, next.Incarnation = "uuid-"+string(rune('A'+joined)), "n"+string(rune('A'+joined)), uint64(joined), 1
			next.State, next.TargetState = metadata.Online, metadata.Online
			c.instances = append(c.instances, next)
		case 3: // expelled, and its name given to a new one
			if rnd.IntN(4) == 0 {
				joined++
				in.UUID, in.RaftID, in.Incarnation, in.State, in.TargetState = "uuid-"+string(rune('A'+joined)), uint64(joined), 1, metadata.Online, metadata.Online
			} else {
				in.State, in.TargetState = metadata.Expelled, metadata.Expelled
			}
		}
		all = append(all, metadata.Build(metadata.Topology{RolesKnown: true, Instances: slices.Clone(c.instances), Replicasets: slices.Clone(c.replicasets), Tiers: slices.Clone(c.tiers)}))
	}
	return all
}

// Of any two pictures of one history the older one is behind the newer, unless they say the same, and never the other way round.
func TestBehindIsOrder(t *testing.T) {
	for seed := range uint64(300) {
		all := history(rand.New(rand.NewPCG(seed, 5)), 40)
		for i, older := range all {
			for j, newer := range all[i:] {
				if behind(newer, older) {
					t.Fatalf("seed %d: step %d is behind step %d", seed, i+j, i)
				}
				if same := older.Equal(newer) && slices.EqualFunc(older.Replicasets, newer.Replicasets, func(a, b metadata.Replicaset) bool { return a.ConfigVersion == b.ConfigVersion }); !same && !behind(older, newer) && len(older.Instances) <= len(newer.Instances) {
					t.Fatalf("seed %d: step %d isn't behind step %d\n%+v\n%+v", seed, i, i+j, older.Instances, newer.Instances)
				}
			}
		}
	}
}

func TestCalm(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeCluster)
		want   calm
	}{
		{"nothing", func(*fakeCluster) {}, settled},
		{"a replica is told to stop", func(c *fakeCluster) { c.instances[1].TargetState = metadata.Offline }, settling},
		{"a replica is away", func(c *fakeCluster) {
			c.instances[1].State, c.instances[1].TargetState = metadata.Offline, metadata.Offline
		}, settled},
		{"a replica comes back", func(c *fakeCluster) { c.instances[1].State = metadata.Offline }, settling},
		{"a leader is told to stop", func(c *fakeCluster) { c.instances[0].TargetState = metadata.Offline }, leaderless},
		{"a leader is away", func(c *fakeCluster) {
			c.instances[0].State, c.instances[0].TargetState = metadata.Offline, metadata.Offline
		}, leaderless},
		{"a switch", func(c *fakeCluster) { c.replicasets[0].TargetMaster = "i2" }, leaderless},
		{"all are away", func(c *fakeCluster) {
			for i := range c.instances {
				c.instances[i].State, c.instances[i].TargetState = metadata.Offline, metadata.Offline
			}
		}, leaderless},
		{"an expelled one stays where it is", func(c *fakeCluster) {
			c.instances[1].State, c.instances[1].TargetState = metadata.Expelled, metadata.Online
		}, settled},
	} {
		f := newFakeCluster(4)
		c.change(f)
		topo := metadata.Build(metadata.Topology{RolesKnown: true, Instances: f.instances, Replicasets: f.replicasets, Tiers: f.tiers})
		if got := calmOf(topo); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
