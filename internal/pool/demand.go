package pool

import (
	"slices"
	"time"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/options"
)

// The cluster's cap (max_conns) is given by demand. While there is room, whoever needs a connection gets one. When there
// is none, a connection is closed for another node's sake only
//
//   - for a waiter whose nodes have no connection at all: the one that has been idle longest of those whose node keeps another,
//     or else the next that comes back there;
//   - for a waiter whose nodes are all busy: one that nobody has used for unusedRounds, or for as many times as long as a lease
//     takes on average (unusedLeast to unusedMost);
//   - for a waiter that has waited patienceRounds, and twice as long as whoever else wants the connection: the next that
//     comes back to a node which keeps another;
//   - to send back a connection that a lower level was given while a better one had no room;
//   - to even out the nodes of a level, at most once in reviewRounds, if the node that gets it has missed statements
//     for it, and nobody has waited for the node that gives it.
//
// A round is as many leases as the cap: each connection has then been used once on average. What was taken isn't taken back
// before it has been of no use for as long, so two demands can't trade connections; and who waits is served after two
// leases for everyone who waits at the time, or patienceRounds.
const (
	unusedRounds   = 32
	unusedLeast    = 10 * time.Millisecond
	unusedMost     = 500 * time.Millisecond
	patienceRounds = 8
	reviewRounds   = 8
)

// demand is what the cluster's cap is given to.
type demand struct {
	served   uint64   // leases
	takes    int64    // how long one takes, a moving average
	reviewAt uint64   // the next review is due at so many
	idle     idleList // all idle connections, if there is a cap
	claims   []*lane  // whose nodes have no connection
	sendBack int      // connections being closed for a better level
	outside  int      // given up, still open on servers, and not counted
	timer    options.Timer
	said     bool // CapRaised
}

// idleList is connections in the order in which they became idle.
type idleList struct{ oldest, newest *physical }

func (l *idleList) add(pc *physical) {
	if pc.older = l.newest; l.newest != nil {
		l.newest.newer = pc
	} else {
		l.oldest = pc
	}
	l.newest = pc
}

func (l *idleList) remove(pc *physical) {
	switch {
	case pc.older != nil:
		pc.older.newer = pc.newer
	case l.oldest == pc:
		l.oldest = pc.newer
	default:
		return // there is no cap
	}
	if pc.newer != nil {
		pc.newer.older = pc.older
	} else {
		l.newest = pc.older
	}
	pc.older, pc.newer = nil, nil
}

// setMax follows a change of the node set.
func (g *Gate) setMax() {
	if g.opt.MaxConns <= 0 {
		return
	}
	nodes := 0
	for _, n := range g.nodes {
		if n.Spec.Eligible {
			nodes++
		}
	}
	g.max = max(g.opt.MaxConns, nodes)
	if g.max > g.opt.MaxConns && !g.demand.said {
		g.demand.said = true
		g.event(Event{Kind: CapRaised, Max: g.max})
	}
	g.stats.max.Store(int64(g.max))
	g.due = true
	// With fewer nodes the cap may be lower.
	for g.total-g.closing > g.max && g.demand.idle.oldest != nil {
		pc := g.demand.idle.oldest
		g.takeIdle(pc)
		g.startClose(pc, closedExcess)
		g.refresh(pc.node)
	}
}

// count counts a lease as demand for its node.
func (g *Gate) count(pc *physical, l *nodeset.Level) {
	d := &g.demand
	d.served++
	pc.home = nil
	if l == nil || !g.full() {
		return
	}
	l.Leases++
	if l.Rank() > 0 {
		pc.home = l.Better()
	}
	if d.served >= d.reviewAt {
		g.review()
	}
}

// took is told how long a lease has taken.
func (d *demand) took(t int64) { d.takes += (t - d.takes) / 64 }

// unusedFor is the time after which an idle connection counts as unused.
func (d *demand) unusedFor() int64 {
	return min(max(unusedRounds*d.takes, int64(unusedLeast)), int64(unusedMost))
}

// unused tells whether nobody has needed an idle connection for long.
func (g *Gate) unused(pc *physical, now int64) bool {
	return g.demand.served-pc.served >= unusedRounds*uint64(g.max) || now-pc.idleSince >= g.demand.unusedFor()
}

