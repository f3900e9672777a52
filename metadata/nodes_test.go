package metadata

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/picodata/go-picodata/options"
)

func randomPolicy(rnd *rand.Rand) *options.Config {
	cfg := &options.Config{Mode: options.Mode(rnd.IntN(2)), Topology: rnd.IntN(3) > 0, InstanceRole: options.InstanceRole(rnd.IntN(3))}
	if rnd.IntN(3) == 0 {
		cfg.AllowedTiers = []string{[]string{"default", "cold"}[rnd.IntN(2)]}
	}
	if rnd.IntN(3) == 0 {
		cfg.ForbiddenTiers = []string{[]string{"default", "cold"}[rnd.IntN(2)]}
	}
	if rnd.IntN(3) == 0 {
		cfg.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/30")}
	}
	return cfg
}

func TestSelectProperties(t *testing.T) {
	seen := map[Exclusion]int{}
	for seed := range uint64(20000) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		topo, cfg := Build(randomTopology(rnd)), randomPolicy(rnd)
		before := fmt.Sprintf("%+v", topo.Instances)
		views := Select(cfg, topo)
		fail := func(format string, args ...any) {
			t.Fatalf("seed %d: %s\npolicy %+v\ninstances %+v\nseeds %+v", seed, fmt.Sprintf(format, args...), cfg, topo.Instances, topo.Seeds)
		}
		if !reflect.DeepEqual(views, Select(cfg, topo)) || fmt.Sprintf("%+v", topo.Instances) != before {
			fail("not pure")
		}
		ids, addresses := map[string]bool{}, map[string]string{}
		instances := 0
		for i := range views {
			v := &views[i]
			seen[v.Excluded]++
			if ids[v.ID] {
				fail("%s twice", v.ID)
			}
			ids[v.ID] = true
			if v.Instance == nil {
				if v.ID != SeedID(v.Address) || !topo.Static && (cfg.Mode != options.Bootstrap || cfg.Topology) {
					fail("seed %+v stands for itself", v)
				}
			} else {
				instances++
			}
			if v.Excluded.Unreachable() {
				continue
			}
			// Whatever can be used has an address of its own, and so have its alternates.
			for _, a := range append([]string{v.Address}, v.Alternates...) {
				if holder, taken := addresses[a]; a == "" || taken && holder != v.ID {
					fail("%s has address %q of %q", v.ID, a, holder)
				}
				addresses[a] = v.ID
			}
			in := v.Instance
			if in == nil {
				if v.Excluded == Included && cfg.InstanceRole != options.RoleAny {
					fail("the role of seed %s isn't known", v.ID)
				}
				continue
			}
			if in.State != Online || in.TargetState != Online {
				fail("%+v is used", in)
			}
			known := slices.ContainsFunc(topo.Seeds, func(s Seed) bool { return s.InstanceUUID == in.UUID })
			if cfg.Mode == options.Bootstrap && !known {
				fail("%s isn't in the DSN", in.UUID)
			}
			isSeed := slices.ContainsFunc(topo.Seeds, func(s Seed) bool { return s.Address == v.Address })
			if allowed, _ := AddressAllowed(cfg.AllowedNetworks, v.Address); !allowed && !isSeed {
				fail("%s is outside the networks", v.Address)
			}
			if v.Excluded != Included {
				continue
			}
			switch {
			case len(cfg.AllowedTiers) > 0 && !slices.Contains(cfg.AllowedTiers, in.Tier), slices.Contains(cfg.ForbiddenTiers, in.Tier):
				fail("tier of %+v", in)
			case cfg.InstanceRole == options.RoleLeader && in.Role != RoleLeader, cfg.InstanceRole == options.RoleReplica && in.Role != RoleReplica:
				fail("role of %+v", in)
			}
			if tier, _ := topo.Tier(in.Tier); tier.BucketsKnown && tier.BucketCount == 0 && !slices.Contains(cfg.AllowedTiers, in.Tier) {
				fail("tier of %+v has no buckets", in)
			}
		}
		living := 0
		for _, in := range topo.Instances {
			if in.State != Expelled {
				living++
			}
		}
		if instances != living {
			fail("%d views of %d instances", instances, living)
		}
	}
	for e := Included; e <= RoleNotKnown; e++ {
		if seen[e] == 0 {
			t.Errorf("%q never came up", e)
		}
	}
}

// behindNAT is the cluster of the scenario: forwarded ports, and advertised addresses of which none works.
func behindNAT(seeds ...Seed) *Topology {
	return Build(Topology{RolesKnown: true, Tiers: []Tier{{Name: "default", BucketCount: 3000, BucketsKnown: true}}, Seeds: seeds, Instances: []Instance{
		{UUID: "a", Name: "i1", Tier: "default", State: Online, TargetState: Online, Address: "172.17.0.2:4327"},
		{UUID: "b", Name: "i2", Tier: "default", State: Online, TargetState: Online, Address: "127.0.0.1:4327", Advertised: "0.0.0.0:4327"},
		{UUID: "c", Name: "i3", Tier: "default", State: Online, TargetState: Online, Address: "10.255.255.1:4327"},
	}})
}

