package pool

import (
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/internal/pool/nodeset"
)

// physical is a connection and what the gate knows about it.
type physical struct {
	conn      Conn
	rtt       roundTripper // conn, if it measures
	node      *node
	gen       uint64
	seq       uint64 // grows when a lease ends: a stale Lease does nothing
	at        int    // position in node.inUse
	expires   int64  // drawn once, at birth; 0 = never
	idleSince int64
	leasedAt  int64
	replaced  bool // expired, and a dial for its successor was started
	given     bool // its statement was given up: the server may still be at it

	// What demand.go goes by.
	served   uint64        // demand.served when it became idle
	older    *physical     // in demand.idle
	newer    *physical     // in demand.idle
	home     *nodeset.Node // leased here only because the cluster had no room for a connection there
	lane     *lane         // it is closed for
	to       *node         // it is closed for
	returned bool          // to is where it should have been in the first place
}

const (
	// closeLinger bounds the wait for a server to close its end.
	closeLinger = 750 * time.Millisecond
	// abandonedMax bounds the time that a connection whose statement was given up counts, however long the server takes.
	abandonedMax = 5 * time.Minute
	// uncapped is what abandoned_limit is a share of where there is no cap.
	uncapped = 100
)

// lingerer is what a Conn may offer: CloseWait ends it, and returns true when the server has closed its end too, or
// false after d. Only then is there certainly room for another connection under a cap. It may be called again to wait on.
type lingerer interface{ CloseWait(d time.Duration) bool }

// closeReason says why a connection was closed.
type closeReason uint8

// The reasons. The names are those of the official clients where they have one.
const (
	closedStale     closeReason = iota // its node left the set
	closedExcess                       // more than the cap
	closedRebalance                    // closed for another node, under the cluster's cap
	closedEvict                        // its node was ejected, or its generation is over
	closedLost                         // failed in use
	closedDead                         // found closed by the peer while idle
	closedUnusable                     // its operation ended in a way that forbids to keep it
	closedLifetime
	closedIdle
	closedShutdown
	closeReasons
	closedGiven // unusable, and the server may still be busy with it
)

var closeNames = [closeReasons]string{
	"stale", "excess", "rebalance", "evict", "lost", "dead", "unusable", "lifetime", "idle", "shutdown",
}

// newPhysical wraps what a dial brought.
func (g *Gate) newPhysical(n *node, conn Conn, now int64) *physical {
	pc := &physical{conn: conn, node: n, gen: n.gen}
	pc.rtt, _ = conn.(roundTripper)
	if d := g.opt.MaxConnLifetime; d > 0 {
		pc.expires = now + int64(balancer.Jitter(d, g.rand()))
	}
	return pc
}

// startClose closes a connection that is in no list any more, once the lock is released. Until the
// socket is closed it counts toward the caps.
func (g *Gate) startClose(pc *physical, why closeReason) {
	pc.node.closing++
	g.closing++
	if pc.given {
		pc.node.given++
	}
	pc.node.count.closed[why].Add(1)
	g.closes = append(g.closes, pc)
	g.event(Event{Kind: ConnClosed, Node: pc.node.Info, Reason: closeNames[why]})
}

// closeConn runs on a goroutine of its own.
func (g *Gate) closeConn(pc *physical) {
	l, lingers := pc.conn.(lingerer)
	if !lingers {
		_ = pc.conn.Close() // it is given up whatever closing it says
	}
	ended := !lingers || l.CloseWait(closeLinger)
	outside := false
	if !ended && pc.given {
		ended, outside = g.outlast(pc, l)
	}
	if lingers && !ended {
		_ = pc.conn.Close()
	}
	g.mu.Lock()
	if outside {
		pc.node.outside--
		g.demand.outside--
		g.refresh(pc.node)
	} else {
		g.slotFree(pc)
	}
	g.done()
	g.unlock()
}

// outlast waits for a server that is still at a statement which was given up. Some of those may stay outside the cap
// (abandoned_limit): their slots are free at once. The others count until the server has let go.
func (g *Gate) outlast(pc *physical, l lingerer) (ended, outside bool) {
	g.mu.Lock()
	if n := pc.node; !g.closed && !n.leaving && g.mayAbandon(n) {
		outside = true
		n.outside++
		g.demand.outside++
		g.slotFree(pc)
	}
	g.unlock()
	for end := g.now() + int64(abandonedMax); !ended && g.now() < end && g.ctx.Err() == nil; {
		ended = l.CloseWait(closeLinger)
	}
	return ended, outside
}

// mayAbandon tells whether one more given-up connection of a node may stay outside the caps.
func (g *Gate) mayAbandon(n *node) bool {
	limit := n.Spec.MaxConns
	if limit <= 0 {
		limit = uncapped
	}
	return n.outside < g.abandonable(limit) && (g.max == 0 || g.demand.outside < g.abandonable(g.max))
}

