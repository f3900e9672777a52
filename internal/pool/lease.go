package pool

import "github.com/picodata/go-picodata/balancer"

// Lease is a connection in use. It is a small value; copies are the same lease. The zero Lease
// holds nothing.
type Lease struct {
	pc   *physical
	info *NodeInfo
	seq  uint64
}

// Discarded says why a connection can't be kept.
type Discarded uint8

// The reasons for Discard.
const (
	// Lost: the connection failed. The node's health suffers.
	Lost Discarded = iota
	// Given: the operation was given up (context done), or left the connection in an unknown state. The node's
	// health doesn't suffer.
	Given
)

// Conn returns the connection.
func (l Lease) Conn() Conn {
	if l.pc == nil {
		return nil
	}
	return l.pc.conn
}

// Node identifies the node, as it was when the lease began.
func (l Lease) Node() *NodeInfo { return l.info }

// Valid tells whether the lease holds a connection, released or not.
func (l Lease) Valid() bool { return l.pc != nil }

// lend makes a lease of a connection that is in no list.
func (g *Gate) lend(pc *physical, now int64) Lease {
	pc.seq++
	pc.leasedAt = now
	pc.node.addInUse(pc)
	return Lease{pc: pc, info: pc.node.info, seq: pc.seq}
}

// Release gives the connection back: to the oldest waiter that may use it, else to the idle ones. It is
// closed instead if it isn't usable any more, its time is over, or its node is leaving. A second Release
// does nothing. It never blocks on I/O.
func (l Lease) Release() {
	if l.pc == nil {
		return
	}
	pc := l.pc
	if !pc.conn.Usable() {
		l.discard(closedUnusable, false)
		return
	}
	n := pc.node
	g := n.gate
	now := g.now()
	var rtt int64
	if pc.rtt != nil && now-n.count.latencyAt.Load() > int64(latencyEvery) {
		rtt = int64(pc.rtt.RTT())
	}
	g.mu.Lock()
	if pc.seq != l.seq {
		g.mu.Unlock()
		return
	}
	pc.seq++
	n.observe(rtt, now)
	if n.health.Troubled() && pc.gen == n.gen {
		n.health.Success(balancer.Use, g.at(now))
	}
	why, over := g.over(pc, now)
	n.dropInUse(pc)
	if over {
		g.startClose(pc, why)
	} else {
		g.offer(pc, now)
	}
	g.refresh(n)
	g.unlock()
}

// Discard gives the lease up and closes the connection.
func (l Lease) Discard(why Discarded) {
	if why == Lost {
		l.discard(closedLost, true)
		return
	}
	l.discard(closedUnusable, false)
}

func (l Lease) discard(why closeReason, failed bool) {
	if l.pc == nil {
		return
	}
	pc := l.pc
	n := pc.node
	g := n.gate
	g.mu.Lock()
	if pc.seq != l.seq {
		g.mu.Unlock()
		return
	}
	pc.seq++
	n.dropInUse(pc)
	g.startClose(pc, why)
	if why == closedDead || why == closedLost {
		n.suspectAt = g.now()
	}
	// A connection of an older generation tells nothing new about the node.
	if failed && pc.gen == n.gen && !n.leaving {
		n.count.lost.Add(1)
		g.failure(n, balancer.Use)
	}
	g.refresh(n)
	g.unlock()
}

// over tells whether a connection that comes back must be closed, and why. It is still among those in use.
func (g *Gate) over(pc *physical, now int64) (closeReason, bool) {
	n := pc.node
	switch {
	case g.closed:
		return closedShutdown, true
	case n.leaving:
		return closedStale, true
	case pc.gen != n.gen:
		return closedEvict, true
	}
	if why, over := g.excess(n, 0); over {
		return why, true
	}
	switch {
	case pc.expires > 0 && now >= pc.expires:
		return closedLifetime, g.replace(pc, now)
	case g.mayMove() && n.total() > n.share:
		g.giveWay(pc)
		return closedRebalance, true
	}
	return 0, false
}

// excess tells whether a node, or the cluster, has more connections than its cap, which was lowered. Those that
// are being closed already don't count here; unlisted ones are those that are in none of the node's lists.
func (g *Gate) excess(n *node, unlisted int) (closeReason, bool) {
	return closedExcess, n.spec.MaxConns > 0 && n.total()-n.closing+unlisted > n.spec.MaxConns || g.max > 0 && g.total-g.closing > g.max
}

// offer gives a connection that is in no list to the oldest waiter that may use it, or makes it idle.
func (g *Gate) offer(pc *physical, now int64) {
	if g.waiters > 0 {
		if w := g.taker(pc.node); w != nil {
			g.detach(w)
			g.deliver(w, pc, now)
			return
		}
	}
	g.putIdle(pc, now)
}
