package pool

import (
	"context"
	"slices"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// waiter is a request that has no connection yet. It is in its class's queue while no node can take it, or
// in the queues of a node and its level while that node dials.
type waiter struct {
	seq      uint64 // order of arrival
	class    *class
	fallback *class // where it goes if a preference can't be met
	avoid    [4]string
	node     *node
	level    *level
	tried    []*node // their dials failed
	failures []*NodeDialError
	since    int64
	lease    Lease
	err      error
	over     bool // it has its lease or its error
	ready    chan struct{}
	links    [2]link
}

type link struct{ prev, next *waiter }

// The two queues a waiter can be in.
const (
	byClass = iota // class.waiting or level.assigned
	byNode         // node.assigned
)

// queue is a list of waiters in their order of arrival.
type queue struct {
	which      int
	head, tail *waiter
	len        int
}

// insert puts a waiter where its arrival belongs. Nearly all come last; those that lost
// their dial are among the oldest, so the search starts at the front.
func (q *queue) insert(w *waiter) {
	l := &w.links[q.which]
	q.len++
	if q.tail == nil || q.tail.seq < w.seq {
		l.prev, l.next = q.tail, nil
		if q.tail == nil {
			q.head = w
		} else {
			q.tail.links[q.which].next = w
		}
		q.tail = w
		return
	}
	after := q.head
	for after.seq < w.seq {
		after = after.links[q.which].next
	}
	prev := after.links[q.which].prev
	l.prev, l.next = prev, after
	after.links[q.which].prev = w
	if prev == nil {
		q.head = w
	} else {
		prev.links[q.which].next = w
	}
}

func (q *queue) remove(w *waiter) {
	l := &w.links[q.which]
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.links[q.which].next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.links[q.which].prev = l.prev
	}
	*l = link{}
	q.len--
}

// leaseSlowly makes the caller a waiter. It is called with the lock held and releases it. n is the node chosen,
// which has no idle connection, or nil.
func (g *Gate) leaseSlowly(ctx context.Context, req *Request, c *class, n *node, l *level, now int64) (Lease, error) {
	g.seq++
	w := &waiter{seq: g.seq, class: c, avoid: req.Avoid, since: now, ready: make(chan struct{})}
	if c != g.all && !req.Strict {
		w.fallback = g.all
	}
	g.waiters++
	g.stats.waiters.Store(int64(g.waiters))
	switch {
	case n != nil:
		g.grant(w, n, l)
	case w.fallback != nil && req.Wait <= 0:
		g.fallBack(w)
	default:
		g.settle(w)
	}
	g.migrate()
	over, preferring := w.over, w.fallback != nil
	g.unlock()
	if over {
		return w.lease, w.err
	}
	if preferring && req.Wait > 0 {
		t := g.clock.AfterFunc(req.Wait, func() { g.preferenceOver(w) })
		defer t.Stop()
	}
	if d := g.opt.AcquireTimeout; d > 0 {
		t := g.clock.AfterFunc(d, func() { g.expire(w, d) })
		defer t.Stop()
	}
	select {
	case <-w.ready:
		return w.lease, w.err
	case <-ctx.Done():
		g.abandon(w)
		return Lease{}, ctx.Err()
	}
}

// abandon ends the wait of a caller that has given up. If its connection arrived at the same moment, the
// next waiter gets it.
func (g *Gate) abandon(w *waiter) {
	g.mu.Lock()
	if w.over {
		lease := w.lease
		g.mu.Unlock()
		lease.Release()
		return
	}
	g.remove(w)
	w.over = true
	g.unlock()
}

// expire ends a wait with an error that says who holds what.
func (g *Gate) expire(w *waiter, limit time.Duration) {
	g.mu.Lock()
	defer g.unlock()
	if w.over {
		return
	}
	g.stats.timeouts.Add(1)
	if len(w.class.nodes) == 0 {
		g.fail(w, g.noNode(w))
		return
	}
	g.fail(w, g.timeoutError(w, limit))
}

