package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/balancer"
)

// The backoff of a node that has no room for another connection.
const (
	fullFirst = 200 * time.Millisecond
	fullMax   = 10 * time.Second
)

// warmRetry is how long a failed dial delays the next one that keeps the minimum of idle connections.
const warmRetry = time.Second

// spareDials bounds the dials under way at which another one that nobody waits for is put off: a pool of a
// thousand nodes doesn't open a thousand connections in one moment.
const spareDials = 32

// dialOp is one dial under way.
type dialOp struct {
	node  *node
	slow  bool
	over  bool
	timer interface{ Stop() bool }
}

// reserve takes a slot for a dial.
func (g *Gate) reserve(n *node) {
	n.dialing++
	g.addTotal(1)
	g.refresh(n)
	g.due = true // if nobody waits for this dial, it may serve a waiter without a node
}

// trim gives back the slots of dials that haven't begun and that nobody waits for any more.
func (g *Gate) trim(n *node) {
	need := max(g.opt.MinIdleConnsPerInstance-len(n.idle), 0)
	need = max(need, n.fed)
	if n.ejected {
		need = max(need, 1) // its probe
	}
	for n.dialing > n.active && n.spare() > need {
		n.dialing--
		g.addTotal(-1)
		g.due = true
	}
}

// unqueue gives back the slots of all dials that haven't begun. Nobody may wait for them.
func (g *Gate) unqueue(n *node) {
	drop := n.dialing - n.active
	n.dialing = n.active
	n.fed = 0
	g.addTotal(-drop)
	g.refresh(n)
}

// startDials starts what dials a node has slots for, two at a time. Until one login has succeeded dials go one
// by one over all nodes: a wrong password is then found out by one refusal, not by as many as there are nodes.
func (g *Gate) startDials(n *node) {
	stalled := n.stalled()
	for n.active < dialsPerNode && n.active < n.dialing && !g.closed && !n.leaving {
		if !g.login.proven && g.fast > 0 {
			g.startable = append(g.startable, n)
			break
		}
		if n.assigned.len <= n.active && g.dials >= spareDials {
			if !n.later {
				n.later = true
				g.later = append(g.later, n)
			}
			break
		}
		op := &dialOp{node: n}
		n.active++
		g.dials++
		g.fast++
		op.timer = g.clock.AfterFunc(staggerDelay, func() { g.dialSlow(op) })
		spec := n.spec
		g.spawn(func() { g.dial(op, spec) })
	}
	if stalled != n.stalled() {
		g.condition(n)
	}
}

// startNext starts dials that had to wait: for a login to succeed, or for others that nobody waits for.
func (g *Gate) startNext() {
	for len(g.startable) > 0 && (g.login.proven || g.fast == 0) {
		n := g.startable[0]
		g.startable = g.startable[1:]
		g.startDials(n)
		g.refresh(n)
	}
	for len(g.later) > 0 && g.dials < spareDials && (g.login.proven || g.fast == 0) {
		n := g.later[0]
		g.later = g.later[1:]
		n.later = false
		g.startDials(n)
		g.refresh(n)
	}
}

