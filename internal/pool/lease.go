package pool

import (
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/options"
)

// Request says which nodes may serve a lease. The zero Request is for any node of the set.
//
// Requests with Node or Replicaset look past weights and priorities; all others are balanced by them.
type Request struct {
	Node       string               // ID of the one node
	Replicaset string               // uuid
	Tier       string               // name
	Role       options.InstanceRole // RoleAny: no matter
	// Strict: only nodes that match will do. Otherwise Node, Replicaset, Tier and Role are a preference: if it
	// can't be met within Wait, the lease comes from any node of the set.
	Strict bool
	// Wait bounds the wait for a preference. 0: no wait for a node that has reached a cap of its own. A dial is waited
	// for, and so are connections that only the cluster's cap keeps away, for as long as a dial may take.
	Wait time.Duration
	// Timeout bounds the whole wait instead of Options.AcquireTimeout, of which a part is spent already. 0: that.
	Timeout time.Duration
	// Avoid are IDs of nodes that are used only if nobody else can.
	Avoid [4]string
	// Look has an idle connection's socket looked at before it is leased, however short a time it was idle: what
	// is about to be sent must not be sent to a peer that is gone.
	Look bool
}

func (r *Request) filter() nodeset.Filter {
	return nodeset.Filter{Node: r.Node, Replicaset: r.Replicaset, Tier: r.Tier, Role: r.Role}
}

// Matches tells whether a node is one that the request asks for, weights and policy aside.
func (r *Request) Matches(n *NodeInfo) bool {
	f := r.filter()
	return f.Met(n)
}

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

// lend makes a lease of a connection that is in no list. l is the level by which it was chosen, tried the nodes that were
// tried before.
func (g *Gate) lend(pc *physical, l *nodeset.Level, tried []*nodeset.Node, now int64) Lease {
	n := pc.node
	pc.seq++
	pc.leasedAt = now
	n.addInUse(pc)
	n.count.leases.Add(1)
	if l != nil && (l.Rank() > 0 || l.Overflow()) {
		g.countOverflow(l, tried, n, now)
	}
	if g.max > 0 {
		g.count(pc, l)
	}
	return Lease{pc: pc, info: n.Info, seq: pc.seq}
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
	switch {
	case over:
		g.startClose(pc, why)
	case g.max > 0 && g.passes(pc, now):
	default:
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
	l.discard(closedGiven, false)
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
	if why == closedGiven {
		pc.given, why = true, closedUnusable
	}
	g.startClose(pc, why)
	if why == closedDead || why == closedLost {
		n.suspectAt = g.now()
	}
	// A connection of an older generation tells nothing new about the node.
	if failed && pc.gen == n.gen && !n.leaving {
		n.count.lost.Add(1)
		g.failure(n, balancer.Use, nil)
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
	}
	return 0, false
}

// excess tells whether a node, or the cluster, has more connections than its cap, which was lowered. Those that
// are being closed already don't count here; unlisted ones are those that are in none of the node's lists.
func (g *Gate) excess(n *node, unlisted int) (closeReason, bool) {
	return closedExcess, n.Spec.MaxConns > 0 && n.live()+unlisted > n.Spec.MaxConns || g.max > 0 && g.total-g.closing > g.max
}
