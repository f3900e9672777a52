package pool

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// wait makes the caller a waiter. It is called with the lock held and releases it. n is the node chosen,
// which has no idle connection, or nil.
func (g *Gate) wait(ctx context.Context, req *Request, c *nodeset.Class, n *node, l *nodeset.Level, now int64) (Lease, error) {
	g.line.seq++
	w := &waiter{seq: g.line.seq, avoid: req.Avoid, since: now, served: g.demand.served, ready: make(chan struct{})}
	all := g.set.All()
	if c != all && !req.Strict {
		w.fallback = all
	}
	patience := max(req.Wait, staggerDelay)
	g.line.waiters++
	g.stats.waiters.Store(int64(g.line.waiters))
	g.join(w, c)
	switch {
	case n != nil:
		g.grant(w, n, l)
	case w.fallback != nil && req.Wait <= 0 && !(g.full() && c.Wants()):
		g.fallBack(w)
	default:
		g.settle(w)
	}
	over, preferring := w.over, w.fallback != nil
	g.unlock()
	if over {
		return w.lease, w.err
	}
	if preferring {
		t := g.clock.AfterFunc(patience, func() { g.preferenceOver(w) })
		defer t.Stop()
	}
	if d := cmp.Or(req.Timeout, g.opt.AcquireTimeout); d > 0 {
		t := g.clock.AfterFunc(d, func() { g.expire(w, d) })
		defer t.Stop()
	}
	select {
	case <-w.ready:
		return w.lease, w.err
	case <-ctx.Done():
		return Lease{}, g.abandon(w, ctx.Err())
	}
}

// abandon ends the wait of a caller that has given up. If its connection arrived at the same moment, the
// next waiter gets it. The error is the context's; where no node could have served, it says so too.
func (g *Gate) abandon(w *waiter, err error) error {
	g.mu.Lock()
	if w.over {
		lease := w.lease
		g.mu.Unlock()
		lease.Release()
		return err
	}
	if !w.lane.class.Healthy() {
		err = fmt.Errorf("%w; %w", err, g.noNode(w))
	}
	g.end(w, nil)
	g.unlock()
	return err
}

// expire ends a wait with an error that says who holds what.
func (g *Gate) expire(w *waiter, limit time.Duration) {
	g.mu.Lock()
	defer g.unlock()
	if w.over {
		return
	}
	g.stats.timeouts.Add(1)
	c := w.lane.class
	if c.Panic() {
		// All that there is to say is what became of their last dials.
		e := &DialError{Filter: g.describe(&c.Filter), Nodes: w.failures}
		for _, n := range c.Nodes() {
			if f := g.node(n).failed; f != nil && c.Open(n, w.tried) {
				e.Nodes = append(e.Nodes, f)
			}
		}
		if len(e.Nodes) > 0 {
			g.fail(w, e)
			return
		}
	}
	if len(w.failures) == 0 && !c.Healthy() {
		g.fail(w, g.noNode(w))
		return
	}
	g.fail(w, g.timeoutError(w, limit))
}

// preferenceOver ends the time that a preference may take.
func (g *Gate) preferenceOver(w *waiter) {
	g.mu.Lock()
	defer g.unlock()
	if w.over || w.fallback == nil {
		return
	}
	w.impatient = true
	if w.node == nil {
		g.detach(w)
		g.fallBack(w)
	}
}

// fallBack makes a request one for any node.
func (g *Gate) fallBack(w *waiter) {
	g.part(w)
	g.join(w, w.fallback)
	w.fallback = nil
	g.placeOrSettle(w)
}

// detach takes a waiter out of its queues. The dial it may have had goes on.
func (g *Gate) detach(w *waiter) {
	ln := w.lane
	if n := w.node; n != nil {
		n.assigned.remove(w)
		ln.assigned.remove(w)
		w.node, w.level = nil, nil
		n.count.waiters.Store(int64(n.assigned.len))
		g.trim(n)
		g.refresh(n)
		if n.Ready {
			g.offered(n) // its dial may serve another
		}
		return
	}
	if w.links[byLane] == (link{}) && ln.waiting.head != w {
		return
	}
	g.line.waiting--
	first := ln.waiting.head == w
	if first && ln.in != nil {
		heap.Remove(ln.in, ln.at)
	}
	ln.waiting.remove(w)
	switch {
	case !first || ln.in == nil:
	case ln.waiting.len > 0:
		heap.Push(ln.in, ln)
	default:
		ln.in = nil
	}
}

// end is detach for good.
func (g *Gate) end(w *waiter, err error) {
	g.detach(w)
	g.part(w)
	g.line.waiters--
	g.stats.waiters.Store(int64(g.line.waiters))
	w.err = err
	w.over = true
}

// fail ends a wait with an error.
func (g *Gate) fail(w *waiter, err error) {
	g.end(w, err)
	close(w.ready)
}

