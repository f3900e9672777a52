package metadata

import (
	"slices"

	"github.com/picodata/go-picodata/options"
)

// Exclusion says why a node isn't in the node set.
type Exclusion uint8

// Exclusions, in the order in which they are looked at.
const (
	Included           Exclusion = iota
	NotOnline                    // its current or target state is another one
	NotInDSN                     // mode=bootstrap, and no node of the DSN has said it is this instance
	NoAddress                    // it advertises nothing that can be dialled
	AddressTaken                 // another instance answers at its address
	NetworkRefused               // its address is outside allowed_networks
	TierRefused                  // not in allowed_tiers, or in forbidden_tiers
	TierWithoutBuckets           // its tier holds no data and isn't named in allowed_tiers
	WrongRole                    // instance_role asks for the other one
	RoleNotKnown                 // instance_role asks for one, and the replicaset is switching or the user may not read _pico_replicaset
)

var exclusionNames = [...]string{
	Included: "included", NotOnline: "not online", NotInDSN: "not a node of the DSN", NoAddress: "no usable address",
	AddressTaken: "another instance answers at its address", NetworkRefused: "outside allowed_networks",
	TierRefused: "tier not allowed", TierWithoutBuckets: "tier without buckets", WrongRole: "other role", RoleNotKnown: "role not known",
}

// String is the exclusion in the words of log lines and Stats.
func (e Exclusion) String() string {
	if int(e) < len(exclusionNames) {
		return exclusionNames[e]
	}
	return "unknown"
}

// Unreachable tells whether nothing may be sent to the node at all; the other exclusions are
// the user's policy on a node that could be used.
func (e Exclusion) Unreachable() bool { return e >= NotOnline && e <= NetworkRefused }

// NodeView is one node as a policy sees it.
type NodeView struct {
	ID         string    // the instance's uuid, or "seed:host:port" when only the DSN is known
	Instance   *Instance // in the snapshot; nil for a seed. Read only
	Address    string    // where to dial first; "" if it has none
	Alternates []string  // other addresses that led to this instance once; whoever uses one checks pico_instance_uuid()
	Excluded   Exclusion
}

// Name is the instance's name, or the address of a seed.
func (v *NodeView) Name() string {
	if v.Instance != nil {
		return v.Instance.Name
	}
	return v.Address
}

// SeedID is the ID of a node of which only the address in the DSN is known.
func SeedID(address string) string { return "seed:" + address }

// Select applies the policy of cfg to a snapshot: one view for each instance that isn't
// expelled, in the snapshot's order, then one for each seed that stands for itself. A seed
// does that when the instances are unknown (Static), and in mode=bootstrap with topology=off while
// nobody knows who it is. Select is pure; cfg and topo are not changed.
func Select(cfg *options.Config, topo *Topology) []NodeView {
	if topo == nil {
		return nil
	}
	return AppendNodes(make([]NodeView, 0, len(topo.Instances)+len(topo.Seeds)), cfg, topo)
}

// AppendNodes is Select into a slice that is kept.
func AppendNodes(views []NodeView, cfg *options.Config, topo *Topology) []NodeView {
	if topo == nil {
		return views
	}
	c := newChooser(cfg, topo)
	for i := range topo.Instances {
		in := &topo.Instances[i]
		if in.State == Expelled {
			continue
		}
		v := NodeView{ID: in.UUID, Instance: in, Address: in.Address}
		inDSN := c.addSeeds(&v)
		switch {
		case in.State != Online || in.TargetState != "" && in.TargetState != Online:
			v.Excluded = NotOnline
		case cfg.Mode == options.Bootstrap && !inDSN:
			v.Excluded = NotInDSN
		default:
			if v.Excluded = c.choose(&v); v.Excluded == Included {
				v.Excluded = policyExclusion(cfg, topo, in)
			}
		}
		views = append(views, v)
	}
	if topo.Static || cfg.Mode == options.Bootstrap && !cfg.Topology {
		views = c.appendSeeds(views)
	}
	return views
}

// policyExclusion is what the user's policy says of an instance that can be used.
func policyExclusion(cfg *options.Config, topo *Topology, in *Instance) Exclusion {
	if !tierAllowed(cfg, in.Tier) {
		return TierRefused
	}
	if tier, ok := topo.Tier(in.Tier); ok && tier.BucketsKnown && tier.BucketCount == 0 && !slices.Contains(cfg.AllowedTiers, in.Tier) {
		return TierWithoutBuckets
	}
	return roleExclusion(cfg, in.Role)
}

func roleExclusion(cfg *options.Config, role Role) Exclusion {
	switch {
	case role.Is(cfg.InstanceRole):
		return Included
	case role == RoleUnknown:
		return RoleNotKnown
	default:
		return WrongRole
	}
}

// tierAllowed applies allowed_tiers and forbidden_tiers.
func tierAllowed(cfg *options.Config, tier string) bool {
	if len(cfg.AllowedTiers) > 0 && !slices.Contains(cfg.AllowedTiers, tier) {
		return false
	}
	return !slices.Contains(cfg.ForbiddenTiers, tier)
}

// ReplicasetsWithoutReplica names the replicasets of which no replica is Online. With
// read_preference=replica the server lets reads of them hang for minutes.
func ReplicasetsWithoutReplica(t *Topology) []string {
	if t == nil || !t.RolesKnown {
		return nil
	}
	alive := make(map[string]bool, len(t.Replicasets))
	for i := range t.Instances {
		if in := &t.Instances[i]; in.Role == RoleReplica && in.State == Online {
			alive[in.ReplicasetUUID] = true
		}
	}
	var names []string
	for i := range t.Replicasets {
		r := &t.Replicasets[i]
		if tier, ok := t.Tier(r.Tier); ok && tier.BucketsKnown && tier.BucketCount == 0 || r.State == "expelled" {
			continue
		}
		if !alive[r.UUID] {
			names = append(names, r.Name)
		}
	}
	return names
}
