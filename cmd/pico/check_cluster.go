package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// oldest and newest are the release lines that the driver is tested with.
var oldest, newest = metadata.Version{Major: 25, Minor: 2}, metadata.Version{Major: 26, Minor: 2}

// versions reports on servers of several versions, and on settings that the oldest doesn't know.
func (d *doctor) versions() {
	began := len(d.found)
	by := map[string][]string{}
	var lowest, highest metadata.Version
	for i := range d.topo.Instances {
		in := &d.topo.Instances[i]
		v, ok := metadata.ParseVersion(in.Version)
		if in.State == metadata.Expelled || !ok {
			continue
		}
		by[v.String()] = append(by[v.String()], in.Name)
		if !lowest.Known() || v.Less(lowest) {
			lowest = v
		}
		if highest.Less(v) {
			highest = v
		}
	}
	if len(by) > 1 {
		var parts []string
		for v, names := range by {
			parts = append(parts, fmt.Sprintf("%s on %s", v, strings.Join(names, " ")))
		}
		slices.Sort(parts)
		do := "finish the upgrade; until then the oldest instance decides what the driver may use, DDL is restricted to DROP, and a DOUBLE in a sharding key is not routed where hashing rules differ"
		d.say(sevWarning, "versions", "", "several versions at once: "+strings.Join(parts, "; "), do)
		if highest.Major > lowest.Major+1 || highest.Major == lowest.Major && highest.Minor > lowest.Minor+1 {
			d.sayf(sevWarning, "versions", "", "upgrade one minor version after the other", "%s and %s are more than one release apart, which Picodata doesn't support", lowest, highest)
		}
	}
	if lowest.Known() && !lowest.AtLeast(oldest.Major, oldest.Minor) || highest.Known() && !newest.AtLeast(highest.Major, highest.Minor) {
		d.sayf(sevNote, "versions", "", "", "the driver is tested with servers from %d.%d to %d.%d", oldest.Major, oldest.Minor, newest.Major, newest.Minor)
	}
	if lowest.Known() {
		d.unknownTo(lowest)
	}
	if lowest.Known() {
		d.quiet(began, "versions", "all instances are "+lowest.String())
	}
}

// unknownTo reports the settings that a version ignores without a word.
func (d *doctor) unknownTo(v metadata.Version) {
	if d.cfg.ReadPreference != options.ReadPreferenceUnset && !v.HasQueryMetadata() {
		d.sayf(sevWarning, "versions", "", "upgrade, or leave read_preference out", "read_preference=%s has no effect on %s: it exists since 26.1", d.cfg.ReadPreference, v)
	}
	if d.cfg.Forward != options.ForwardUnset && !v.HasForward() {
		d.sayf(sevWarning, "versions", "", "upgrade, or leave forward out", "forward=%s has no effect on %s: it exists since 26.2", d.cfg.Forward, v)
	}
	if d.cfg.Routing != options.RoutingOff && !v.HasBucketFunction() {
		d.sayf(sevNote, "versions", "", "upgrade to 25.5.1 or later, or set routing=off", "nothing is routed by bucket on %s: servers tell their buckets since 25.5.1", v)
	}
	if !v.HasBlocks() {
		d.sayf(sevNote, "versions", "", "", "picodata.Block needs servers from 26.1 on; %s has no atomic blocks", v)
	}
}