// deliver ends a wait with a connection that is in no list. The waiter is in no queue.
func (g *Gate) deliver(w *waiter, pc *physical, now int64) {
	n := pc.node
	g.stats.waits.Add(1)
	g.stats.waitTime.Add(now - w.since)
	n.count.waits.Add(1)
	n.count.waitTime.Add(now - w.since)
	if w.lane.class.Narrow() {
		n.narrowWaits++
	}
	w.lease = g.lend(pc, n.LevelIn(w.lane.class), w.tried, now)
	g.end(w, nil)
	close(w.ready)
}

// failAll ends all waits.
func (g *Gate) failAll(err error) {
	for _, ln := range g.line.lanes {
		for _, w := range append(ln.waiting.list(), ln.assigned.list()...) {
			g.fail(w, err)
		}
	}
}

// grant gives a waiter, which is in no queue, what a node has: an idle connection or a dial.
func (g *Gate) grant(w *waiter, n *node, l *nodeset.Level) {
	if len(n.idle) > 0 {
		g.deliver(w, g.popIdle(n), g.now())
		g.refresh(n)
		return
	}
	if n.spare() <= 0 {
		g.reserve(n)
	}
	w.node, w.level = n, l
	n.assigned.insert(w)
	w.lane.assigned.insert(w)
	n.count.waiters.Store(int64(n.assigned.len))
	g.startDials(n)
	g.refresh(n)
}

// choose finds a node for a waiter; besides those that it has tried, some may be excluded.
func (g *Gate) choose(w *waiter, except ...*nodeset.Node) (*node, *nodeset.Level) {
	tried := append(w.tried[:len(w.tried):len(w.tried)], except...)
	n, l := g.set.Choose(w.lane.class, &nodeset.Choice{Avoid: w.avoid, Tried: tried, Full: g.full()})
	g.fault()
	if n == nil {
		return nil, nil
	}
	return g.node(n), l
}

// place finds a node for a waiter that is in no queue.
func (g *Gate) place(w *waiter) bool {
	n, l := g.choose(w)
	if n == nil {
		n, l = g.lastResort(w)
	}
	if n == nil {
		return false
	}
	g.grant(w, n, l)
	return true
}

// placeOrSettle places a waiter that is in no queue, or has it wait.
func (g *Gate) placeOrSettle(w *waiter) {
	if !g.place(w) {
		g.settle(w)
	}
}

// relocate finds another place for a waiter.
func (g *Gate) relocate(w *waiter) {
	g.detach(w)
	g.placeOrSettle(w)
}

// lastResort is for a waiter that has tried all healthy nodes in vain: an ejected one.
func (g *Gate) lastResort(w *waiter) (*node, *nodeset.Level) {
	c := w.lane.class
	if len(w.tried) == 0 || c.Panic() || c.Narrow() || g.full() {
		return nil, nil
	}
	var found *node
	var at *nodeset.Level
	for _, x := range c.Nodes() {
		if !c.Open(x, w.tried) {
			continue
		}
		if !x.Ejected {
			return nil, nil // it is full now, but it may be waited for
		}
		l := x.LevelIn(c)
		if x.Usable && (found == nil || l.Rank() < at.Rank() || l.Rank() == at.Rank() && g.rand()&1 == 0) {
			found, at = g.node(x), l
		}
	}
	return found, at
}

// settle has a waiter that can't be placed wait, or ends it if waiting is in vain.
func (g *Gate) settle(w *waiter) {
	ln := w.lane
	c := ln.class
	if w.fallback != nil && (w.impatient || len(w.tried) > 0 || len(c.Nodes()) == 0 || !c.Healthy()) {
		g.fallBack(w)
		return
	}
	if err := g.hopeless(w); err != nil {
		g.fail(w, err)
		return
	}
	first := ln.waiting.head
	if ln.in != nil && w.seq < first.seq {
		h := ln.in
		ln.enter(nil)
		ln.waiting.insert(w)
		ln.enter(h)
	} else {
		ln.waiting.insert(w)
	}
	g.line.waiting++
	if g.full() && c.Wants() {
		if ln.in == nil {
			ln.enter(&g.line.hungry)
		}
		g.feed(ln)
	}
}

// hopeless is the error of a waiter that no event could help. nil: waiting may help.
func (g *Gate) hopeless(w *waiter) error {
	c := w.lane.class
	if len(c.Nodes()) == 0 {
		if g.applied && g.fresh() && !g.roleless(&c.Filter) {
			return g.noNode(w)
		}
		return nil
	}
	if len(w.tried) == 0 && g.login.refused == 0 && c.LivesExcept(nil) {
		return nil
	}
	// Where no other node may serve, a waiter hears of each ejected one what its next dial has come to.
	last := len(w.tried) > 0 || c.Panic()
	var refused *LoginError
	failures := w.failures
	for _, x := range c.Nodes() {
		if !c.Open(x, w.tried) {
			continue
		}
		n := g.node(x)
		switch {
		case n.refusal.active && n.live() == 0 && !n.refusal.asking:
			refused = n.refusal.err
			failures = append(failures[:len(failures):len(failures)], &NodeDialError{Node: n.Spec.Name, Address: n.Spec.Address, Err: refused})
		case n.Ejected && last && n.dialing == 0 && n.failedAt > w.since:
			failures = append(failures[:len(failures):len(failures)], n.failed)
		default:
			return nil
		}
	}
	for _, f := range failures {
		if e, ok := f.Err.(*LoginError); ok {
			refused = e
		}
	}
	switch {
	case refused != nil && g.cfg.PasswordChanges && !w.told && g.askAgain(w):
		return nil
	case refused != nil:
		return refused
	case len(failures) > 0:
		return &DialError{Filter: g.describe(&c.Filter), Nodes: failures}
	case g.opt.Overflow == options.OverflowSaturated && !c.LivesExcept(nil) && !c.Healthy():
		return g.noNode(w)
	}
	return nil
}