// preferenceOver ends the time that a preference may take.
func (g *Gate) preferenceOver(w *waiter) {
	g.mu.Lock()
	defer g.unlock()
	if w.over || w.fallback == nil || w.node != nil {
		return
	}
	g.detach(w)
	g.fallBack(w)
}

// fallBack makes a request one for any node.
func (g *Gate) fallBack(w *waiter) {
	w.class, w.fallback = w.fallback, nil
	if !g.place(w) {
		g.settle(w)
	}
}

// detach takes a waiter out of its queues. The dial it may have had goes on.
func (g *Gate) detach(w *waiter) {
	if w.node != nil {
		n := w.node
		n.assigned.remove(w)
		w.level.assigned.remove(w)
		w.node, w.level = nil, nil
		n.count.waiters.Store(int64(n.assigned.len))
		g.trim(n)
		g.refresh(n)
		g.due = true // its dial may serve another
		return
	}
	if w.class.queued && w.inQueue() {
		w.class.waiting.remove(w)
		g.waiting--
		if w.class.waiting.len == 0 {
			w.class.queued = false
			g.queues = slices.DeleteFunc(g.queues, func(c *class) bool { return c == w.class })
		}
	}
}

// inQueue tells whether a waiter without a node is in its class's queue.
func (w *waiter) inQueue() bool {
	return w.links[byClass] != link{} || w.class.waiting.head == w
}

// remove is detach for good.
func (g *Gate) remove(w *waiter) {
	g.detach(w)
	g.waiters--
	g.stats.waiters.Store(int64(g.waiters))
}

// deliver ends a wait with a connection that is in no list. The waiter is in no queue.
func (g *Gate) deliver(w *waiter, pc *physical, now int64) {
	g.waiters--
	g.stats.waiters.Store(int64(g.waiters))
	g.stats.waits.Add(1)
	g.stats.waitTime.Add(now - w.since)
	count := &pc.node.count
	count.leases.Add(1)
	count.waits.Add(1)
	count.waitTime.Add(now - w.since)
	g.countOverflow(w.class, levelIn(w.class, pc.node), w.tried, pc.node, now)
	w.lease = g.lend(pc, now)
	w.over = true
	close(w.ready)
}

// fail ends a wait with an error.
func (g *Gate) fail(w *waiter, err error) {
	g.remove(w)
	w.err = err
	w.over = true
	close(w.ready)
}

// failAll ends all waits.
func (g *Gate) failAll(err error) {
	for _, c := range g.classes {
		for c.waiting.head != nil {
			g.fail(c.waiting.head, err)
		}
		for _, l := range c.levels {
			for l.assigned.head != nil {
				g.fail(l.assigned.head, err)
			}
		}
	}
}

// grant gives a waiter, which is in no queue, what a node has: an idle connection or a dial.
func (g *Gate) grant(w *waiter, n *node, l *level) {
	if len(n.idle) > 0 {
		g.deliver(w, n.popIdle(), g.now())
		g.refresh(n)
		return
	}
	if err := g.login.blocked(g); err != nil {
		g.fail(w, err)
		return
	}
	if n.spare() <= 0 {
		g.reserve(n)
	}
	w.node, w.level = n, l
	n.assigned.insert(w)
	l.assigned.insert(w)
	n.count.waiters.Store(int64(n.assigned.len))
	g.startDials(n)
	g.refresh(n)
}

// place finds a node for a waiter that is in no queue.
func (g *Gate) place(w *waiter) bool {
	n, l := g.choose(w.class, &w.avoid, w.tried)
	if n == nil {
		n, l = g.lastResort(w)
	}
	if n == nil {
		return false
	}
	g.grant(w, n, l)
	return true
}

// lastResort is for a waiter that has tried all healthy nodes in vain: an ejected one.
func (g *Gate) lastResort(w *waiter) (*node, *level) {
	c := w.class
	if len(w.tried) == 0 || c.panic || c.key.hint() {
		return nil, nil
	}
	var found *node
	var at *level
	for _, n := range c.nodes {
		if slices.Contains(w.tried, n) {
			continue
		}
		l := levelIn(c, n)
		if l.overflow && !g.overflowOpen(c, w.tried) {
			continue
		}
		if !n.ejected {
			return nil, nil // it is full now, but it may be waited for
		}
		if n.usable && (found == nil || l.rank < at.rank || l.rank == at.rank && g.rand()&1 == 0) {
			found, at = n, l
		}
	}
	return found, at
}

