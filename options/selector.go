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
// whatever the order of the rules is. ok is false if no rule selects the node. For many nodes, IndexRules first.
func Match(rules []NodeRule, name string, addresses []string, tier string) (value int, ok bool) {
	return IndexRules(rules).Match(name, addresses, tier)
}

// RuleIndex is a list of node rules, made for looking up many nodes.
type RuleIndex struct {
	rules     []NodeRule
	selectors map[string]int // whole selectors → the first rule's place
	addresses map[endpoint]int
}

// IndexRules makes an index of rules, which it keeps: don't change them.
func IndexRules(rules []NodeRule) *RuleIndex {
	x := &RuleIndex{rules: rules}
	if len(rules) == 0 {
		return x
	}
	x.selectors, x.addresses = make(map[string]int, len(rules)), make(map[endpoint]int, len(rules))
	for i, r := range rules {
		putFirst(x.selectors, r.Selector, i)
		if isAddressSelector(r.Selector) {
			putFirst(x.addresses, endpointOf(r.Selector), i)
		}
	}
	return x
}

// Match is the function of that name.
func (x *RuleIndex) Match(name string, addresses []string, tier string) (value int, ok bool) {
	if len(x.rules) == 0 {
		return 0, false
	}
	if i, found := x.selectors[name]; found && name != "" {
		return x.rules[i].Value, true
	}
	best := len(x.rules)
	if len(x.addresses) > 0 {
		for _, a := range addresses {
			if i, found := x.addresses[endpointOf(a)]; found {
				best = min(best, i)
			}
		}
	}
	if best < len(x.rules) {
		return x.rules[best].Value, true
	}
	if i, found := x.selectors[tierPrefix+tier]; found && tier != "" {
		return x.rules[i].Value, true
	}
	return 0, false
}

func putFirst[K comparable](m map[K]int, key K, at int) {
	if _, twice := m[key]; !twice {
		m[key] = at
	}
}

// isAddressSelector tells host:port from an instance name and from tier:NAME.
func isAddressSelector(selector string) bool {
	return strings.IndexByte(selector, ':') >= 0 && !strings.HasPrefix(selector, tierPrefix)
}

// MapAddress returns where an advertised address is dialled after address_map: the TO of the first
// FROM that is the address, or its host alone, which maps every port of that host. A TO without a port
// keeps the advertised one. ok is false, and the address unchanged, if no item is for it.
// For many addresses, IndexMappings first.
func (c *Config) MapAddress(advertised string) (address string, ok bool) {
	return IndexMappings(c.AddressMap).Map(advertised)
}

// MappingIndex is an address map, made for looking up many addresses.
type MappingIndex struct {
	list  []Mapping
	texts map[string]int   // FROM as it stands → the first item's place
	full  map[endpoint]int // FROM with a port
	hosts map[endpoint]int // FROM without a port
}

// IndexMappings makes an index of a list, which it keeps: don't change it.
func IndexMappings(list []Mapping) *MappingIndex {
	x := &MappingIndex{list: list}
	if len(list) == 0 {
		return x
	}
	x.texts, x.full, x.hosts = make(map[string]int, len(list)), map[endpoint]int{}, map[endpoint]int{}
	for i, m := range list {
		putFirst(x.texts, m.From, i)
		if hasPort(m.From) {
			putFirst(x.full, endpointOf(m.From), i)
		} else if h, err := ParseAddress(m.From); err == nil {
			putFirst(x.hosts, hostOf(h.Name), i)
		}
	}
	return x
}

// Map is Config.MapAddress.
func (x *MappingIndex) Map(advertised string) (address string, ok bool) {
	if len(x.list) == 0 {
		return advertised, false
	}
	best := len(x.list)
	look := func(m map[endpoint]int, key endpoint) {
		if i, found := m[key]; found {
			best = min(best, i)
		}
	}
	if i, found := x.texts[advertised]; found {
		best = i
	}
	from, err := ParseAddress(advertised)
	if err == nil {
		look(x.full, endpointOf(advertised))
		look(x.hosts, hostOf(from.Name))
	}
	if best == len(x.list) {
		return advertised, false
	}
	return joinMapped(x.list[best].To, from.Port), true
}

// Named returns the TO of the first item whose FROM is this text, such as an instance's name.
func (x *MappingIndex) Named(from string) (to string, ok bool) {
	i, ok := x.texts[from]
	if !ok {
		return "", false
	}
	return x.list[i].To, true
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
