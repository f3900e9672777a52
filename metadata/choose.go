package metadata

import (
	"slices"

	"github.com/picodata/go-picodata/options"
)

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
