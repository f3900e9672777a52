package pool

import (
	"slices"
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/options"
)

// node is one sub-pool. All fields but count are guarded by the gate's lock.
type node struct {
	nodeset.Node // what strategies see

	gate    *Gate
	gen     uint64  // grows when all its connections are given up; older ones aren't kept
	over    bool    // gone: its last connection was closed after it had left
	leaving bool    // out of the set: nothing new, and it goes when its last connection has gone
	rivals  []*node // of a leaving one: the nodes that it is a twin of
	twins   []*node // leaving nodes that are the same server, or at the same address

	idle     []*physical // last in, first out
	inUse    []*physical
	dialing  int // slots taken for dials, those not started included
	active   int // dials under way
	slow     int // those of them that have taken long
	fed      int // slots given by other nodes, whose dials aren't over
	closing  int
	given    int   // those of them whose statements were given up
	outside  int   // given up, still open on the server, and not counted toward the cap
	cold     bool  // in Gate.cold
	later    bool  // in dials.later
	renewals int   // connections that ended for age and want a successor
	assigned queue // waiters with a dial of this node

	health   balancer.Health
	failed   *NodeDialError // its last dial that failed
	failedAt int64
	trial    bool // ejected, and nobody has dialled it since: one waiter may if no node is healthy
	full     bool // the server said so
	fullStep int
	refusal  refusal

	suspectAt int64 // a connection was lost then: older idle ones are looked at first
	measured  bool  // Latency is of a connection, not of the time of dials

	yieldTo     *node  // in the review of demand
	leasesAt    uint64 // count.leases when the last review was made
	narrowWaits int    // leases since then of requests that no other node could serve and that had to wait

	idleDue    int64 // when idleTimer fires; 0 = not armed
	idleTimer  options.Timer
	probeTimer options.Timer
	probeSlot  bool // the timer ends when it is this node's turn
	fullTimer  options.Timer
	drainTimer options.Timer
	warmTimer  options.Timer
	warmSlot   bool // the same
	ramp       int  // steps of the slow start made; rampSteps = over

	count nodeCounters
}

// live is how many connections the node has or will have: those that are being closed don't count.
func (n *node) live() int { return len(n.idle) + len(n.inUse) + n.dialing }

// total is how many connections count toward the node's cap.
func (n *node) total() int { return n.live() + n.closing }

// room tells whether the node's own cap leaves room for one more. What a server still has of the time when it had
// another address or identity counts too.
func (n *node) room() bool {
	limit := n.Spec.MaxConns
	if limit <= 0 {
		given := n.outside + n.given
		return given == 0 || given < n.gate.abandonable(uncapped)
	}
	have := n.total()
	for _, t := range n.twins {
		have += t.total()
	}
	return have < limit
}

// spare is how many dials no waiter lays claim to.
func (n *node) spare() int { return n.dialing - n.assigned.len }

// stalled tells whether all dials under way have taken long: nobody else should wait for one.
func (n *node) stalled() bool { return n.active > 0 && n.slow == n.active }

// ready tells whether the node has something at hand: an idle connection, or a dial that nobody waits for.
func (n *node) ready() bool {
	return len(n.idle) > 0 || n.spare() > 0 && !n.stalled() && !n.refusal.active
}

// dialable tells whether a connection may be dialled as far as the node is concerned.
func (n *node) dialable() bool {
	return !n.leaving && !n.full && !n.refusal.active && !n.stalled() && (!n.Ejected || n.trial && n.dialing == 0) && n.room()
}

// canReserve tells whether a slot for a new connection may be taken.
func (g *Gate) canReserve(n *node) bool { return n.dialable() && !g.full() }

// refresh brings all that is derived from a node's counters up to date. It must follow every change of them.
func (g *Gate) refresh(n *node) {
	n.count.store(len(n.idle), len(n.inUse), n.dialing, n.closing)
	if n.leaving {
		for _, t := range n.rivals {
			g.refresh(t)
		}
		return
	}
	ready := n.ready()
	usable := ready || n.dialable()
	if usable == n.Usable && ready == n.Ready && !n.Reads() {
		return
	}
	if g.line.waiting > 0 && (usable && !n.Usable || ready && !n.Ready) {
		g.offered(n)
	}
	n.Usable, n.Ready = usable, ready
	n.InFlight, n.Idle = len(n.inUse)+n.dialing, len(n.idle)
	g.set.Refresh(&n.Node)
}

// condition is to be called when a node was ejected, came back, stalled or went on.
func (g *Gate) condition(n *node) {
	n.count.ejected.Store(n.Ejected)
	if n.leaving {
		return
	}
	n.Stalled = n.stalled()
	g.refresh(n)
	g.set.Assess(&n.Node)
	g.offered(n)
	g.sayPanic()
}

// sayPanic reports a change of what holds for the whole set.
func (g *Gate) sayPanic() {
	if now := g.set.All().Panic(); now != g.panicking {
		g.panicking = now
		g.event(Event{Kind: AllEjected, On: now})
	}
}

// addTotal counts slots of the cluster's cap.
func (g *Gate) addTotal(delta int) {
	g.total += delta
	if delta < 0 && g.line.waiting > 0 {
		g.due = true
	}
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

// popIdle takes the connection used last.
func (g *Gate) popIdle(n *node) *physical {
	last := len(n.idle) - 1
	pc := n.idle[last]
	n.idle[last] = nil
	n.idle = n.idle[:last]
	g.demand.idle.remove(pc)
	return pc
}

// takeIdle takes one of the idle connections, wherever it stands.
func (g *Gate) takeIdle(pc *physical) {
	n := pc.node
	i := slices.Index(n.idle, pc)
	n.idle = slices.Delete(n.idle, i, i+1)
	g.demand.idle.remove(pc)
}

// closeIdle gives up all idle connections.
func (n *node) closeIdle(why closeReason) {
	for _, pc := range n.idle {
		n.gate.demand.idle.remove(pc)
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
func (n *node) stopTimers() {
	for _, t := range []*options.Timer{&n.idleTimer, &n.probeTimer, &n.fullTimer, &n.drainTimer, &n.warmTimer, &n.refusal.timer} {
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

// latencyEvery is how often a node's round trip is asked for.
const latencyEvery = time.Second

// latencyHalf is the age at which what was measured counts half against what is measured now.
const latencyHalf = 5 * time.Second

// roundTripper is what a Conn may offer: the connection's round trip, 0 if it isn't known.
type roundTripper interface{ RTT() time.Duration }

// observe takes a round trip, in ns, into the node's moving average. One that isn't known is ignored. What is old
// counts less: a node that was slow is forgiven by one measurement after a while.
func (n *node) observe(rtt, now int64) {
	if rtt <= 0 {
		return
	}
	n.measured = true
	had := int64(n.Latency)
	if age := now - n.count.latencyAt.Load(); had == 0 || age > 8*int64(latencyHalf) {
		had = rtt
	} else {
		had += (rtt - had) * max(age, int64(latencyHalf)/4) / (max(age, int64(latencyHalf)/4) + int64(latencyHalf))
	}
	n.Latency = time.Duration(had)
	n.count.latencyAt.Store(now)
	n.count.latency.Store(had)
}

// observeDial makes do with the time of a dial as long as no round trip is known: it is several of them, on all nodes alike.
func (n *node) observeDial(took, now int64) {
	if n.measured {
		return
	}
	n.observe(took, now)
	n.measured = false
}
