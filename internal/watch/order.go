package watch

import "github.com/picodata/go-picodata/metadata"

// behind tells whether t is older than what is known. System tables are read locally, so a node that is cut off, or
// that comes back, tells of the past without an error. Each row carries counters that never go back, and no row of
// _pico_instance ever goes away but for a newer instance of the same name: one that is missing or behind gives t away,
// whatever else it holds.
func behind(t, known *metadata.Topology) bool {
	if known == nil || known.Static || t.Static {
		return false
	}
	for i := range known.Instances {
		old := &known.Instances[i]
		now, ok := t.Instance(old.UUID)
		if !ok {
			if successor, ok := t.ByName(old.Name); !ok || successor.RaftID < old.RaftID {
				return true
			}
			continue
		}
		if stage(now) < stage(old) {
			return true
		}
	}
	if !known.RolesKnown || !t.RolesKnown {
		return false
	}
	for i := range known.Replicasets {
		old := &known.Replicasets[i]
		now, ok := t.Replicaset(old.UUID)
		if ok && now.ConfigVersion < old.ConfigVersion && now.ConfigVersion != 0 {
			return true
		}
	}
	return false
}

// stage orders what an instance goes through. Its incarnation grows when it comes back; within one it
// is Online, told to stop, Offline, told to start. Expelled is the end.
func stage(in *metadata.Instance) uint64 {
	if in.State == metadata.Expelled {
		return ^uint64(0)
	}
	const stages = 4
	s := in.Incarnation * stages
	switch {
	case in.State == metadata.Online && in.TargetState != metadata.Online && in.TargetState != "":
		s++
	case in.State != metadata.Online && in.TargetState != metadata.Online:
		s += 2
	case in.State != metadata.Online:
		s += 3
	}
	return s
}

// calm is how settled a cluster is.
type calm uint8

const (
	settled    calm = iota
	settling        // some state isn't its target yet
	leaderless      // writes of some replicaset wait for the next leader
)

// staying is false for an instance that is Offline or told to stop.
func staying(in *metadata.Instance) bool {
	return in.State == metadata.Online && (in.TargetState == metadata.Online || in.TargetState == "")
}

func calmOf(t *metadata.Topology) calm {
	if t == nil || t.Static {
		return settled
	}
	worst := settled
	online := false
	for i := range t.Instances {
		in := &t.Instances[i]
		online = online || in.State == metadata.Online
		if in.TargetState != "" && in.State != in.TargetState && in.State != metadata.Expelled {
			worst = max(worst, settling)
		}
	}
	if !online {
		return leaderless
	}
	for i := range t.Replicasets {
		r := &t.Replicasets[i]
		leader, led := t.Leader(r.UUID)
		if t.RolesKnown && (r.Switching || r.State == "ready" && !(led && staying(leader))) {
			worst = max(worst, leaderless)
		}
	}
	return worst
}
