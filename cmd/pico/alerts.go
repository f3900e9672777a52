package main

import (
	"fmt"

	"github.com/picodata/go-picodata/metadata"
)

// alerts says which replicasets nobody can write to, and what that holds up. A leader counts as dead that isn't Online, or
// that this process can't reach although the cluster still believes in it.
func alerts(topo *metadata.Topology, rows []instanceRow) []string {
	silent := map[string]string{}
	for i := range rows {
		switch r := &rows[i]; {
		case r.Ejected, r.silent():
			silent[r.UUID] = r.Note
		}
	}
	var list []string
	for i := range topo.Replicasets {
		r := &topo.Replicasets[i]
		if tier, known := topo.Tier(r.Tier); known && tier.BucketsKnown && tier.BucketCount == 0 || r.State == "expelled" {
			continue // it owns no rows
		}
		leader, led := topo.Leader(r.UUID)
		why, unreachable := "", false
		if led {
			why, unreachable = silent[leader.UUID]
		}
		switch {
		case !topo.RolesKnown:
		case r.Switching:
			list = append(list, fmt.Sprintf("%s: changes its leader from %s to %s and takes no writes meanwhile", r.Name, orNone(r.CurrentMaster), orNone(r.TargetMaster)))
		case !led:
			list = append(list, fmt.Sprintf("%s: no leader; %s", r.Name, stalls(r.Tier)))
		case leader.State != metadata.Online:
			list = append(list, fmt.Sprintf("%s: its leader %s is %s; %s", r.Name, leader.Name, leader.State, stalls(r.Tier)))
		case unreachable:
			list = append(list, fmt.Sprintf("%s: its leader %s doesn't answer here (%s) and the cluster counts it as Online; if it is dead, %s", r.Name, leader.Name, orNone(why), stalls(r.Tier)))
		}
	}
	return list
}

// stalls says what the death of a leader holds up until another leads.
func stalls(tier string) string {
	return fmt.Sprintf("statements of tier %s that need a hop to it hang until another leads, keyed ones of other replicasets go on", tier)
}

// silent tells an instance that was asked and didn't answer.
func (r *instanceRow) silent() bool { return r.Used && r.LatencyMS == 0 && r.Note != "" }
