package pool

import (
	"time"

	"github.com/picodata/go-picodata/balancer"
)

// The backoff of a node that has no room for another connection.
const (
	fullFirst = 200 * time.Millisecond
	fullMax   = 10 * time.Second
)

// reached is for every answer of a server: it lives.
func (g *Gate) reached(n *node) {
	if !n.health.Success(balancer.Dial, g.at(g.now())) {
		return
	}
	n.Ejected, n.trial, n.failed = false, false, nil
	stop(&n.probeTimer)
	stop(&n.warmTimer)
	g.event(Event{Kind: NodeReadmitted, Node: n.Info})
	g.condition(n)
	g.warmSoon(n)
}

// failure counts a connection failure against a node's health.
func (g *Gate) failure(n *node, kind balancer.Evidence, err *NodeDialError) {
	if err != nil {
		n.failed, n.failedAt = err, g.now()
	}
	probing := n.Ejected
	if !n.health.Failure(&g.healthy, kind, g.at(g.now()), g.rand()) {
		if n.Ejected {
			g.failHopeless(false)
		}
		return
	}
	n.Ejected, n.trial = true, true
	n.gen++
	n.count.ejections.Add(1)
	wait := n.health.Until().Sub(g.at(g.now()))
	kindOf := NodeEjected
	if probing {
		// This was the one dial of its interval.
		kindOf, n.trial = ProbeFailed, false
	}
	g.event(Event{Kind: kindOf, Node: n.Info, For: wait})
	n.closeIdle(closedEvict)
	stop(&n.probeTimer)
	n.probeTimer = g.clock.AfterFunc(wait, func() { g.probe(n) })
	g.condition(n)
	g.reassign(n)
	g.failHopeless(false)
}

// probe dials a node whose ejection has ended. Nobody waits for it.
func (g *Gate) probe(n *node) {
	g.mu.Lock()
	defer g.unlock()
	if g.closed || n.leaving || !n.Ejected {
		return
	}
	if n.refusal.active {
		g.probeLater(n)
		return
	}
	if !n.probeSlot {
		if wait := g.probes.take(g.now(), g.rand()); wait > 0 {
			n.probeSlot = true
			stop(&n.probeTimer)
			n.probeTimer = g.clock.AfterFunc(wait, func() { g.probe(n) })
			return
		}
	}
	n.probeSlot = false
	if !n.health.Probe(g.at(g.now())) {
		return
	}
	if n.dialing > 0 || n.room() && !n.full && !g.full() {
		if n.dialing == 0 {
			g.reserve(n)
		}
		g.startDials(n)
		g.refresh(n)
		return
	}
	// No slot is free: make one if that is possible, and come back.
	if g.full() {
		g.takeFor(n)
	}
	g.probeLater(n)
}

// probeLater puts a probe off that can't be made now.
func (g *Gate) probeLater(n *node) {
	n.health.Abandon()
	stop(&n.probeTimer)
	n.probeTimer = g.clock.AfterFunc(staggerDelay, func() { g.probe(n) })
}

// setFull makes a node take no new connections for a while: d, or if that is 0 a time that doubles each time.
func (g *Gate) setFull(n *node, d time.Duration) {
	if d <= 0 {
		d = balancer.Jitter(min(fullFirst<<min(n.fullStep, 16), fullMax), g.rand())
		n.fullStep++
	}
	n.full = true
	g.event(Event{Kind: NodeFull, Node: n.Info, For: d})
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
