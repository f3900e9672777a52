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
