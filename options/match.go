package options

import "strings"

// tierPrefix marks a selector that means all nodes of a tier.
const tierPrefix = "tier:"

// Match returns the value of the rule that is for a node: of the rules that select it by instance
// name, else by one of its addresses (advertised or mapped), else by tier, in this order,
// whatever the order of the rules is. ok is false if no rule selects the node.
func Match(rules []NodeRule, name string, addresses []string, tier string) (value int, ok bool) {
	for _, r := range rules {
		if name != "" && r.Selector == name {
			return r.Value, true
		}
	}
	for _, r := range rules {
		if !isAddressSelector(r.Selector) {
			continue
		}
		for _, a := range addresses {
			if SameAddress(r.Selector, a) {
				return r.Value, true
			}
		}
	}
	for _, r := range rules {
		if t, found := strings.CutPrefix(r.Selector, tierPrefix); found && tier != "" && t == tier {
			return r.Value, true
		}
	}
	return 0, false
}

// isAddressSelector tells host:port from an instance name and from tier:NAME.
func isAddressSelector(selector string) bool {
	return strings.IndexByte(selector, ':') >= 0 && !strings.HasPrefix(selector, tierPrefix)
}

// MapAddress returns where an advertised address is dialled after address_map: the TO of the first
// FROM that is the address, or its host alone, which maps every port of that host. A TO without a port
// keeps the advertised one. ok is false, and the address unchanged, if no item is for it.
func (c *Config) MapAddress(advertised string) (address string, ok bool) {
	if len(c.AddressMap) == 0 {
		return advertised, false
	}
	from, err := ParseAddress(advertised)
	for _, m := range c.AddressMap {
		if m.From == advertised {
			return joinMapped(m.To, from.Port), true
		}
		if err != nil {
			continue
		}
		if hasPort(m.From) {
			if SameAddress(m.From, advertised) {
				return joinMapped(m.To, from.Port), true
			}
		} else if h, errFrom := ParseAddress(m.From); errFrom == nil && sameHost(h.Name, from.Name) {
			return joinMapped(m.To, from.Port), true
		}
	}
	return advertised, false
}

// joinMapped is to with port where it names none.
func joinMapped(to string, port uint16) string {
	h, err := ParseAddress(to)
	if err != nil {
		return to
	}
	if !hasPort(to) && port != 0 {
		h.Port = port
	}
	return h.Address()
}

// hasPort tells whether an address text names a port.
func hasPort(address string) bool {
	i := strings.LastIndexByte(address, ':')
	return i >= 0 && i > strings.LastIndexByte(address, ']') && i+1 < len(address)
}
