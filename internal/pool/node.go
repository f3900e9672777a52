package pool

import (
	"slices"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/options"
)

// node is one sub-pool. All fields but count are guarded by the gate's lock.
type node struct {
	gate    *Gate
	spec    NodeSpec
	info    *NodeInfo
	slot    int    // Candidate.Index
	gen     uint64 // grows when all its connections are given up; older ones aren't kept
	leaving bool   // out of the set: nothing new, and it goes when its last connection has gone
	weight  int    // spec.Weight, or less while it starts slowly; at least 1
	share   int    // of the cluster's cap
	members []member
	plain   bool // a strategy reads its candidates
	usable  bool // can take a connection now, its health aside
	isPoor  bool // counted in shares.poor

	idle     []*physical // last in, first out
	inUse    []*physical
	dialing  int // slots taken for dials, those not started included
	active   int // dials under way
	fed      int // slots given by richer nodes, whose dials aren't over
	slow     int // those of them that have taken long
	closing  int
	cold     bool  // in Gate.cold
	later    bool  // in Gate.later
	renewals int   // connections that ended for age and want a successor
	assigned queue // waiters with a dial of this node

	health    balancer.Health
	ejected   bool
	full      bool // the server said so
	fullStep  int
	suspectAt int64 // a connection was lost then: older idle ones are looked at first
	latency   int64 // EWMA of round trips in ns; 0 = unknown
	measured  bool  // by a connection, not by the time of dials

	idleDue    int64 // when idleTimer fires; 0 = not armed
	idleTimer  options.Timer
	probeTimer options.Timer
	probeSlot  bool // the timer ends when it is this node's turn
	fullTimer  options.Timer
	drainTimer options.Timer
	rampTimer  options.Timer
	warmTimer  options.Timer
	ramp       int // steps of the slow start made; rampSteps = over

	count nodeCounters
}

// total is how many connections count toward the node's cap.
func (n *node) total() int { return len(n.idle) + len(n.inUse) + n.dialing + n.closing }

// spare is how many dials no waiter lays claim to.
func (n *node) spare() int { return n.dialing - n.assigned.len }

// stalled tells whether all dials under way have taken long: nobody else should wait for one.
func (n *node) stalled() bool { return n.active > 0 && n.slow == n.active }

// living tells whether the node counts among those that serve.
func (n *node) living() bool { return !n.ejected && !n.stalled() }

// overflow tells whether only overflow may use the node.
func (n *node) overflow() bool { return n.spec.Weight <= 0 }

// canReserve tells whether a slot for a new connection may be taken.
func (g *Gate) canReserve(n *node) bool {
	return !n.leaving && !n.full && !n.stalled() &&
		(n.spec.MaxConns <= 0 || n.total() < n.spec.MaxConns) &&
		(g.max == 0 || g.total < g.max)
}

// refresh brings all that is derived from a node's counters up to date. It must follow every change of them.
func (g *Gate) refresh(n *node) {
	n.count.store(len(n.idle), len(n.inUse), n.dialing, n.closing)
	usable := !n.leaving && (len(n.idle) > 0 || n.spare() > 0 && !n.stalled() || g.canReserve(n))
	if g.max > 0 {
		g.setPoor(n)
	}
	if usable == n.usable && !n.plain {
		return
	}
	n.usable = usable
	for i := range n.members {
		g.refreshMember(n, &n.members[i])
	}
}

// addTotal counts slots of the cluster's cap.
func (g *Gate) addTotal(delta int) {
	before := g.total
	g.total += delta
	if g.max > 0 && (before < g.max) != (g.total < g.max) {
		// The cluster has become full, or is no longer: that changes what every node can take.
		for _, n := range g.nodes {
			g.refresh(n)
		}
	}
}

// popIdle takes the connection used last.
func (n *node) popIdle() *physical {
	last := len(n.idle) - 1
	pc := n.idle[last]
	n.idle[last] = nil
	n.idle = n.idle[:last]
	return pc
}

// addInUse and dropInUse keep the set of leased connections.
func (n *node) addInUse(pc *physical) {
	pc.at = len(n.inUse)
	n.inUse = append(n.inUse, pc)
}

func (n *node) dropInUse(pc *physical) {
	last := len(n.inUse) - 1
	n.inUse[pc.at] = n.inUse[last]
	n.inUse[pc.at].at = pc.at
	n.inUse[last] = nil
	n.inUse = n.inUse[:last]
}

// closeIdle gives up all idle connections.
func (n *node) closeIdle(why closeReason) {
	for _, pc := range n.idle {
		n.gate.startClose(pc, why)
	}
	clear(n.idle)
	n.idle = n.idle[:0]
	n.gate.refresh(n)
}

// closeInUse closes the sockets of leased connections under their users. The leases end there:
// what their holders still do with them fails, and their release changes nothing.
func (n *node) closeInUse(why closeReason) {
	for _, pc := range n.inUse {
		pc.seq++
		n.gate.startClose(pc, why)
	}
	clear(n.inUse)
	n.inUse = n.inUse[:0]
	n.gate.refresh(n)
}

// stopTimers ends all that would happen later.
func (g *Gate) stopTimers(n *node) {
	for _, t := range []*options.Timer{&n.idleTimer, &n.probeTimer, &n.fullTimer, &n.drainTimer, &n.rampTimer, &n.warmTimer} {
		stop(t)
	}
	n.idleDue = 0
}

func stop(t *options.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

// publish makes the list of nodes for Stats.
func (g *Gate) publish() {
	list := make([]*node, 0, len(g.nodes)+len(g.leaving))
	for _, n := range g.nodes {
		list = append(list, n)
	}
	for n := range g.leaving {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *node) int { return compareSpecs(&a.spec, &b.spec) })
	g.list.Store(&list)
}