// dial runs on a goroutine of its own. No caller's context is in it: whoever waits may go.
func (g *Gate) dial(op *dialOp, spec NodeSpec) {
	ctx, cancel := context.WithCancelCause(g.ctx)
	if d := g.opt.ConnectTimeout; d > 0 {
		t := g.clock.AfterFunc(d, func() { cancel(fmt.Errorf("no connection within connect_timeout %v: %w", d, context.DeadlineExceeded)) })
		defer t.Stop()
	}
	begun := g.now()
	op.node.count.dials.Add(1)
	conn, err := g.cfg.Dial(context.WithValue(ctx, admitting{}, g), spec)
	if err != nil && ctx.Err() != nil && g.ctx.Err() == nil {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	cancel(nil)
	took := g.now() - begun
	var rtt time.Duration
	if m, ok := conn.(roundTripper); ok && err == nil {
		rtt = m.RTT()
	}

	g.mu.Lock()
	n := op.node
	op.over = true
	op.timer.Stop()
	wasStalled := n.stalled()
	n.active--
	g.dials--
	n.dialing--
	n.fed = max(n.fed-1, 0)
	if op.slow {
		n.slow--
	} else {
		g.fast--
	}
	if err == nil {
		g.dialed(n, conn, took, rtt)
	} else {
		g.addTotal(-1)
		g.undialed(n, err)
		g.freed(n)
	}
	if wasStalled != n.stalled() {
		g.condition(n)
		g.due = true
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
func (g *Gate) dialed(n *node, conn Conn, took int64, rtt time.Duration) {
	now := g.now()
	pc := g.newPhysical(n, conn, now)
	n.observe(int64(rtt), now)
	n.observeDial(took, now)
	g.event(Event{Kind: ConnOpened, Node: n.info})
	g.login.passed()
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

// reached is for every answer of a server: it lives.
func (g *Gate) reached(n *node) {
	if !n.health.Success(balancer.Dial, g.at(g.now())) {
		return
	}
	n.ejected = false
	stop(&n.probeTimer)
	stop(&n.warmTimer)
	g.event(Event{Kind: NodeReadmitted, Node: n.info})
	g.condition(n)
	g.warmSoon(n)
	g.due = true
}

// undialed sees to a dial that failed. Its slot has been given back.
func (g *Gate) undialed(n *node, err error) {
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
			g.again(w)
		}
		return
	}
	var cooling *coolingError
	if errors.As(err, &cooling) { // Admit said so: nothing was dialled
		n.count.dials.Add(^uint64(0)) // minus one
		if w != nil {
			g.fail(w, cooling.LoginError)
		}
		return
	}
	g.event(Event{Kind: DialFailed, Node: n.info, Err: err})
	if g.opt.MinIdleConnsPerInstance > 0 {
		g.warmLater(n)
	}
	switch outcome {
	case DialCapacity:
		g.reached(n)
		g.setFull(n, 0)
		if w != nil {
			g.again(w)
		}
	case DialLogin:
		g.reached(n)
		g.login.refuse(g, err, n)
		if w != nil {
			g.fail(w, g.login.err)
		}
		g.failAssigned()
	case DialFatal:
		g.reached(n)
		if w != nil {
			g.fail(w, err)
		}
	default:
		n.count.dialFailures.Add(1)
		if w != nil {
			w.tried = append(w.tried, n)
			w.failures = append(w.failures, &NodeDialError{Node: n.spec.Name, Address: n.spec.Address, Err: err})
			g.again(w)
		}
		g.failure(n, balancer.Dial)
	}
}

// again places a waiter that has lost its dial.
func (g *Gate) again(w *waiter) {
	if !g.place(w) {
		g.settle(w)
	}
}

// failAssigned ends all that wait for a dial, with the error of a refused login, and drops the dials that
// haven't begun.
func (g *Gate) failAssigned() {
	for _, n := range g.nodes {
		for n.assigned.head != nil {
			g.fail(n.assigned.head, g.login.err)
		}
		g.unqueue(n)
		if n.ejected && n.active == 0 {
			g.probeLater(n)
		}
	}
}

// failure counts a connection failure against a node's health.
func (g *Gate) failure(n *node, kind balancer.Evidence) {
	probing := n.ejected
	if !n.health.Failure(&g.healthy, kind, g.at(g.now()), g.rand()) {
		return
	}
	n.ejected = true
	n.gen++
	n.count.ejections.Add(1)
	until := n.health.Until()
	wait := until.Sub(g.at(g.now()))
	kindOf := NodeEjected
	if probing {
		kindOf = ProbeFailed
	}
	g.event(Event{Kind: kindOf, Node: n.info, For: wait})
	n.closeIdle(closedEvict)
	stop(&n.probeTimer)
	n.probeTimer = g.clock.AfterFunc(wait, func() { g.probe(n) })
	g.condition(n)
	g.reassign(n)
	g.due = true
}

// probeGap is between two probes of one program: a cluster that comes back has many nodes to probe, and many programs
// that do.
const probeGap = 250 * time.Millisecond

// probe dials a node whose ejection has ended. Nobody waits for it.
func (g *Gate) probe(n *node) {
	g.mu.Lock()
	defer g.unlock()
	if g.closed || n.leaving || !n.ejected {
		return
	}
	if g.login.blocked(g) != nil {
		g.probeLater(n)
		return
	}
	if !n.probeSlot {
		now := g.now()
		at := max(g.nextProbe, now)
		g.nextProbe = at + int64(balancer.Jitter(probeGap, g.rand()))
		if at > now {
			n.probeSlot = true
			stop(&n.probeTimer)
			n.probeTimer = g.clock.AfterFunc(time.Duration(at-now), func() { g.probe(n) })
			return
		}
	}
	n.probeSlot = false
	if !n.health.Probe(g.at(g.now())) {
		return
	}
	if n.dialing > 0 || g.canReserve(n) {
		if n.dialing == 0 {
			g.reserve(n)
		}
		g.startDials(n)
		g.refresh(n)
		return
	}
	// No slot is free: make one if that is possible, and come back.
	if g.max > 0 && g.total >= g.max {
		g.stealFor(n)
	}
	g.probeLater(n)
}

// probeLater puts a probe off that can't be made now.
func (g *Gate) probeLater(n *node) {
	n.health.Abandon()
	stop(&n.probeTimer)
	n.probeTimer = g.clock.AfterFunc(staggerDelay, func() { g.probe(n) })
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
	g.fast--
	if n.stalled() {
		g.condition(n)
		g.reassign(n)
		g.due = true
	}
	g.startNext()
}

// reassign finds other nodes for the waiters of a node that is in trouble. Those for whom there is none keep
// the dials under way, the oldest first; the rest wait without a node.
func (g *Gate) reassign(n *node) {
	var list []*waiter
	for w := n.assigned.head; w != nil; w = w.links[byNode].next {
		list = append(list, w)
	}
	kept := 0
	for _, w := range list {
		if w.over || w.node != n {
			continue
		}
		m, l := g.choose(w.class, &w.avoid, append(w.tried[:len(w.tried):len(w.tried)], n))
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
			g.detach(w)
			g.again(w)
		}
	}
}

// setFull makes a node take no new connections for a while: d, or if that is 0 a time that doubles each time.
func (g *Gate) setFull(n *node, d time.Duration) {
	if d <= 0 {
		d = balancer.Jitter(min(fullFirst<<min(n.fullStep, 16), fullMax), g.rand())
		n.fullStep++
	}
	n.full = true
	g.event(Event{Kind: NodeFull, Node: n.info, For: d})
	stop(&n.fullTimer)
	n.fullTimer = g.clock.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.unlock()
		if g.closed || n.leaving {
			return
		}
		n.full = false
		g.refresh(n)
		g.warmSoon(n)
		g.due = true
	})
	g.refresh(n)
	g.reassign(n)
}

// Full tells the gate that a server has no room for further connections now. It counts as full for d, or for
// a growing time if d is 0; connections that it has keep serving.
func (g *Gate) Full(id string, d time.Duration) {
	g.mu.Lock()
	defer g.unlock()
	if n := g.nodes[id]; n != nil && !g.closed {
		g.setFull(n, d)
	}
}

// keepWarm dials up to the minimum of idle connections.
func (g *Gate) keepWarm(n *node) {
	least := g.opt.MinIdleConnsPerInstance
	if least <= 0 || g.closed || n.leaving || n.ejected || n.warmTimer != nil || !n.spec.Eligible || g.login.blocked(g) != nil {
		return
	}
	for len(n.idle)+n.spare() < least && g.canReserve(n) {
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
	if len(g.cold) == 0 || g.max > 0 && g.waiting > 0 {
		return
	}
	list := g.cold
	g.cold = nil
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
	n.warmTimer = g.clock.AfterFunc(balancer.Jitter(warmRetry, g.rand()), func() {
		g.mu.Lock()
		defer g.unlock()
		n.warmTimer = nil
		g.warmSoon(n)
	})
}
