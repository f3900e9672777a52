package pool

import (
	"slices"
	"strings"
	"time"
)

// A node that joins a running gate gets a growing part of its weight, so that it can warm up.
const (
	rampSteps = 10
	rampStep  = time.Second
)

// seedPrefix marks the ID of a node whose identity isn't known yet.
const seedPrefix = "seed:"

// Apply makes the node set what nodes say. Nodes that aren't in it any more drain: their idle
// connections are closed now, those in use when they are released or by force after Options.DrainTimeout. New
// nodes join with no connections and, unless this is the first Apply, a small part of their weight. A changed
// address is a new node. What is the same is left alone. An ID that occurs twice is used once.
//
// Who waits for what the set no longer has fails now, unless Config.Fresh says that another set is on its way.
func (g *Gate) Apply(nodes []NodeSpec) {
	wanted := make(map[string]*NodeSpec, len(nodes))
	byAddress := make(map[string]*NodeSpec, len(nodes))
	weighted := false
	for i := range nodes {
		s := &nodes[i]
		wanted[s.ID] = s
		byAddress[s.Address] = s
		weighted = weighted || !s.Overflow()
	}
	g.mu.Lock()
	defer g.unlock()
	if g.closed {
		return
	}
	changed := !g.applied
	if weighted && g.set.Flat() {
		g.set.Weighted()
		changed = true
	}
	for id, n := range g.nodes {
		s := wanted[id]
		if s == nil && strings.HasPrefix(id, seedPrefix) {
			// It was known by its address alone, and may have an identity now.
			if s = byAddress[n.Spec.Address]; s != nil && g.nodes[s.ID] == nil {
				delete(g.nodes, id)
				g.nodes[s.ID] = n
			} else {
				s = nil
			}
		}
		switch {
		case s == nil || s.Address != n.Spec.Address:
			g.leave(n)
		case !n.Spec.Same(s):
			g.change(n, s)
		default:
			continue
		}
		changed = true
	}
	for i := range nodes {
		if g.nodes[nodes[i].ID] == nil {
			g.enter(wanted[nodes[i].ID])
			changed = true
		}
	}
	first := !g.applied
	g.applied = true
	if changed {
		if first && !weighted && len(nodes) > 0 {
			g.event(Event{Kind: WeightsAllZero})
		}
		g.setMax()
		g.publish()
		for _, n := range g.nodes {
			g.warmSoon(n)
		}
		g.set.Prune()
		g.sayPanic()
	}
	// What was unsure may be certain now.
	for _, ln := range g.line.lanes {
		if ln.waiting.len > 0 {
			ln.enter(&g.line.ready)
			g.due = true
		}
	}
	g.failHopeless(false)
}

// Settled has those fail who wait for what the set doesn't have, once Config.Fresh says that it is up to date.
func (g *Gate) Settled() {
	g.mu.Lock()
	defer g.unlock()
	g.failHopeless(false)
}

// enter makes a node, or takes back one that is leaving.
func (g *Gate) enter(s *NodeSpec) {
	for n := range g.leaving {
		if n.Spec.ID == s.ID && n.Spec.Address == s.Address {
			g.comeBack(n, s)
			return
		}
	}
	n := &node{gate: g, ramp: rampSteps}
	n.assigned.which = byNode
	if g.applied && len(g.nodes) > 0 {
		n.ramp = 1
		g.rampLater()
	}
	n.Spec = *s
	g.addNode(n)
	g.findTwins(n)
	g.refresh(n)
	g.event(Event{Kind: NodeJoined, Node: n.Info})
}

// comeBack takes back a node that is leaving.
func (g *Gate) comeBack(n *node, s *NodeSpec) {
	delete(g.leaving, n)
	stop(&n.drainTimer)
	n.leaving = false
	n.count.leaving.Store(false)
	n.Spec = *s
	g.addNode(n)
	g.condition(n)
	g.event(Event{Kind: NodeJoined, Node: n.Info})
	if n.Ejected {
		n.probeTimer = g.clock.AfterFunc(max(n.health.Until().Sub(g.at(g.now())), 0), func() { g.probe(n) })
	}
	if n.ramp < rampSteps {
		g.rampLater()
	}
	g.noTwin(n)
	g.findTwins(n)
	g.refresh(n)
}

// findTwins finds the leaving nodes that are the same server as a node: its cap is for both.
func (g *Gate) findTwins(n *node) {
	for t := range g.leaving {
		if t.Spec.ID == n.Spec.ID || t.Spec.Address == n.Spec.Address {
			n.twins = append(n.twins, t)
			t.rivals = append(t.rivals, n)
		}
	}
}

// noTwin is for a leaving node that has gone or come back: it counts for no other any more.
func (g *Gate) noTwin(n *node) {
	for _, t := range n.rivals {
		t.twins = slices.DeleteFunc(t.twins, func(x *node) bool { return x == n })
		g.refresh(t)
	}
	n.rivals = nil
}

