package options

import "strings"

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