// abandonable is abandoned_limit of a cap.
func (g *Gate) abandonable(limit int) int { return limit * g.opt.AbandonedLimit / 100 }

// slotFree gives the slot of a closed connection to whom it was closed for, or to all.
func (g *Gate) slotFree(pc *physical) {
	n := pc.node
	n.closing--
	g.closing--
	if pc.given {
		n.given--
	}
	g.addTotal(-1)
	g.passOn(pc)
	g.freed(n)
}

// freed follows every end of a slot.
func (g *Gate) freed(n *node) {
	g.refresh(n)
	if n.leaving {
		g.gone(n)
	} else if !g.closed {
		g.renew(n)
		g.warmSoon(n)
	}
	g.due = true
}

// replace decides about a connection that has come back at the end of its lifetime: true if it is to be
// closed now. On a busy node its successor is dialled first, so that nobody waits for it; and no more than a
// quarter of all connections end in a tenth of the lifetime, however many were born together.
func (g *Gate) replace(pc *physical, now int64) bool {
	n := pc.node
	life := int64(g.opt.MaxConnLifetime)
	if now >= pc.expires+life/2 {
		return true
	}
	if pc.replaced {
		return n.active == 0 || len(n.idle) > 0
	}
	if !g.mayRetire(now) {
		return false
	}
	if len(n.idle) > 0 || len(n.inUse) == 1 {
		return true
	}
	if g.canReserve(n) {
		pc.replaced = true
		g.reserve(n)
		g.startDials(n)
		return false
	}
	n.renewals++
	return true
}

// mayRetire spreads the ends of lifetimes.
func (g *Gate) mayRetire(now int64) bool {
	if now < g.retireAt {
		return false
	}
	g.retireAt = now + int64(g.opt.MaxConnLifetime)*2/5/int64(max(g.total, 1))
	return true
}

// renew dials the successor of a connection that had to be closed first, because the node was full.
func (g *Gate) renew(n *node) {
	for n.renewals > 0 && g.canReserve(n) {
		n.renewals--
		g.reserve(n)
		g.startDials(n)
	}
}

// putIdle makes a connection idle.
func (g *Gate) putIdle(pc *physical, now int64) {
	n := pc.node
	pc.idleSince = now
	n.idle = append(n.idle, pc)
	if g.max > 0 {
		pc.served = g.demand.served
		g.demand.idle.add(pc)
	}
	if due := g.idleDue(pc); due > 0 && (n.idleDue == 0 || due < n.idleDue) {
		g.armIdle(n, due, now)
	}
}

// idleDue is when an idle connection must be looked at; 0 = never.
func (g *Gate) idleDue(pc *physical) int64 {
	due := pc.expires
	limit := g.opt.MaxConnIdleTime
	if pc.node.Spec.Overflow() && !g.set.Flat() && g.opt.OverflowIdleTime > 0 && (limit <= 0 || g.opt.OverflowIdleTime < limit) {
		limit = g.opt.OverflowIdleTime
	}
	if limit > 0 {
		if d := pc.idleSince + int64(limit); due == 0 || d < due {
			due = d
		}
	}
	return due
}

func (g *Gate) armIdle(n *node, due, now int64) {
	n.idleDue = due
	wait := time.Duration(max(due-now, 0))
	if n.idleTimer == nil {
		n.idleTimer = g.clock.AfterFunc(wait, func() { g.sweep(n) })
		return
	}
	n.idleTimer.Reset(wait)
}

// sweep closes the idle connections whose time has come, down to the minimum that is kept; those that have
// reached their lifetime are replaced.
func (g *Gate) sweep(n *node) {
	now := g.now()
	g.mu.Lock()
	defer g.unlock()
	n.idleDue = 0
	if g.closed || n.leaving {
		return
	}
	kept := n.idle[:0]
	left := len(n.idle)
	var next int64
	for _, pc := range n.idle { // longest idle first
		due := g.idleDue(pc)
		old := pc.expires > 0 && now >= pc.expires
		switch {
		case due == 0 || now < due:
		case old && !g.mayRetire(now):
			due = g.retireAt
		case old:
			left--
			g.demand.idle.remove(pc)
			g.startClose(pc, closedLifetime)
			continue
		case left > g.opt.MinIdleConnsPerInstance:
			left--
			g.demand.idle.remove(pc)
			g.startClose(pc, closedIdle)
			continue
		default:
			// It is kept warm; only its lifetime ends it now.
			due = pc.expires
		}
		kept = append(kept, pc)
		if due > 0 && (next == 0 || due < next) {
			next = due
		}
	}
	clear(n.idle[len(kept):])
	n.idle = kept
	g.refresh(n)
	if next > 0 {
		g.armIdle(n, next, now)
	}
	g.warmSoon(n)
}