// levelIn finds the level of a node in a class; nil if it isn't there.
func levelIn(c *class, n *node) *level {
	for i := range n.members {
		if n.members[i].class == c {
			return n.members[i].level
		}
	}
	return nil
}

// settle puts a waiter that can't be placed into its class's queue, or ends it if waiting is in vain.
func (g *Gate) settle(w *waiter) {
	if w.fallback != nil && (len(w.tried) > 0 || len(w.class.nodes) == 0 || w.class.healthy == 0) {
		g.fallBack(w)
		return
	}
	if err := g.hopeless(w); err != nil {
		g.fail(w, err)
		return
	}
	c := w.class
	c.waiting.insert(w)
	g.waiting++
	if !c.queued {
		c.queued = true
		g.queues = append(g.queues, c)
	}
	g.steal(w)
}

// hopeless is the error of a waiter that no event could help. nil: waiting may help.
func (g *Gate) hopeless(w *waiter) error {
	c := w.class
	if len(c.nodes) == 0 {
		if g.applied && g.fresh() && !g.roleless(&c.key) {
			return g.noNode(w)
		}
		return nil
	}
	if c.key.hint() && c.healthy == 0 && !c.panic {
		return g.noNode(w)
	}
	if len(w.tried) == 0 && c.living > 0 {
		return nil
	}
	open := 0
	for _, n := range c.nodes {
		if l := levelIn(c, n); l.overflow && !g.overflowOpen(c, w.tried) {
			continue
		}
		if !slices.Contains(w.tried, n) {
			open++
		}
	}
	switch {
	case open > 0:
		return nil
	case len(w.failures) > 0:
		return &DialError{Filter: g.describe(&c.key), Nodes: w.failures}
	case c.living == 0 && g.opt.Overflow == options.OverflowSaturated && c.healthy == 0:
		return g.noNode(w)
	}
	return nil
}

// roleless tells whether a node would match but for its role, which isn't known now: its replicaset
// is switching, and the next snapshot will tell.
func (g *Gate) roleless(key *classKey) bool {
	if key.role == options.RoleAny {
		return false
	}
	for _, n := range g.nodes {
		if n.spec.Role == metadata.RoleUnknown && n.spec.Eligible && key.matches(&n.spec) {
			return true
		}
	}
	return false
}

func (g *Gate) fresh() bool { return g.cfg.Fresh == nil || g.cfg.Fresh() }

// taker finds the oldest waiter that may use a connection of a node: one without a node, or
// one whose own dial is of no better level.
func (g *Gate) taker(n *node) *waiter {
	var oldest *waiter
	for i := range n.members {
		c, l := n.members[i].class, n.members[i].level
		if w := c.waiting.head; w != nil && (oldest == nil || w.seq < oldest.seq) &&
			(!l.overflow || g.overflowOpen(c, w.tried)) {
			oldest = w
		}
		for _, other := range c.levels[l.rank:] {
			if w := other.assigned.head; w != nil && (oldest == nil || w.seq < oldest.seq) {
				oldest = w
			}
		}
	}
	return oldest
}

// pump places waiters, oldest first. Once one can't be placed, those behind it in its class can't either,
// unless it was the nodes that it has tried that were missing.
func (g *Gate) pump() {
	if g.waiting == 0 || g.closed {
		return
	}
	next := make([]*waiter, 0, len(g.queues))
	for _, c := range g.queues {
		next = append(next, c.waiting.head)
	}
	for {
		at := -1
		for i, w := range next {
			if w != nil && (at < 0 || w.seq < next[at].seq) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		w := next[at]
		next[at] = w.links[byClass].next
		g.detach(w)
		if g.place(w) {
			continue
		}
		if len(w.tried) == 0 {
			next[at] = nil
		}
		g.settle(w)
	}
}
