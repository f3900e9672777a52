package pool

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/options"
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
func (g *Gate) Apply(nodes []NodeSpec) {
	wanted := make(map[string]*NodeSpec, len(nodes))
	byAddress := make(map[string]*NodeSpec, len(nodes))
	for i := range nodes {
		s := &nodes[i]
		wanted[s.ID] = s
		byAddress[s.Address] = s
	}
	g.mu.Lock()
	defer g.unlock()
	if g.closed {
		return
	}
	changed := !g.applied
	now := g.now()
	for id, n := range g.nodes {
		s := wanted[id]
		if s == nil && strings.HasPrefix(id, seedPrefix) {
			// It was known by its address alone, and may have an identity now.
			if s = byAddress[n.spec.Address]; s != nil && g.nodes[s.ID] == nil {
				delete(g.nodes, id)
				g.nodes[s.ID] = n
			} else {
				s = nil
			}
		}
		switch {
		case s == nil || s.Address != n.spec.Address:
			g.leave(n)
		case !sameSpec(&n.spec, s):
			g.change(n, s)
		default:
			g.forget(n, now)
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
	g.applied = true
	g.due = true // what was unsure may be certain now
	if !changed {
		return
	}
	g.setShares()
	g.publish()
	for _, n := range g.slots {
		if n != nil {
			g.warmSoon(n)
		}
	}
	g.sayPanic()
}

// enter makes a node, or takes back one that is leaving.
func (g *Gate) enter(s *NodeSpec) {
	for n := range g.leaving {
		if n.spec.ID == s.ID && n.spec.Address == s.Address {
			delete(g.leaving, n)
			stop(&n.drainTimer)
			n.leaving = false
			n.count.leaving.Store(false)
			g.seat(n)
			g.nodes[s.ID] = n
			g.change(n, s)
			g.event(Event{Kind: NodeJoined, Node: n.info})
			if n.ejected {
				n.probeTimer = g.clock.AfterFunc(max(n.health.Until().Sub(g.at(g.now())), 0), func() { g.probe(n) })
			}
			return
		}
	}
	n := &node{gate: g, spec: *s, ramp: rampSteps}
	n.assigned.which = byNode
	n.spec.Zone = maps.Clone(s.Zone)
	n.setInfo()
	g.seat(n)
	g.nodes[s.ID] = n
	if g.applied && len(g.nodes) > 1 {
		n.ramp = 1
		g.rampLater(n)
	}
	n.setWeight()
	g.classify(n)
	g.event(Event{Kind: NodeJoined, Node: n.info})
}

// seat gives a node its Candidate.Index.
func (g *Gate) seat(n *node) {
	if last := len(g.freeSlots) - 1; last >= 0 {
		n.slot = g.freeSlots[last]
		g.freeSlots = g.freeSlots[:last]
		g.slots[n.slot] = n
		return
	}
	n.slot = len(g.slots)
	g.slots = append(g.slots, n)
}

// change takes over a new description of a node.
func (g *Gate) change(n *node, s *NodeSpec) {
	regroup := n.spec.ID != s.ID || n.spec.Tier != s.Tier || n.spec.Replicaset != s.Replicaset || n.spec.Role != s.Role ||
		n.spec.Eligible != s.Eligible || n.spec.Priority != s.Priority || n.spec.Weight != s.Weight ||
		n.spec.Name != s.Name || !maps.Equal(n.spec.Zone, s.Zone) || len(n.members) == 0
	zone := n.spec.Zone
	if !maps.Equal(zone, s.Zone) {
		zone = maps.Clone(s.Zone)
	}
	n.spec = *s
	n.spec.Zone = zone
	n.setInfo()
	n.setWeight()
	if regroup {
		g.leaveAll(n)
		g.classify(n)
		g.rehome(n)
	}
	if !n.spec.Eligible {
		n.closeIdle(closedStale)
	}
	g.trimExcess(n)
	g.refresh(n)
	g.event(Event{Kind: NodeChanged, Node: n.info})
}

// classify puts a node into the classes that it belongs to.
func (g *Gate) classify(n *node) {
	n.usable = false
	for _, c := range g.classes {
		g.join(n, c)
	}
	g.refresh(n)
}

// rehome sees to the waiters of a node whose classes have changed.
func (g *Gate) rehome(n *node) {
	var list []*waiter
	for w := n.assigned.head; w != nil; w = w.links[byNode].next {
		list = append(list, w)
	}
	for _, w := range list {
		l := levelIn(w.class, n)
		if l == w.level {
			continue
		}
		g.detach(w)
		g.again(w)
	}
}

// leave begins a node's drain.
func (g *Gate) leave(n *node) {
	delete(g.nodes, n.spec.ID)
	g.leaving[n] = struct{}{}
	g.leaveAll(n)
	n.leaving = true
	n.count.leaving.Store(true)
	if n.isPoor {
		n.isPoor = false
		g.share.poor--
	}
	g.slots[n.slot] = nil
	g.freeSlots = append(g.freeSlots, n.slot)
	g.stopTimers(n)
	n.full, n.renewals = false, 0
	n.health.Abandon()
	g.event(Event{Kind: NodeDraining, Node: n.info, InUse: len(n.inUse)})
	n.closeIdle(closedStale)
	g.rehome(n)
	g.unqueue(n)
	n.drainTimer = g.clock.AfterFunc(g.opt.DrainTimeout, func() {
		g.mu.Lock()
		defer g.unlock()
		if n.leaving {
			n.closeInUse(closedStale)
		}
	})
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
	g.retired.add(&n.count)
	g.publish()
	g.event(Event{Kind: NodeGone, Node: n.info})
}

// trimExcess closes idle connections over a cap that was lowered.
func (g *Gate) trimExcess(n *node) {
	if n.spec.MaxConns <= 0 {
		return
	}
	for len(n.idle) > 0 && n.total()-n.closing > n.spec.MaxConns {
		pc := n.idle[0]
		n.idle = slices.Delete(n.idle, 0, 1)
		g.startClose(pc, closedExcess)
	}
}

// setInfo makes the identity that leases carry.
func (n *node) setInfo() {
	s := &n.spec
	n.info = &NodeInfo{ID: s.ID, Name: s.Name, Address: s.Address, Tier: s.Tier, Replicaset: s.Replicaset, ReplicasetName: s.ReplicasetName, Role: s.Role, Eligible: s.Eligible}
	n.count.spec.Store(s.clone())
}

func (s *NodeSpec) clone() *NodeSpec {
	c := *s
	c.Target = nil
	return &c
}

// setWeight derives the weight that strategies see.
func (n *node) setWeight() {
	n.weight = max(n.spec.Weight*n.ramp/rampSteps, 1)
}

// rampLater raises the weight of a node that starts slowly, step by step.
func (g *Gate) rampLater(n *node) {
	n.rampTimer = g.clock.AfterFunc(rampStep, func() {
		g.mu.Lock()
		defer g.unlock()
		if g.closed || n.leaving || n.ramp >= rampSteps {
			return
		}
		n.ramp++
		n.setWeight()
		for i := range n.members {
			if m := &n.members[i]; m.in && m.level.tracker != nil {
				m.level.tracker.Set(n.slot, n.weight, g.rand())
			} else {
				g.refreshMember(n, m)
			}
		}
		if n.ramp < rampSteps {
			g.rampLater(n)
		}
	})
}

// sameSpec tells whether two descriptions are the same, Target aside: it belongs to the address.
func sameSpec(a, b *NodeSpec) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Address == b.Address && a.Tier == b.Tier && a.Replicaset == b.Replicaset &&
		a.ReplicasetName == b.ReplicasetName && a.Role == b.Role && a.Weight == b.Weight && a.Priority == b.Priority &&
		a.MaxConns == b.MaxConns && a.Eligible == b.Eligible && maps.Equal(a.Zone, b.Zone)
}

// Rules are what a configuration says of single nodes, made for looking up a thousand of them.
type Rules struct {
	maxConns                     int
	weights, caps, priorityRules *options.RuleIndex
}

// NewRules reads a configuration, which may not change then.
func NewRules(cfg *options.Config) *Rules {
	return &Rules{maxConns: cfg.MaxConnsPerInstance, weights: options.IndexRules(cfg.NodeWeights),
		caps: options.IndexRules(cfg.NodeMaxConns), priorityRules: options.IndexRules(cfg.NodePriorities)}
}

// Of returns the weight, cap and priority of a node: by its name, one of its
// addresses or its tier, in this order, else the defaults. Nodes found by discovery inherit them this way.
func (r *Rules) Of(name string, addresses []string, tier string) (weight, maxConns, priority int) {
	weight, maxConns = options.DefaultWeight, r.maxConns
	if v, ok := r.weights.Match(name, addresses, tier); ok {
		weight = v
	}
	if v, ok := r.caps.Match(name, addresses, tier); ok {
		maxConns = v
	}
	if v, ok := r.priorityRules.Match(name, addresses, tier); ok {
		priority = v
	}
	return weight, maxConns, priority
}
