package metadata

import (
	"net/netip"
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
	if !TierAllowed(cfg, in.Tier) {
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

// TierAllowed applies allowed_tiers and forbidden_tiers.
func TierAllowed(cfg *options.Config, tier string) bool {
	if len(cfg.AllowedTiers) > 0 && !slices.Contains(cfg.AllowedTiers, tier) {
		return false
	}
	return !slices.Contains(cfg.ForbiddenTiers, tier)
}

// chooser gives each instance the addresses to dial, and each address to one instance at most.
type chooser struct {
	cfg  *options.Config
	topo *Topology
	// owner: address → the instance that answers there. Whoever was seen at an address of
	// the DSN has it, then the first that advertises it.
	owner map[string]string
}

func newChooser(cfg *options.Config, topo *Topology) *chooser {
	c := &chooser{cfg: cfg, topo: topo, owner: make(map[string]string, len(topo.Instances)+len(topo.Seeds))}
	for _, s := range topo.Seeds {
		// An instance that is gone keeps nobody from its old address.
		if in, ok := topo.Instance(s.InstanceUUID); ok && in.State == Online {
			c.owner[s.Address] = s.InstanceUUID
		}
	}
	return c
}

// addSeeds makes the addresses of the DSN at which the instance was met alternates of its
// own, and reports whether there are any. One of them comes first in mode=bootstrap, and where
// nobody was met at the instance's own address: NAT may hide that, while this is known to work.
func (c *chooser) addSeeds(v *NodeView) (inDSN bool) {
	own, met := false, false
	for _, s := range c.topo.Seeds {
		if s.InstanceUUID != v.ID {
			continue
		}
		met = met || s.OwnAddress
		switch {
		case s.Address == v.Address:
			own = true
		case !slices.Contains(v.Alternates, s.Address):
			v.Alternates = append(v.Alternates, s.Address)
		}
	}
	if (c.cfg.Mode == options.Bootstrap || !met) && !own && len(v.Alternates) > 0 {
		advertised := v.Address
		v.Address = v.Alternates[0]
		v.Alternates = append(v.Alternates[1:], advertised)
	}
	return own || len(v.Alternates) > 0
}

// choose takes the first address that serves and drops those that don't.
func (c *chooser) choose(v *NodeView) Exclusion {
	refused := c.refusal(v, v.Address)
	v.Alternates = slices.DeleteFunc(v.Alternates, func(a string) bool { return c.refusal(v, a) != Included })
	if refused != Included {
		if len(v.Alternates) == 0 {
			return refused
		}
		v.Address, v.Alternates = v.Alternates[0], v.Alternates[1:]
	}
	if len(v.Alternates) == 0 {
		v.Alternates = nil
	}
	c.owner[v.Address] = v.ID
	for _, a := range v.Alternates {
		c.owner[a] = v.ID
	}
	return Included
}

// refusal says why the instance can't be reached at the address. allowed_networks is for what
// discovery brings; the user's own DSN is not judged.
func (c *chooser) refusal(v *NodeView, address string) Exclusion {
	if address == "" {
		return NoAddress
	}
	if holder, taken := c.owner[address]; taken && holder != v.ID {
		return AddressTaken
	}
	if len(c.cfg.AllowedNetworks) == 0 {
		return Included
	}
	if slices.ContainsFunc(c.topo.Seeds, func(s Seed) bool { return s.Address == address }) {
		return Included
	}
	if allowed, decided := AddressAllowed(c.cfg.AllowedNetworks, address); decided && !allowed {
		return NetworkRefused
	}
	return Included
}

// appendSeeds adds the nodes of the DSN that stand for themselves.
func (c *chooser) appendSeeds(views []NodeView) []NodeView {
	topo := c.topo
	for i, s := range topo.Seeds {
		if _, ok := topo.Instance(s.InstanceUUID); ok {
			continue
		}
		if _, taken := c.owner[s.Address]; taken {
			continue // an instance has it
		}
		if slices.ContainsFunc(topo.Seeds[:i], func(o Seed) bool {
			return o.Address == s.Address || o.InstanceUUID != "" && o.InstanceUUID == s.InstanceUUID
		}) {
			continue // the same node twice
		}
		views = append(views, NodeView{ID: SeedID(s.Address), Address: s.Address, Excluded: roleExclusion(c.cfg, RoleUnknown)})
	}
	return views
}

// NetworkAllowed tells whether allowed_networks lets discovery dial this IP address. An
// empty list allows everything. An IPv4 address in IPv6 clothes counts as IPv4, a zone as absent.
func NetworkAllowed(networks []netip.Prefix, ip netip.Addr) bool {
	if len(networks) == 0 {
		return true
	}
	ip = ip.Unmap().WithZone("")
	for _, n := range networks {
		if n.Addr().Is4In6() && n.Bits() >= 96 {
			n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
		}
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// AddressAllowed is NetworkAllowed for HOST:PORT. decided is false for a DNS name: only
// whoever resolves it can check the addresses behind it, and must, before connecting.
func AddressAllowed(networks []netip.Prefix, address string) (allowed, decided bool) {
	if len(networks) == 0 {
		return true, true
	}
	h, err := options.ParseAddress(address)
	if err != nil {
		return false, true
	}
	ip, err := netip.ParseAddr(h.Name)
	if err != nil {
		return false, false
	}
	return NetworkAllowed(networks, ip), true
}