// feed closes idle connections of other nodes for the waiters of a hungry lane.
func (g *Gate) feed(ln *lane) {
	now := g.now()
	for ln.moving < ln.waiting.len && g.full() {
		none := ln.moving == 0 && g.without(ln)
		pc := g.donor(now, none, func(n *node) bool { return n.LevelIn(ln.class) == nil })
		if pc == nil {
			if none && !ln.claims {
				ln.claims = true
				g.demand.claims = append(g.demand.claims, ln)
			}
			break
		}
		g.takeIdle(pc)
		g.moveTo(pc, ln)
		g.refresh(pc.node)
	}
	if ln.moving < ln.waiting.len {
		g.feedLater(now)
	}
}

// without tells whether no node of a lane has a connection.
func (g *Gate) without(ln *lane) bool {
	return !slices.ContainsFunc(ln.class.Nodes(), func(n *nodeset.Node) bool { return g.node(n).live() > 0 })
}

// donor finds the connection that is least in demand: one that nobody uses or, if need be, the one that has been idle longest
// of those that aren't their nodes' last.
func (g *Gate) donor(now int64, need bool, from func(*node) bool) *physical {
	for pc := g.demand.idle.oldest; pc != nil; pc = pc.newer {
		if !g.unused(pc, now) && !need {
			return nil // the others are younger
		}
		if from(pc.node) && (g.unused(pc, now) || pc.node.live() > 1) {
			return pc
		}
	}
	return nil
}

// feedLater looks again when the connection that has been idle longest counts as unused.
func (g *Gate) feedLater(now int64) {
	d := &g.demand
	if d.timer != nil || d.idle.oldest == nil {
		return
	}
	wait := max(d.idle.oldest.idleSince+d.unusedFor()-now, int64(unusedLeast)/2)
	d.timer = g.clock.AfterFunc(time.Duration(wait), func() {
		g.mu.Lock()
		defer g.unlock()
		d.timer = nil
		if g.closed {
			return
		}
		hungry := slices.Clone(g.line.hungry)
		slices.SortFunc(hungry, func(a, b *lane) int { return int(int64(a.waiting.head.seq) - int64(b.waiting.head.seq)) })
		for _, ln := range hungry {
			g.feed(ln)
		}
	})
}

// claimed tells whether a connection that is in no list was closed for a hungry lane. w is who would get it, if anybody.
func (g *Gate) claimed(pc *physical, w *waiter) bool {
	d, n := &g.demand, pc.node
	if !g.full() {
		return false
	}
	if n.live() > 0 { // it keeps another
		for len(d.claims) > 0 {
			ln := d.claims[0]
			if ln.waiting.len > 0 && ln.moving == 0 && g.without(ln) {
				if n.LevelIn(ln.class) != nil {
					break
				}
				g.dropClaim(ln)
				g.moveTo(pc, ln)
				return true
			}
			g.dropClaim(ln)
		}
	}
	if len(g.line.hungry) == 0 {
		return false
	}
	ln := g.line.hungry[0]
	if oldest := d.idle.oldest; oldest != nil && g.unused(oldest, g.now()) {
		g.feed(ln)
	}
	first := ln.waiting.head
	waited := d.served - first.served
	if n.live() == 0 || ln.moving > 0 || waited < patienceRounds*uint64(g.max) || n.LevelIn(ln.class) != nil ||
		w != nil && waited <= 2*(d.served-w.served) {
		return false
	}
	g.moveTo(pc, ln)
	return true
}

func (g *Gate) dropClaim(ln *lane) {
	ln.claims = false
	g.demand.claims = slices.DeleteFunc(g.demand.claims, func(x *lane) bool { return x == ln })
}