func TestSelectBehindNAT(t *testing.T) {
	topo := behindNAT(Seed{"127.0.0.1:14327", "a", false}, Seed{Address: "127.0.0.1:14328", InstanceUUID: "b"}, Seed{Address: "127.0.0.1:14329", InstanceUUID: ""})
	views := Select(&options.Config{Topology: true}, topo)
	if v := views[0]; v.Address != "127.0.0.1:14327" || !slices.Equal(v.Alternates, []string{"172.17.0.2:4327"}) || v.Excluded != Included {
		t.Errorf("the DSN's address is known to work, the advertised one isn't: %+v", v)
	}
	met := behindNAT(Seed{Address: "127.0.0.1:14327", InstanceUUID: "a", OwnAddress: true})
	if v := Select(&options.Config{Topology: true}, met)[0]; v.Address != "172.17.0.2:4327" || !slices.Equal(v.Alternates, []string{"127.0.0.1:14327"}) {
		t.Errorf("once somebody was met there, discovery dials the advertised address: %+v", v)
	}
	if v := views[2]; v.Alternates != nil || v.Excluded != Included {
		t.Errorf("%+v", v)
	}
	views = Select(&options.Config{Mode: options.Bootstrap, Topology: true}, topo)
	if v := views[0]; v.Address != "127.0.0.1:14327" || !slices.Equal(v.Alternates, []string{"172.17.0.2:4327"}) || v.Excluded != Included {
		t.Errorf("bootstrap dials the DSN's address: %+v", v)
	}
	if v := views[2]; v.Excluded != NotInDSN {
		t.Errorf("nobody said that it is i3: %+v", v)
	}
	views = Select(&options.Config{Mode: options.Bootstrap}, topo)
	if len(views) != 4 || views[3].ID != "seed:127.0.0.1:14329" || views[3].Excluded != Included || views[3].Name() != "127.0.0.1:14329" {
		t.Errorf("with topology=off a node of the DSN stays one: %+v", views)
	}
}

func TestSelectGivesAnAddressToOne(t *testing.T) {
	same := func(seeds ...Seed) *Topology {
		return Build(Topology{Seeds: seeds, Instances: []Instance{
			{UUID: "a", Name: "i1", State: Online, Address: "h:4327"},
			{UUID: "b", Name: "i2", State: Online, Address: "h:4327"},
			{UUID: "c", Name: "i3", State: Offline, Address: "h:4327"},
		}})
	}
	cfg := &options.Config{Topology: true}
	excluded := func(topo *Topology) (e []Exclusion) {
		for _, v := range Select(cfg, topo) {
			e = append(e, v.Excluded)
		}
		return e
	}
	if got := excluded(same()); !slices.Equal(got, []Exclusion{Included, AddressTaken, NotOnline}) {
		t.Errorf("%v", got)
	}
	if got := excluded(same(Seed{Address: "h:4327", InstanceUUID: "b"})); !slices.Equal(got, []Exclusion{AddressTaken, Included, NotOnline}) {
		t.Errorf("the one that was seen there: %v", got)
	}
	if got := excluded(same(Seed{Address: "h:4327", InstanceUUID: "c"})); !slices.Equal(got, []Exclusion{Included, AddressTaken, NotOnline}) {
		t.Errorf("the one that was seen there is gone: %v", got)
	}
}

func TestSelectOfStaticTopology(t *testing.T) {
	topo := Build(Topology{Static: true, Seeds: []Seed{{Address: "a:1", InstanceUUID: "x"}, {Address: "b:1"}, {Address: "c:1", InstanceUUID: "x"}, {Address: "b:1"}}})
	var ids []string
	for _, v := range Select(&options.Config{Topology: true}, topo) {
		ids = append(ids, v.ID)
		if v.Excluded != Included {
			t.Errorf("%+v", v)
		}
	}
	if !slices.Equal(ids, []string{"seed:a:1", "seed:b:1"}) {
		t.Errorf("%v: a:1 and c:1 are one instance, b:1 is given twice", ids)
	}
	for _, v := range Select(&options.Config{Topology: true, InstanceRole: options.RoleLeader}, topo) {
		if v.Excluded != RoleNotKnown {
			t.Errorf("%+v", v)
		}
	}
	if Select(&options.Config{}, nil) != nil {
		t.Error("nodes of no topology")
	}
}

func TestReplicasetsWithoutReplica(t *testing.T) {
	topo := Build(Topology{RolesKnown: true, Tiers: []Tier{{Name: "arbiter", BucketsKnown: true}},
		Replicasets: []Replicaset{
			{UUID: "r1", Name: "default_1", CurrentMaster: "i1", TargetMaster: "i1"},
			{UUID: "r2", Name: "default_2", CurrentMaster: "i3", TargetMaster: "i3"},
			{UUID: "r3", Name: "arbiter_1", Tier: "arbiter", CurrentMaster: "i5", TargetMaster: "i5"},
		},
		Instances: []Instance{
			{UUID: "1", Name: "i1", ReplicasetUUID: "r1", State: Online}, {UUID: "2", Name: "i2", ReplicasetUUID: "r1", State: Online},
			{UUID: "3", Name: "i3", ReplicasetUUID: "r2", State: Online}, {UUID: "4", Name: "i4", ReplicasetUUID: "r2", State: Offline},
		}})
	if got := ReplicasetsWithoutReplica(topo); !slices.Equal(got, []string{"default_2"}) {
		t.Error(got)
	}
}