// addNode puts a node into the set.
func (g *Gate) addNode(n *node) {
	n.setWeight()
	n.Usable, n.Ready = false, false
	g.set.Add(&n.Node)
	if n.Index == len(g.slots) {
		g.slots = append(g.slots, nil)
	}
	g.slots[n.Index] = n
	g.nodes[n.Spec.ID] = n
	n.publishSpec()
}

// change takes over a new description of a node.
func (g *Gate) change(n *node, s *NodeSpec) {
	moved := g.set.Change(&n.Node, s)
	if w := n.weightNow(); w != n.Weight {
		n.Weight = w
		g.set.Reweigh(&n.Node)
	}
	n.publishSpec()
	if moved {
		g.rehouse(n)
		g.offered(n)
	}
	if !n.Spec.Eligible {
		n.closeIdle(closedStale)
	}
	g.trimExcess(n)
	g.refresh(n)
	g.event(Event{Kind: NodeChanged, Node: n.Info})
}

// rehouse sees to the waiters of a node whose classes have changed.
func (g *Gate) rehouse(n *node) {
	for _, w := range n.assigned.list() {
		if w.node == n && (n.leaving || n.LevelIn(w.lane.class) != w.level) {
			g.relocate(w)
		}
	}
}

// leave begins a node's drain.
func (g *Gate) leave(n *node) {
	delete(g.nodes, n.Spec.ID)
	g.leaving[n] = struct{}{}
	g.set.Remove(&n.Node)
	g.slots[n.Index] = nil
	n.leaving = true
	n.count.leaving.Store(true)
	n.stopTimers()
	if n.refusal.active {
		n.refusal.active = false
		g.login.refused--
	}
	n.full, n.renewals, n.yieldTo = false, 0, nil
	n.health.Abandon()
	g.event(Event{Kind: NodeDraining, Node: n.Info, InUse: len(n.inUse)})
	n.closeIdle(closedStale)
	g.rehouse(n)
	g.dropDials(n)
	if len(n.inUse) > 0 {
		n.drainTimer = g.clock.AfterFunc(g.opt.DrainTimeout, func() {
			g.mu.Lock()
			defer g.unlock()
			if n.leaving {
				n.closeInUse(closedStale)
			}
		})
	}
	g.refresh(n)
	g.gone(n)
}

// gone forgets a leaving node that has no connection left.
func (g *Gate) gone(n *node) {
	if n.total() > 0 {
		return
	}
	if _, ok := g.leaving[n]; !ok {
		return
	}
	delete(g.leaving, n)
	stop(&n.drainTimer)
	g.noTwin(n)
	n.over = true
	g.ended = append(g.ended, n)
	g.event(Event{Kind: NodeGone, Node: n.Info})
}

// trimExcess closes idle connections over a cap that was lowered.
func (g *Gate) trimExcess(n *node) {
	for n.Spec.MaxConns > 0 && len(n.idle) > 0 && n.live() > n.Spec.MaxConns {
		pc := n.idle[0]
		g.takeIdle(pc)
		g.startClose(pc, closedExcess)
	}
}

// publishSpec makes the description that Stats reads.
func (n *node) publishSpec() {
	c := n.Spec
	c.Target = nil
	n.count.spec.Store(&c)
}

// setWeight derives the weight that strategies see.
func (n *node) setWeight() { n.Weight = n.weightNow() }

func (n *node) weightNow() int { return max(n.Spec.Weight*n.ramp/rampSteps, 1) }

// rampLater raises the weights of nodes that start slowly, step by step, all at once.
func (g *Gate) rampLater() {
	if g.ramp != nil {
		return
	}
	g.ramp = g.clock.AfterFunc(rampStep, func() {
		g.mu.Lock()
		defer g.unlock()
		g.ramp = nil
		if g.closed {
			return
		}
		for _, n := range g.nodes {
			if n.ramp == rampSteps {
				continue
			}
			n.ramp++
			n.setWeight()
			g.set.Reweigh(&n.Node)
			if n.ramp < rampSteps {
				g.rampLater()
			}
		}
	})
}

// publish makes the list of nodes for Stats, and keeps the sums of those that are in it no longer.
func (g *Gate) publish() {
	list := make([]*node, 0, len(g.nodes)+len(g.leaving))
	for _, n := range g.nodes {
		list = append(list, n)
	}
	for n := range g.leaving {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *node) int { return a.Spec.Compare(&b.Spec) })
	g.list.Store(&list)
	g.retire()
}

// unlist takes the nodes that are gone out of the list.
func (g *Gate) unlist() {
	list := make([]*node, 0, len(*g.list.Load()))
	for _, n := range *g.list.Load() {
		if !n.over {
			list = append(list, n)
		}
	}
	g.list.Store(&list)
	g.retire()
}

func (g *Gate) retire() {
	for _, n := range g.ended {
		g.retired.add(&n.count)
	}
	g.ended = nil
}
