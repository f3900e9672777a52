package main

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// settings reports settings of the DSN that conflict with each other or with the cluster.
func (d *doctor) settings() {
	began := len(d.found)
	for _, w := range d.cfg.Warnings() {
		what, do, _ := strings.Cut(w, "; ")
		d.say(sevWarning, "settings", "", what, do)
	}
	if d.cfg.AllowCleartextPassword && d.cfg.SSLMode < options.SSLRequire {
		d.sayf(sevWarning, "settings", "", "sslmode=verify-full", "allow_cleartext_password=on with sslmode=%s: the password may cross the network for all to read", d.cfg.SSLMode)
	}
	if d.topo != nil {
		d.rules("node_weights", d.cfg.NodeWeights)
		d.rules("node_max_conns", d.cfg.NodeMaxConns)
		d.rules("node_priorities", d.cfg.NodePriorities)
		d.tiers("allowed_tiers", d.cfg.AllowedTiers)
		d.tiers("forbidden_tiers", d.cfg.ForbiddenTiers)
		d.zones()
		d.capacity()
	}
	d.quiet(began, "settings", "no conflicts")
}

// rules finds rules that select nobody, which is what a mistyped name does.
func (d *doctor) rules(key string, rules []options.NodeRule) {
	for _, r := range rules {
		hit := false
		for i := range d.views {
			_, ok := options.Match([]options.NodeRule{r}, d.views[i].Name(), addresses(&d.views[i]), tierOf(&d.views[i]))
			hit = hit || ok
		}
		if !hit {
			d.sayf(sevWarning, "settings", key, "compare with pico topology: an instance's name, host:port or tier:NAME", "the rule for %q selects no instance", r.Selector)
		}
	}
}

func addresses(v *metadata.NodeView) []string {
	list := append([]string{v.Address}, v.Alternates...)
	if v.Instance != nil {
		list = append(list, v.Instance.Advertised)
	}
	return list
}

func tierOf(v *metadata.NodeView) string {
	if v.Instance == nil {
		return ""
	}
	return v.Instance.Tier
}

func (d *doctor) tiers(key string, names []string) {
	for _, name := range names {
		if _, ok := d.topo.Tier(name); !ok {
			d.sayf(sevWarning, "settings", key, "compare with pico topology", "the cluster has no tier %q", name)
		}
	}
}

func (d *doctor) zones() {
	for _, item := range d.cfg.PreferZones {
		zone, err := options.ParseZone(item)
		hit := err != nil // the DSN's own check says more
		for i := range d.views {
			hit = hit || d.views[i].Instance != nil && options.ZoneMatches(zone, d.views[i].Instance.FailureDomain)
		}
		if !hit {
			d.sayf(sevWarning, "settings", "prefer_zones", "compare with failure_domain in _pico_instance", "no instance is in %s", item)
		}
	}
}

// capacity compares weights and caps with the number of nodes.
func (d *doctor) capacity() {
	used, weighted := 0, 0
	for i := range d.views {
		v := &d.views[i]
		if v.Excluded != metadata.Included {
			continue
		}
		used++
		weight, ok := options.Match(d.cfg.NodeWeights, v.Name(), addresses(v), tierOf(v))
		if !ok || weight > 0 {
			weighted++
		}
	}
	if used == 0 {
		return
	}
	if weighted == 0 {
		s, do := sevWarning, "give at least one node a weight above 0"
		if d.cfg.Overflow == options.OverflowOff || d.cfg.Overflow == options.OverflowSaturated {
			s = sevFault
		}
		d.sayf(s, "settings", "node_weights", do, "every node has weight 0, and overflow=%s", d.cfg.Overflow)
	}
	if n := d.cfg.MaxConns; n > 0 && n < used {
		d.sayf(sevWarning, "settings", "max_conns", fmt.Sprintf("max_conns=%d or more", used), "%d is less than the %d nodes, and means one connection each", n, used)
	}
	if n, idle := d.cfg.MaxConns, d.cfg.MinIdleConnsPerInstance*used; n > 0 && idle > n {
		d.sayf(sevWarning, "settings", "min_idle_conns_per_instance", "lower it, or raise max_conns", "%d nodes with %d each want %d connections, and max_conns allows %d", used, d.cfg.MinIdleConnsPerInstance, idle, n)
	}
	if n, idle := d.cfg.MaxConnsPerInstance, d.cfg.MinIdleConnsPerInstance; n > 0 && idle > n {
		d.sayf(sevWarning, "settings", "min_idle_conns_per_instance", "lower it, or raise max_conns_per_instance", "%d is more than max_conns_per_instance=%d", idle, n)
	}
}
