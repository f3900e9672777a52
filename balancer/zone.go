package balancer

import "github.com/picodata/go-picodata/options"

// Zones are the failure domains of prefer_zones, nearest first. Each is a list of KEY=VALUE that must all hold.
type Zones [][]options.Setting

// ParseZones reads the items of prefer_zones and leaves out those that don't parse.
func ParseZones(items []string) Zones {
	var zones Zones
	for _, item := range items {
		if z, err := options.ParseZone(item); err == nil {
			zones = append(zones, z)
		}
	}
	return zones
}

// Level is the place of a node of failure domain domain: 0 if the first zone matches, and so on;
// len(z) if none does.
func (z Zones) Level(domain map[string]string) int {
	for i, zone := range z {
		if options.ZoneMatches(zone, domain) {
			return i
		}
	}
	return len(z)
}

// Prefer wraps a strategy: the candidates of the nearest zone that has any are shown to it, the
// others to nobody.
type Prefer struct {
	zones Zones
	inner []options.Balancer // one per level, so that each keeps its own turn
	// Reused from pick to pick:
	levels []int
	some   []options.Candidate
	at     []int
}

// NewPrefer returns a Prefer over strategies that inner makes, one per level.
func NewPrefer(zones Zones, inner func() options.Balancer) *Prefer {
	p := &Prefer{zones: zones}
	for range len(zones) + 1 {
		p.inner = append(p.inner, inner())
	}
	return p
}

// Pick chooses among the candidates of the nearest zone. It looks at all of them, and copies those of
// that zone if there are others: O(n), no allocation once it has seen the largest set.
func (p *Prefer) Pick(candidates []options.Candidate, rnd uint64) int {
	best := len(p.zones)
	mixed := false
	p.levels = p.levels[:0]
	for i := range candidates {
		l := p.zones.Level(candidates[i].Zone)
		p.levels = append(p.levels, l)
		if i > 0 && l != best {
			mixed = true
		}
		best = min(best, l)
	}
	if !mixed {
		return p.inner[best].Pick(candidates, rnd)
	}
	p.some, p.at = p.some[:0], p.at[:0]
	for i := range candidates {
		if p.levels[i] == best {
			p.some = append(p.some, candidates[i])
			p.at = append(p.at, i)
		}
	}
	i := p.inner[best].Pick(p.some, rnd)
	if i < 0 || i >= len(p.at) {
		return 0
	}
	return p.at[i]
}
