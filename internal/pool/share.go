package pool

import "time"

// moveGap is the least time between two searches for a connection that could give way.
const moveGap = 10 * time.Millisecond

// shares divides the cluster's cap (max_conns) among the nodes.
//
// A node may go over its share as long as the cluster has room. When the cap is reached, nodes over their
// share give way to nodes below theirs, one connection at a time: an idle one at once, one in use when it
// comes back. The cap holds at every moment; so at the cap the old connection is closed before the new one is dialled,
// below it nothing needs to be closed.
type shares struct {
	poor     int // nodes below their share that could take a connection
	moving   int // connections being closed for poor nodes
	stealing int // idle connections being closed for waiters
	nextMove int64
	said     bool
}

// setShares follows a change of the node set.
func (g *Gate) setShares() {
	if g.opt.MaxConns <= 0 {
		return
	}
	var nodes []*node
	weights := 0
	for _, n := range g.slots {
		if n != nil && n.spec.Eligible {
			nodes = append(nodes, n)
			weights += n.spec.Weight
		}
	}
	before := g.max
	g.max = max(g.opt.MaxConns, len(nodes))
	if g.max > g.opt.MaxConns && !g.share.said {
		g.share.said = true
		g.event(Event{Kind: CapRaised, Max: g.max})
	}
	g.stats.max.Store(int64(g.max))
	left := g.max
	for _, n := range nodes {
		n.share = 0
		if weights > 0 && n.spec.Weight > 0 {
			n.share = max(int(int64(g.max)*int64(n.spec.Weight)/int64(weights)), 1)
			left -= n.share
		}
	}
	for _, n := range nodes {
		if left > 0 && n.spec.Weight > 0 {
			n.share++
			left--
		}
	}
	if before != g.max {
		g.due = true
	}
	for _, n := range g.nodes {
		g.refresh(n)
	}
	// With fewer nodes the cap may be lower.
	for over := g.total - g.closing - g.max; over > 0; over-- {
		pc := g.takeRichest(nil, false)
		if pc == nil {
			break
		}
		g.startClose(pc, closedExcess)
		g.refresh(pc.node)
	}
}

// setPoor counts the nodes below their share.
func (g *Gate) setPoor(n *node) {
	poor := !n.leaving && n.spec.Eligible && !n.ejected && !n.full && !n.stalled() && n.total() < n.share &&
		(n.spec.MaxConns <= 0 || n.total() < n.spec.MaxConns)
	if poor != n.isPoor {
		n.isPoor = poor
		g.share.poor += delta(poor)
	}
}

// mayMove tells whether a connection should give way now.
func (g *Gate) mayMove() bool {
	return g.max > 0 && g.share.poor > 0 && g.share.stealing == 0 && g.total >= g.max && g.share.moving < min(max(1, g.max/10), g.share.poor)
}

// giveWay marks a connection that is about to be closed: its slot goes to a poor node.
func (g *Gate) giveWay(pc *physical) {
	pc.heir = heirPoor
	g.share.moving++
}

// migrate closes an idle connection of the richest node for the sake of a poor one.
func (g *Gate) migrate() {
	if !g.mayMove() {
		return
	}
	now := g.now()
	if now < g.share.nextMove {
		return
	}
	g.share.nextMove = now + int64(moveGap)
	if pc := g.takeRichest(nil, true); pc != nil {
		g.giveWay(pc)
		g.startClose(pc, closedRebalance)
		g.refresh(pc.node)
	}
}

// feedPoor dials the poorest node, if there is room.
func (g *Gate) feedPoor() {
	if g.closed || g.share.poor == 0 {
		return
	}
	var poorest *node
	for _, n := range g.nodes {
		if n.isPoor && (poorest == nil || n.total()-n.share < poorest.total()-poorest.share) && g.canReserve(n) {
			poorest = n
		}
	}
	if poorest == nil || g.login.blocked(g) != nil {
		return
	}
	poorest.fed++
	g.reserve(poorest)
	g.startDials(poorest)
	g.refresh(poorest)
}

// steal closes an idle connection of the richest node if only the cluster's cap keeps a waiter, which is in
// its queue, from a connection.
func (g *Gate) steal(w *waiter) {
	if g.max == 0 || g.total < g.max || g.share.stealing >= g.waiting {
		return
	}
	for _, n := range w.class.nodes {
		if !n.full && !n.stalled() && (!n.ejected || w.class.panic) && (n.spec.MaxConns <= 0 || n.total() < n.spec.MaxConns) {
			g.stealFor(n)
			return
		}
	}
}

// stealFor closes an idle connection of the richest other node. The slot goes to the oldest waiter.
func (g *Gate) stealFor(n *node) {
	pc := g.takeRichest(n, false)
	if pc == nil {
		return
	}
	pc.heir = heirWaiter
	g.share.stealing++
	g.startClose(pc, closedRebalance)
	g.refresh(pc.node)
}

// takeRichest takes the longest idle connection of the node that is furthest over its share, or
// nearest below it. onlyOver: only of one over its share. It may return nil.
func (g *Gate) takeRichest(except *node, onlyOver bool) *physical {
	var richest *node
	for _, n := range g.nodes {
		if n == except || len(n.idle) == 0 || onlyOver && n.total() <= n.share {
			continue
		}
		if richest == nil || n.total()-n.share > richest.total()-richest.share {
			richest = n
		}
	}
	if richest == nil {
		return nil
	}
	pc := richest.idle[0]
	copy(richest.idle, richest.idle[1:])
	richest.idle[len(richest.idle)-1] = nil
	richest.idle = richest.idle[:len(richest.idle)-1]
	return pc
}
