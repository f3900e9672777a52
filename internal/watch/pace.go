package watch

import (
	"math/rand/v2"
	"time"

	"github.com/picodata/go-picodata/metadata"
)

// pace says how long to wait after a refresh. It holds no clock.
type pace struct {
	rand     *rand.Rand
	interval time.Duration // topology_update_interval

	failures int
	settling int           // refreshes in a row that found the cluster on its way and nothing new
	hurt     time.Duration // for how long writes have been waiting for a leader
	barren   int           // hinted refreshes in a row that brought nothing new
	quiet    int           // refreshes in a row without a hint that brought nothing new
}

// outcome of one refresh.
type outcome struct {
	err     error
	fatal   error // part of err that every node would give
	changed bool
	calm    calm
}

// Waits of the pace.
const (
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 2 * time.Second  // so that the end of an outage is noticed soon
	fatalRetry  = 10 * time.Second // a wrong password: four of them lock the user on a server
	firstSettle = 100 * time.Millisecond
	firstGap    = 50 * time.Millisecond
	lastGap     = time.Second

	// While statements wait for a leader the next one is looked for at each hurtPoll, for a minute: crashed leaders are
	// replaced after 30 s. Then less and less often.
	hurtPoll = 250 * time.Millisecond
	hurtFor  = time.Minute

	// After quietSteps refreshes that brought nothing new the interval is doubled, up to quietMost intervals.
	quietSteps = 6
	quietMost  = 4
)

// next returns the wait until the regular refresh, and the least wait until one that a hint asks for.
func (p *pace) next(out outcome, hinted bool) (regular, gap time.Duration) {
	if hinted && !out.changed {
		p.barren++
	} else {
		p.barren = 0
	}
	gap = doubled(firstGap, p.barren, lastGap)
	switch {
	case out.fatal != nil:
		p.failures++
		regular = p.jitter(max(p.interval, fatalRetry))
		return regular, regular
	case out.err != nil:
		// Spread wide: all clients of a cluster that is away try again, and shall not meet when it is back.
		p.failures++
		regular = p.wide(doubled(firstRetry, p.failures-1, min(p.interval, lastRetry)))
		return regular, min(gap, regular)
	}
	p.failures = 0
	if out.calm != leaderless {
		p.hurt = 0
	}
	if out.calm != settled || out.changed || hinted {
		p.quiet = 0
	}
	switch out.calm {
	case leaderless:
		regular = hurtPoll
		if p.hurt > hurtFor {
			p.settling++
			regular = doubled(hurtPoll, p.settling, p.interval)
		} else {
			p.settling = 0
		}
		p.hurt += regular
	case settling:
		if out.changed {
			p.settling = 0
		}
		regular = doubled(firstSettle, p.settling, p.interval)
		p.settling++
	default:
		p.settling = 0
		regular = doubled(p.interval, p.quiet/quietSteps, quietMost*p.interval)
		p.quiet++
	}
	return p.jitter(regular), gap
}

// jitter spreads d over ±20 %, so that clients that began together don't ask together.
func (p *pace) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*p.rand.Float64()))
}

// wide spreads d over ±50 %.
func (p *pace) wide(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + p.rand.Float64()))
}

// doubled is d doubled n times, but no more than most.
func doubled(d time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	return min(d, most)
}

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
