package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/picodata/go-picodata/balancer"
)

const (
	// dialsPerNode bounds the dials to one node at a time.
	dialsPerNode = 2
	// staggerDelay is how long a dial may take before its waiters try another node beside it.
	staggerDelay = 250 * time.Millisecond
	// warmRetry is how long a failed dial delays the next one that keeps the minimum of idle connections.
	warmRetry = time.Second
	// spareDials bounds the dials under way at which another one that nobody waits for is put off: a pool of a
	// thousand nodes doesn't open a thousand connections in one moment.
	spareDials = 32
)

// dials is what is being dialled.
type dials struct {
	active    int     // under way
	fast      int     // those of them that aren't slow
	startable []*node // with dials that wait for a login to succeed
	later     []*node // with dials that nobody waits for
}

// dialOp is one dial under way.
type dialOp struct {
	node       *node
	slow       bool
	over       bool
	credential string        // that Admit was told
	trying     chan struct{} // refusal.trying, if this is the dial that tries the credential
	timer      interface{ Stop() bool }
}

// reserve takes a slot for a dial.
func (g *Gate) reserve(n *node) {
	n.dialing++
	g.addTotal(1)
	g.refresh(n)
}

// trim gives back the slots of dials that haven't begun and that nobody waits for any more.
func (g *Gate) trim(n *node) {
	need := max(g.opt.MinIdleConnsPerInstance-len(n.idle), n.fed, 0)
	if n.Ejected {
		need = max(need, 1) // its probe
	}
	for n.dialing > n.active && n.spare() > need {
		n.dialing--
		g.addTotal(-1)
	}
}

// dropDials gives back the slots of all dials that haven't begun, and finds others for those who wait for them.
func (g *Gate) dropDials(n *node) {
	for n.assigned.len > n.active {
		g.relocate(n.assigned.tail)
	}
	drop := n.dialing - n.active
	n.dialing, n.fed = n.active, 0
	g.addTotal(-drop)
	g.refresh(n)
}

// startDials starts what dials a node has slots for, two at a time. Until one login has succeeded dials go one
// by one over all nodes: a wrong password is then found out by one refusal of each, and not by two.
func (g *Gate) startDials(n *node) {
	stalled := n.stalled()
	for n.active < dialsPerNode && n.active < n.dialing && !g.closed && !n.leaving && (!n.refusal.active || n.refusal.asking) {
		if !g.login.proven && g.dials.fast > 0 {
			g.dials.startable = append(g.dials.startable, n)
			break
		}
		if n.active > 0 && !n.refusal.cleared {
			break // whether it accepts a login isn't known yet: one at a time
		}
		if n.assigned.len <= n.active && g.dials.active >= spareDials {
			if !n.later {
				n.later = true
				g.dials.later = append(g.dials.later, n)
			}
			break
		}
		op := &dialOp{node: n}
		n.active++
		n.trial = false
		g.dials.active++
		g.dials.fast++
		op.timer = g.clock.AfterFunc(staggerDelay, func() { g.dialSlow(op) })
		spec := n.Spec
		g.spawn(func() { g.dial(op, spec) })
	}
	if stalled != n.stalled() {
		g.condition(n)
	}
}

// startNext starts dials that had to wait: for a login to succeed, or for others that nobody waits for.
func (g *Gate) startNext() {
	d := &g.dials
	for len(d.startable) > 0 && (g.login.proven || d.fast == 0) {
		n := d.startable[0]
		d.startable[0] = nil
		d.startable = d.startable[1:]
		g.startDials(n)
		g.refresh(n)
	}
	for len(d.later) > 0 && d.active < spareDials && (g.login.proven || d.fast == 0) {
		n := d.later[0]
		d.later[0] = nil
		d.later = d.later[1:]
		n.later = false
		g.startDials(n)
		g.refresh(n)
	}
}

// dial runs on a goroutine of its own. No caller's context is in it: whoever waits may go.
func (g *Gate) dial(op *dialOp, spec NodeSpec) {
	begun := g.now()
	op.node.count.dials.Add(1)
	conn, err := g.cfg.Dial(context.WithValue(g.ctx, admitting{}, op), spec)
	took := g.now() - begun
	var rtt time.Duration
	if m, ok := conn.(roundTripper); ok && err == nil {
		rtt = m.RTT()
	}

	g.mu.Lock()
	n := op.node
	op.over = true
	op.timer.Stop()
	if op.trying != nil {
		close(op.trying)
		n.refusal.trying = nil
	}
	wasStalled := n.stalled()
	n.active--
	n.dialing--
	n.fed = max(n.fed-1, 0)
	g.dials.active--
	if op.slow {
		n.slow--
	} else {
		g.dials.fast--
	}
	if err == nil {
		g.dialed(op, conn, took, rtt)
	} else {
		g.addTotal(-1)
		g.dialFailed(op, err)
		g.freed(n)
	}
	if wasStalled != n.stalled() {
		g.condition(n)
	}
	if !n.leaving {
		g.startDials(n)
	}
	g.startNext()
	g.refresh(n)
	g.done()
	g.unlock()
}