// failHopeless ends the waits that have become vain. told: those that wait to hear whether the password is another one
// have heard that it isn't.
func (g *Gate) failHopeless(told bool) {
	if g.line.waiting == 0 {
		return
	}
	for _, ln := range g.line.lanes {
		hope := false // for those that have tried nothing
		for w := ln.waiting.head; w != nil; {
			next := w.links[byLane].next
			w.told = told
			if w.fallback == nil {
				if !hope || len(w.tried) > 0 {
					if err := g.hopeless(w); err != nil {
						g.fail(w, err)
					} else if len(w.tried) == 0 {
						hope = true
					}
				}
			} else if len(ln.class.Nodes()) == 0 || !ln.class.Healthy() {
				g.detach(w)
				g.fallBack(w)
			}
			w = next
		}
	}
}

// roleless tells whether a node would match but for its role, which isn't known now: its replicaset
// is switching, and the next snapshot will tell.
func (g *Gate) roleless(f *nodeset.Filter) bool {
	if f.Role == options.RoleAny {
		return false
	}
	for _, n := range g.nodes {
		if n.Spec.Role == metadata.RoleUnknown && n.Spec.Eligible && f.Matches(&n.Spec) {
			return true
		}
	}
	return false
}

func (g *Gate) fresh() bool { return g.cfg.Fresh == nil || g.cfg.Fresh() }

// offered has the lanes looked at that may use a node.
func (g *Gate) offered(n *node) {
	if g.line.waiting == 0 || n.leaving {
		return
	}
	n.Classes(func(c *nodeset.Class, _ *nodeset.Level) {
		if ln := g.line.lanes[c]; ln != nil && ln.waiting.len > 0 {
			ln.enter(&g.line.ready)
			g.due = true
		}
	})
}

// taker finds the oldest waiter that may use a connection of a node: one without a node, or
// one whose own dial is of no better level.
func (g *Gate) taker(n *node) *waiter {
	var oldest *waiter
	n.Classes(func(c *nodeset.Class, l *nodeset.Level) {
		ln := g.line.lanes[c]
		if ln == nil {
			return
		}
		if w := ln.waiting.head; w != nil && (oldest == nil || w.seq < oldest.seq) && (!l.Overflow() || c.OverflowOpen(w.tried)) {
			oldest = w
		}
		for w := ln.assigned.head; w != nil && (oldest == nil || w.seq < oldest.seq); w = w.links[byLane].next {
			if w.level.Rank() >= l.Rank() {
				oldest = w
				break
			}
		}
	})
	return oldest
}

// offer gives a connection that is in no list to the oldest waiter that may use it, or makes it idle.
func (g *Gate) offer(pc *physical, now int64) {
	if g.line.waiters > 0 {
		w := g.taker(pc.node)
		if g.max > 0 && g.claimed(pc, w) {
			return
		}
		if w != nil {
			g.detach(w)
			g.deliver(w, pc, now)
			return
		}
	}
	g.putIdle(pc, now)
}

// pump places waiters, oldest first: of lanes for which something may have become free, and of hungry ones while the
// cluster has room. It costs what it serves.
func (g *Gate) pump() {
	if g.closed {
		return
	}
	q := &g.line
	for q.waiting > 0 {
		var ln *lane
		switch room := !g.full() && len(q.hungry) > 0; {
		case len(q.ready) == 0 && !room:
			return
		case room && (len(q.ready) == 0 || q.hungry[0].waiting.head.seq < q.ready[0].waiting.head.seq):
			ln = q.hungry[0]
		default:
			ln = q.ready[0]
		}
		ln.enter(nil)
		if g.placeFirst(ln) && ln.waiting.len > 0 {
			ln.enter(&q.ready)
		}
	}
}

// placeFirst places the oldest waiter of a lane that can be placed. Once one can't, those behind it can't either,
// unless it was the nodes that it has tried that were missing.
func (g *Gate) placeFirst(ln *lane) bool {
	for w := ln.waiting.head; w != nil; {
		next := w.links[byLane].next
		g.detach(w)
		if g.place(w) {
			return true
		}
		picky := len(w.tried) > 0
		g.settle(w)
		if !picky {
			return false
		}
		w = next
	}
	return false
}

// fault reports a user's strategy that misbehaved.
func (g *Gate) fault() {
	if g.opt.Balancer == nil {
		return
	}
	if reason := g.set.Fault(); reason != "" {
		g.event(Event{Kind: BalancerFailed, Reason: reason})
	}
}