// passes tells whether a connection that comes back was closed for another node, though somebody may want it.
func (g *Gate) passes(pc *physical, now int64) bool {
	g.demand.took(now - pc.leasedAt)
	n := pc.node
	home := pc.home
	pc.home = nil
	if !g.full() {
		return false
	}
	if to := n.yieldTo; to != nil {
		n.yieldTo = nil
		if to.dialable() {
			g.moveToNode(pc, to)
			return true
		}
	}
	if home == nil || n.narrowWaits > 0 || g.demand.sendBack > g.max/8 {
		return false
	}
	to := g.slots[home.Index]
	if to == nil || &to.Node != home || !to.dialable() {
		return false
	}
	pc.returned = true
	g.demand.sendBack++
	g.moveToNode(pc, to)
	return true
}

// takeFor closes a connection for a node that must be dialled though the cluster is full.
func (g *Gate) takeFor(n *node) {
	if pc := g.donor(g.now(), true, func(from *node) bool { return from != n }); pc != nil {
		g.takeIdle(pc)
		g.moveToNode(pc, n)
		g.refresh(pc.node)
	}
}

// moveTo closes a connection that is in no list for a lane.
func (g *Gate) moveTo(pc *physical, ln *lane) {
	pc.lane = ln
	ln.moving++
	g.startClose(pc, closedRebalance)
}

func (g *Gate) moveToNode(pc *physical, to *node) {
	pc.to = to
	g.startClose(pc, closedRebalance)
}

// passOn gives a slot that has become free to whom the connection was closed for.
func (g *Gate) passOn(pc *physical) {
	if pc.returned {
		g.demand.sendBack--
	}
	if pc.lane != nil {
		pc.lane.moving--
	}
	if g.closed || g.full() {
		return
	}
	if ln := pc.lane; ln != nil {
		if ln.waiting.len > 0 {
			ln.enter(nil)
			g.placeFirst(ln)
			if ln.waiting.len > 0 {
				ln.enter(&g.line.ready)
				g.due = true
			}
		}
	}
	to := pc.to
	if to == nil || to.leaving || !to.room() || to.full || to.refusal.active {
		return
	}
	switch {
	case to.Ejected && !to.health.Probe(g.at(g.now())):
		return
	case !to.Ejected:
		to.fed++
	}
	g.reserve(to)
	g.startDials(to)
	g.refresh(to)
}

// review evens out the nodes of each level by the demand that could be served by any of them.
func (g *Gate) review() {
	d := &g.demand
	d.reviewAt = d.served + reviewRounds*uint64(g.max)
	g.set.Levels(func(l *nodeset.Level, nodes []*nodeset.Node) {
		g.evenOut(l, nodes)
		l.Leases = 0
	})
	for _, n := range g.nodes {
		n.leasesAt, n.narrowWaits = n.count.leases.Load(), 0
	}
}

// evenOut moves connections from the node that has the most for its weight to the one that has the fewest.
func (g *Gate) evenOut(l *nodeset.Level, list []*nodeset.Node) {
	weights := 0
	nodes := make([]*node, 0, len(list))
	for _, x := range list {
		if n := g.node(x); !n.Ejected {
			weights += n.Weight
			nodes = append(nodes, n)
		}
	}
	if len(nodes) < 2 || l.Leases == 0 {
		return
	}
	got := make(map[*node]int)
	have := func(n *node) int { return n.live() + got[n] }
	missed := func(n *node) bool {
		due := int64(l.Leases) * int64(n.Weight) / int64(weights)
		return due-int64(n.count.leases.Load()-n.leasesAt) >= reviewRounds/2
	}
	for range g.max/8 + 1 {
		var poor, rich *node
		for _, n := range nodes {
			if n.dialable() && (poor == nil || (have(n)+1)*poor.Weight < (have(poor)+1)*n.Weight) {
				poor = n
			}
			if n.narrowWaits == 0 && n.yieldTo == nil && have(n) > 1 && (rich == nil || have(n)*rich.Weight > have(rich)*n.Weight) {
				rich = n
			}
		}
		if poor == nil || rich == nil || poor == rich || (have(rich)-1)*poor.Weight < (have(poor)+1)*rich.Weight || !missed(poor) {
			return
		}
		got[poor]++
		got[rich]--
		if len(rich.idle) > 0 {
			got[rich]++ // live counts it no more
			pc := rich.idle[0]
			g.takeIdle(pc)
			g.moveToNode(pc, poor)
			g.refresh(rich)
		} else {
			rich.yieldTo = poor
		}
	}
}