// dialed takes in a new connection.
func (g *Gate) dialed(op *dialOp, conn Conn, took int64, rtt time.Duration) {
	n := op.node
	now := g.now()
	pc := g.newPhysical(n, conn, now)
	n.observe(int64(rtt), now)
	n.observeDial(took, now)
	g.event(Event{Kind: ConnOpened, Node: n.Info})
	g.accepted(n, op.credential)
	n.fullStep = 0
	if g.closed || n.leaving {
		why := closedStale
		if g.closed {
			why = closedShutdown
		}
		g.startClose(pc, why)
		return
	}
	g.reached(n)
	if w := n.assigned.head; w != nil {
		g.detach(w)
		g.deliver(w, pc, now)
		return
	}
	if why, over := g.excess(n, 1); over {
		g.startClose(pc, why)
		return
	}
	g.offer(pc, now)
}

// dialFailed sees to a dial that failed. Its slot has been given back.
func (g *Gate) dialFailed(op *dialOp, err error) {
	n := op.node
	outcome := DialFailure
	if g.cfg.Classify != nil {
		outcome = g.cfg.Classify(err)
	}
	// The dial was the oldest waiter's, unless there are still enough for all.
	var w *waiter
	if n.assigned.len > n.dialing {
		w = n.assigned.head
		g.detach(w)
	}
	if g.closed || n.leaving {
		if w != nil {
			g.placeOrSettle(w)
		}
		return
	}
	var cooling *coolingError
	if errors.As(err, &cooling) { // Admit said so: nothing was dialled
		n.count.dials.Add(^uint64(0)) // minus one
		g.coolDown(n)
		g.tried(w, n, cooling.LoginError)
		if n.Ejected {
			g.probeLater(n)
		}
		g.failHopeless(true)
		return
	}
	g.event(Event{Kind: DialFailed, Node: n.Info, Err: err})
	if g.opt.MinIdleConnsPerInstance > 0 {
		g.warmLater(n)
	}
	switch outcome {
	case DialCapacity:
		g.reached(n)
		g.setFull(n, 0)
		if w != nil {
			g.placeOrSettle(w)
		}
	case DialLogin:
		g.reached(n)
		refusal := g.refused(n, err, op.credential)
		g.tried(w, n, refusal)
		g.failHopeless(false)
	case DialFatal:
		g.reached(n)
		if w != nil {
			g.fail(w, err)
		}
	default:
		n.count.dialFailures.Add(1)
		g.tried(w, n, err)
		g.failure(n, balancer.Dial, &NodeDialError{Node: n.Spec.Name, Address: n.Spec.Address, Err: err})
	}
}

// tried has a waiter, if there is one, go on to the next node.
func (g *Gate) tried(w *waiter, n *node, err error) {
	if w == nil {
		return
	}
	w.tried = append(w.tried, &n.Node)
	w.failures = append(w.failures, &NodeDialError{Node: n.Spec.Name, Address: n.Spec.Address, Err: err})
	g.placeOrSettle(w)
}

// dialSlow lets others not wait for a dial that takes long.
func (g *Gate) dialSlow(op *dialOp) {
	g.mu.Lock()
	defer g.unlock()
	if op.over || g.closed {
		return
	}
	op.slow = true
	n := op.node
	n.slow++
	g.dials.fast--
	if n.stalled() {
		g.condition(n)
		g.reassign(n)
	}
	g.startNext()
}

// reassign finds other nodes for the waiters of a node that is in trouble. Those for whom there is none keep
// the dials under way, the oldest first; the rest wait without a node.
func (g *Gate) reassign(n *node) {
	kept := 0
	for _, w := range n.assigned.list() {
		if w.over || w.node != n {
			continue
		}
		m, l := g.choose(w, &n.Node)
		switch {
		case m != nil:
			g.detach(w)
			g.grant(w, m, l)
		case w.fallback != nil:
			// Its preference would be met late, if at all.
			g.detach(w)
			g.fallBack(w)
		case kept < n.active:
			kept++
		default:
			g.relocate(w)
		}
	}
}

// keepWarm dials up to the minimum of idle connections.
func (g *Gate) keepWarm(n *node) {
	least := g.opt.MinIdleConnsPerInstance
	if least <= 0 || g.closed || n.leaving || n.Ejected || n.warmTimer != nil || !n.Spec.Eligible {
		return
	}
	for len(n.idle)+n.spare() < least && g.canReserve(n) {
		if !n.warmSlot {
			if wait := g.warmth.take(g.now(), g.rand()); wait > 0 {
				n.warmSlot = true
				g.warmAfter(n, wait)
				break
			}
		}
		n.warmSlot = false
		g.reserve(n)
	}
	g.startDials(n)
	g.refresh(n)
}

// warmSoon has the minimum of idle connections seen to, after waiters have been.
func (g *Gate) warmSoon(n *node) {
	if g.opt.MinIdleConnsPerInstance > 0 && !n.cold {
		n.cold = true
		g.cold = append(g.cold, n)
	}
}

// rewarm sees to it, unless slots are short and wanted by waiters.
func (g *Gate) rewarm() {
	if len(g.cold) == 0 || g.max > 0 && g.line.waiting > 0 {
		return
	}
	list := slices.Clone(g.cold)
	g.cold = g.cold[:0]
	for _, n := range list {
		n.cold = false
		g.keepWarm(n)
	}
}

// warmLater delays keepWarm after a dial failed.
func (g *Gate) warmLater(n *node) {
	if n.warmTimer != nil {
		return
	}
	g.warmAfter(n, balancer.Jitter(warmRetry, g.rand()))
}

// warmAfter has the minimum of idle connections seen to later.
func (g *Gate) warmAfter(n *node, wait time.Duration) {
	n.warmTimer = g.clock.AfterFunc(wait, func() {
		g.mu.Lock()
		defer g.unlock()
		n.warmTimer = nil
		g.warmSoon(n)
	})
}