// rights compares what the user may read with what the DSN asks for.
func (d *doctor) rights(ctx context.Context, c *client) {
	began := len(d.found)
	asksRole := d.cfg.InstanceRole != options.RoleAny
	notices := d.topo.MinVersion().HasQueryMetadata()
	uses := map[string]struct {
		without string
		bad     severity
	}{
		"_pico_instance":     {"only the nodes of the DSN are used, whoever they are", sevWarning},
		"_pico_peer_address": {"only the nodes of the DSN are used, whoever they are", sevWarning},
		"_pico_replicaset":   {"nobody's role is known: nothing is routed to leaders, and instance_role=leader|replica can't be met", pick(asksRole, sevFault, sevWarning)},
		"_pico_tier":         {"tiers without buckets are found out by asking, and nobody knows the default tier", sevNote},
		"_pico_table":        {"routing=keys has nothing to go by, and servers before 26.1 tell no sharding keys", pick(d.cfg.Routing == options.RoutingKeys || d.cfg.Routing == options.RoutingInsert && !notices, sevWarning, sevNote)},
	}
	denied := slices.Clone(d.topo.Denied)
	var name string
	if err := c.db.QueryRowContext(ctx, "SELECT name FROM _pico_table LIMIT 1").Scan(&name); picodata.IsPermission(err) && !slices.Contains(denied, "_pico_table") {
		denied = append(denied, "_pico_table")
	}
	for _, table := range denied {
		use := uses[table]
		d.say(use.bad, "rights", table, "the user may not read it: "+use.without, "as an administrator: "+metadata.GrantFor(table, d.cfg.User))
	}
	d.quiet(began, "rights", "the user may read every system table that the driver has a use for")
}

func pick(yes bool, a, b severity) severity {
	if yes {
		return a
	}
	return b
}

// skew is how far clocks may lie apart before it is worth a word.
const skew = time.Second

// clocks compares the servers' clocks with each other and with this machine's. Half of a round trip is how
// wrong each reading may be.
func (d *doctor) clocks() {
	var low, high *probe
	for _, p := range d.probes {
		if !p.HasClock {
			continue
		}
		if low == nil || p.Ahead < low.Ahead {
			low = p
		}
		if high == nil || p.Ahead > high.Ahead {
			high = p
		}
	}
	if low == nil {
		return
	}
	began := len(d.found)
	if apart := high.Ahead - low.Ahead; apart > skew {
		d.sayf(sevWarning, "clock", "", "let NTP set the clocks of all machines", "%s is %v ahead of %s: what current_timestamp writes depends on the instance", high.name(), apart.Round(time.Millisecond), low.name())
	}
	if low.Ahead > skew || high.Ahead < -skew {
		d.sayf(sevWarning, "clock", "", "let NTP set the clocks of all machines", "this machine's clock is %v away from the cluster's", nearest(low.Ahead, high.Ahead).Abs().Round(time.Millisecond))
	}
	d.quiet(began, "clock", fmt.Sprintf("all clocks agree within %v", max(high.Ahead-low.Ahead, high.Ahead.Abs(), low.Ahead.Abs()).Round(100*time.Microsecond)))
}

func nearest(a, b time.Duration) time.Duration {
	if a.Abs() < b.Abs() {
		return a
	}
	return b
}

// nodeSet reports who may be given statements.
func (d *doctor) nodeSet() {
	began := len(d.found)
	var used, leaders int
	why := map[string][]string{}
	for i := range d.views {
		v := &d.views[i]
		if v.Excluded != metadata.Included {
			why[v.Excluded.String()] = append(why[v.Excluded.String()], v.Name())
			if v.Excluded == metadata.AddressTaken || v.Excluded == metadata.NoAddress || v.Excluded == metadata.NetworkRefused {
				d.say(sevWarning, "node set", v.Name(), "not used: "+v.Excluded.String(), "look at instance.pgproto.advertise, address_map and allowed_networks")
			}
			continue
		}
		used++
		if v.Instance != nil && v.Instance.Role == metadata.RoleLeader {
			leaders++
		}
	}
	var reasons []string
	for reason, names := range why {
		reasons = append(reasons, fmt.Sprintf("%s (%s)", strings.Join(names, " "), reason))
	}
	slices.Sort(reasons)
	if used == 0 {
		d.say(sevFault, "node set", "", "no node may be used: "+strings.Join(reasons, "; "), "loosen mode, instance_role, allowed_tiers or forbidden_tiers, or bring the instances back")
	} else if leaders == 0 && d.topo.RolesKnown && d.cfg.Routing != options.RoutingOff {
		d.say(sevNote, "node set", "", "no leader is in the node set: nothing can be routed to a leader, and every write costs a hop", "instance_role=any or leader, unless that is what you want")
	}
	text := fmt.Sprintf("%d of %s are used", used, plural(len(d.views), "instance", "instances"))
	if len(reasons) > 0 {
		text += "; not " + strings.Join(reasons, ", ")
	}
	d.quiet(began, "node set", text)
}

