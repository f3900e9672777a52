package options

import "strings"

// tierPrefix marks a selector that means all nodes of a tier.
const tierPrefix = "tier:"

// NodeRule is one SELECTOR=INT item of node_weights, node_max_conns or node_priorities.
type NodeRule struct {
	Selector string // an instance name, host:port or tier:NAME
	Value    int
}

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

// ParseZone reads one item of prefer_zones: KEY=VALUE, or several that must all hold, joined by a
// slash, as in DC=m1/RACK=r7. Keys and values are failure-domain keys and values as
// _pico_instance has them; Picodata stores them in capitals, so compare them in any case.
func ParseZone(item string) ([]Setting, error) {
	var zone []Setting
	for _, part := range strings.Split(item, "/") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" || value == "" || strings.IndexByte(value, '=') >= 0 {
			return nil, &ConfigError{Key: "prefer_zones", Value: item, Msg: "want KEY=VALUE[/KEY=VALUE…]"}
		}
		zone = append(zone, Setting{Name: key, Value: value})
	}
	return zone, nil
}

// ZoneMatches tells whether a node of failure domain domain is in all parts of a zone.
func ZoneMatches(zone []Setting, domain map[string]string) bool {
	for _, want := range zone {
		if value, ok := domain[want.Name]; ok { // spelt as in the cluster: no walk over the map
			if !strings.EqualFold(value, want.Value) {
				return false
			}
			continue
		}
		found := false
		for key, value := range domain {
			if strings.EqualFold(key, want.Name) && strings.EqualFold(value, want.Value) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return len(zone) > 0
}

// goodZone is ParseZone as a check.
func goodZone(item string) bool {
	_, err := ParseZone(item)
	return err == nil
}