// replicas reports what endangers reads and writes: instances that are down, replicasets without a leader, and
// read preferences that a replicaset can't meet.
func (d *doctor) replicas() {
	began := len(d.found)
	for i := range d.topo.Instances {
		if in := &d.topo.Instances[i]; in.State != metadata.Online && in.State != metadata.Expelled {
			d.sayf(sevWarning, "replicas", in.Name, "start it, or expel it", "the instance is %s", in.State)
		}
	}
	if d.topo.RolesKnown {
		for i := range d.topo.Replicasets {
			r := &d.topo.Replicasets[i]
			switch leader, led := d.topo.Leader(r.UUID); {
			case r.Switching:
				d.sayf(sevWarning, "replicas", r.Name, "wait; if it lasts, look at the log of both", "it is changing its leader from %s to %s, and takes no writes meanwhile", r.CurrentMaster, r.TargetMaster)
			case !led:
				d.say(sevFault, "replicas", r.Name, "it has no leader: "+stalls(r.Tier), "bring an instance of it back")
			case leader.State != metadata.Online:
				d.sayf(sevFault, "replicas", r.Name, "bring it back; the cluster moves the leadership when it has found out", "its leader %s is %s: %s", leader.Name, leader.State, stalls(r.Tier))
			default:
				if p := d.probeOfInstance(leader.UUID); p != nil && p.Err != nil {
					d.sayf(sevFault, "replicas", r.Name, "start it again, or wait: the cluster gives the replicaset another leader when it has counted the instance as Offline for itself (30 s unless configured). Is it alive and only this machine can't reach it, mend the network or the address",
						"its leader %s is dead, or can't be reached from here (%s), and the cluster still counts it as Online: %s", leader.Name, cause(p.Err, d.limit), stalls(r.Tier))
				}
			}
		}
	}
	for _, name := range metadata.ReplicasetsWithoutReplica(d.topo) {
		switch {
		case d.cfg.ReadPreference == options.ReadPreferenceReplica:
			d.say(sevFault, "replicas", name, "read_preference=replica and no replica is Online: the server lets reads hang for minutes", "read_preference=any, or bring a replica back")
		case d.cfg.InstanceRole == options.RoleReplica:
			d.say(sevWarning, "replicas", name, "instance_role=replica and no replica is Online: replicas of other replicasets take its reads, with a hop", "instance_role=any, or bring a replica back")
		}
	}
	if rp := d.cfg.ReadPreference; rp == options.ReadPreferenceReplica || rp == options.ReadPreferenceAny {
		d.sayf(sevNote, "replicas", "", "read_preference=leader where a read must see the last write", "read_preference=%s: reads may be stale, and during a rebalancing incomplete", rp)
	}
	if d.topo.RolesKnown {
		d.quiet(began, "replicas", "every replicaset has a leader, and all instances are Online")
	} else {
		d.quiet(began, "replicas", "all instances are Online")
	}
}

// probeOfInstance is the probe of an instance's own address; nil if there was none.
func (d *doctor) probeOfInstance(uuid string) *probe {
	for _, p := range d.probes {
		if p.Instance != nil && p.Instance.UUID == uuid {
			return p
		}
	}
	return nil
}

// hosts reports on the instances that are met at the DSN's address and not at their own.
func (d *doctor) hosts(s picodata.TopologyStats) {
	for _, name := range s.Unreachable {
		d.say(sevWarning, "addresses", name, "nobody answers at the address that it advertises; the DSN's address is used for it", "address_map, or mode=bootstrap if the DSN names all instances")
	}
	if s.SkippedRows > 0 {
		d.sayf(sevWarning, "addresses", "", "look at _pico_instance and _pico_peer_address", "%d rows of the system tables can't be used", s.SkippedRows)
	}
	if len(d.cfg.Hosts) == 1 && len(d.views) > 1 {
		d.say(sevNote, "addresses", d.cfg.Hosts[0].Address(), "the DSN names one node: while it is down no program can start", "name a second one")
	}
}
