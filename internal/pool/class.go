package pool

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// classKey says which nodes a class is made of. The zero key is for all of the set.
type classKey struct {
	node       string
	replicaset string
	tier       string
	role       options.InstanceRole
	flat       bool // weights and priorities don't matter
}

// class is the set of nodes that one kind of request may use, with the candidates always at hand.
type class struct {
	key     classKey
	nodes   []*node
	levels  []*level   // best first
	living  int        // nodes of weight > 0 that are neither ejected nor stalled
	healthy int        // nodes that aren't ejected and may serve (overflow=saturated: of weight > 0)
	panic   bool       // none is healthy: ejected ones are used anyway
	waiting queue      // waiters without a node, oldest first
	queued  bool       // in Gate.queues
	loads   []NodeLoad // for errors, made at loadsAt
	loadsAt int64
}

// level is the part of a class that comes before the next one.
type level struct {
	class    *class
	rank     int // position in class.levels
	priority int
	overflow bool
	zone     int
	strategy options.Balancer
	tracker  balancer.Tracker // strategy, if it is one
	usable   int              // candidates
	living   int              // nodes that are neither ejected nor stalled
	cands    []options.Candidate
	nodes    []*node // parallel to cands; both empty with a tracker
	assigned queue   // waiters with a dial of a node of this level
}

// member is a node's place in one class.
type member struct {
	class  *class
	level  *level
	in     bool // among the candidates
	at     int  // position in level.cands
	living bool // counted in level.living and, of weight > 0, in class.living
	health bool // counted in class.healthy
}

func newClass(key classKey) *class { return &class{key: key} }

// keyOf is the class a request is for.
func keyOf(req *Request) classKey {
	return classKey{
		node:       req.Node,
		replicaset: req.Replicaset,
		tier:       req.Tier,
		role:       req.Role,
		flat:       req.IgnoreWeights || req.Node != "" || req.Replicaset != "",
	}
}

// classOf finds the class of a request, or makes it.
func (g *Gate) classOf(req *Request) *class {
	if req.Node == "" && req.Replicaset == "" && req.Tier == "" && req.Role == options.RoleAny && !req.IgnoreWeights {
		return g.all
	}
	return g.classFor(keyOf(req))
}

// maxClasses bounds the classes that are kept though they have no node: hints may name anything.
const maxClasses = 4096

func (g *Gate) classFor(key classKey) *class {
	if c := g.classes[key]; c != nil {
		return c
	}
	if len(g.classes) >= maxClasses {
		for k, c := range g.classes {
			if c != g.all && len(c.nodes) == 0 && c.waiting.len == 0 {
				delete(g.classes, k)
			}
		}
	}
	c := newClass(key)
	g.classes[key] = c
	for _, n := range g.slots {
		if n != nil {
			g.join(n, c)
		}
	}
	return c
}

// Matches tells whether a node is one that the request names, weights and policy aside.
func (req *Request) Matches(n *NodeInfo) bool {
	k := keyOf(req)
	return k.matches(&NodeSpec{ID: n.ID, Replicaset: n.Replicaset, Tier: n.Tier}) && k.admits(n.Role)
}

// matches tells whether a node belongs to a class, its role and the set's policy aside.
func (k *classKey) matches(s *NodeSpec) bool {
	return (k.node == "" || k.node == s.ID) &&
		(k.replicaset == "" || k.replicaset == s.Replicaset) &&
		(k.tier == "" || k.tier == s.Tier)
}

func (k *classKey) admits(role metadata.Role) bool { return role.Is(k.role) }

// hint tells whether the class is for single nodes, whose ejection isn't looked past as long as other nodes are healthy.
func (k *classKey) hint() bool { return k.node != "" || k.replicaset != "" }

// describe is a class in words, instances and replicasets by name where a node of the set tells it.
func (g *Gate) describe(k *classKey) string {
	node, replicaset := k.node, k.replicaset
	for _, n := range g.nodes {
		if n.spec.ID == k.node && n.spec.Name != "" {
			node = n.spec.Name
		}
		if n.spec.Replicaset == k.replicaset && n.spec.ReplicasetName != "" {
			replicaset = n.spec.ReplicasetName
		}
	}
	var parts []string
	switch k.role {
	case options.RoleLeader:
		parts = append(parts, "role leader")
	case options.RoleReplica:
		parts = append(parts, "role replica")
	}
	if k.node != "" {
		parts = append(parts, "instance "+node)
	}
	if k.replicaset != "" {
		parts = append(parts, "replicaset "+replicaset)
	}
	if k.tier != "" {
		parts = append(parts, "tier "+k.tier)
	}
	if len(parts) == 0 {
		return "any node"
	}
	return strings.Join(parts, ", ")
}

// join adds a node to a class if it belongs there.
func (g *Gate) join(n *node, c *class) {
	if n.leaving || !n.spec.Eligible || !c.key.matches(&n.spec) || !c.key.admits(n.spec.Role) {
		return
	}
	if n.overflow() && !c.key.flat && g.opt.Overflow == options.OverflowOff {
		return
	}
	l := g.levelOf(n, c)
	c.nodes = append(c.nodes, n)
	n.members = append(n.members, member{class: c, level: l})
	if l.tracker == nil {
		n.plain = true
	}
	g.assess(n, &n.members[len(n.members)-1])
	g.refreshMember(n, &n.members[len(n.members)-1])
}

// leaveAll takes a node out of all classes.
func (g *Gate) leaveAll(n *node) {
	for i := range n.members {
		m := &n.members[i]
		m.level.drop(n, m)
		c := m.class
		c.nodes = slices.Delete(c.nodes, slices.Index(c.nodes, n), slices.Index(c.nodes, n)+1)
		if m.living {
			g.countLiving(m, -1)
		}
		if m.health {
			c.healthy--
		}
		g.setPanic(c)
	}
	n.members = n.members[:0]
	n.plain = false
	n.usable = false
}

// levelOf finds the level of a node in a class, or makes it.
func (g *Gate) levelOf(n *node, c *class) *level {
	want := level{class: c, zone: g.zones.Level(n.spec.Zone)}
	if !c.key.flat {
		want.overflow = n.overflow()
		if !want.overflow {
			want.priority = n.spec.Priority
		}
	}
	at, found := slices.BinarySearchFunc(c.levels, &want, compareLevels)
	if found {
		return c.levels[at]
	}
	l := &want
	l.strategy = balancer.Strategy(g.opt)
	if g.opt.Balancer == nil {
		l.tracker, _ = l.strategy.(balancer.Tracker)
	}
	c.levels = slices.Insert(c.levels, at, l)
	for i, l := range c.levels {
		l.rank = i
	}
	return l
}

// compareLevels orders levels: weight > 0 before weight 0, higher priority, nearer zone.
func compareLevels(a, b *level) int {
	switch {
	case a.overflow != b.overflow:
		if b.overflow {
			return -1
		}
		return 1
	case a.priority != b.priority:
		if a.priority > b.priority {
			return -1
		}
		return 1
	default:
		return a.zone - b.zone
	}
}

// refreshMember brings a node's candidacy in one class up to date.
func (g *Gate) refreshMember(n *node, m *member) {
	want := n.usable && (!n.ejected || m.class.panic)
	l := m.level
	if want != m.in {
		if !want {
			l.drop(n, m)
			return
		}
		m.in = true
		l.usable++
		if l.tracker != nil {
			l.tracker.Set(n.slot, n.weight, g.rand())
			return
		}
		m.at = len(l.cands)
		l.cands = append(l.cands, options.Candidate{
			Index: n.slot, Name: n.spec.Name, Address: n.spec.Address, Tier: n.spec.Tier, Replicaset: n.spec.Replicaset,
			Leader: n.spec.Role == metadata.RoleLeader, Zone: n.spec.Zone,
		})
		l.nodes = append(l.nodes, n)
	}
	if m.in && l.tracker == nil {
		c := &l.cands[m.at]
		c.Weight = n.weight
		c.InFlight = len(n.inUse) + n.dialing
		c.Idle = len(n.idle)
		c.Latency = time.Duration(n.latency)
	}
}

// drop takes a node out of the candidates of its level.
func (l *level) drop(n *node, m *member) {
	if !m.in {
		return
	}
	m.in = false
	l.usable--
	if l.tracker != nil {
		l.tracker.Unset(n.slot)
		return
	}
	last := len(l.cands) - 1
	if m.at != last {
		l.cands[m.at] = l.cands[last]
		moved := l.nodes[last]
		l.nodes[m.at] = moved
		for i := range moved.members {
			if moved.members[i].level == l {
				moved.members[i].at = m.at
				break
			}
		}
	}
	l.cands[last] = options.Candidate{}
	l.cands = l.cands[:last]
	l.nodes[last] = nil
	l.nodes = l.nodes[:last]
}

// condition is to be called when a node was ejected, came back, stalled or went on.
func (g *Gate) condition(n *node) {
	n.count.ejected.Store(n.ejected)
	for i := range n.members {
		g.assess(n, &n.members[i])
	}
	g.refresh(n)
	for i := range n.members {
		g.refreshMember(n, &n.members[i])
	}
	g.sayPanic()
}

// sayPanic reports a change of what holds for the whole set.
func (g *Gate) sayPanic() {
	if g.all.panic != g.panicking {
		g.panicking = g.all.panic
		g.event(Event{Kind: AllEjected, On: g.panicking})
	}
}

// assess counts a node's condition in one of its classes.
func (g *Gate) assess(n *node, m *member) {
	c := m.class
	if living := n.living(); living != m.living {
		m.living = living
		g.countLiving(m, delta(living))
	}
	healthy := !n.ejected && (!m.level.overflow || g.opt.Overflow == options.OverflowAny)
	if healthy != m.health {
		m.health = healthy
		c.healthy += delta(healthy)
	}
	g.setPanic(c)
}

func (g *Gate) countLiving(m *member, by int) {
	m.level.living += by
	if !m.level.overflow {
		m.class.living += by
	}
}

func delta(up bool) int {
	if up {
		return 1
	}
	return -1
}

// setPanic decides whether a class must do with ejected nodes: if it has no others. Classes of single
// nodes do so only if the whole set has no others.
func (g *Gate) setPanic(c *class) {
	want := c.healthy == 0 && len(c.nodes) > 0 && (!c.key.hint() || g.all.healthy == 0)
	if want == c.panic {
		return
	}
	c.panic = want
	for _, n := range c.nodes {
		for i := range n.members {
			if n.members[i].class == c {
				g.refreshMember(n, &n.members[i])
				break
			}
		}
	}
	if c != g.all {
		return
	}
	for _, h := range g.classes {
		if h.key.hint() {
			g.setPanic(h)
		}
	}
}

// choose picks a node for a request of a class: the best level that has candidates, and
// there what the strategy says. Nodes that were tried are left out, those to be avoided if others are there.
func (g *Gate) choose(c *class, avoid *[4]string, tried []*node) (*node, *level) {
	for _, l := range c.levels {
		if l.usable == 0 || l.overflow && !g.overflowOpen(c, tried) {
			continue
		}
		if len(tried) == 0 && avoid[0] == "" {
			return l.pick(g), l
		}
		if n := l.pickExcept(g, avoid, tried); n != nil {
			return n, l
		}
	}
	return nil, nil
}

// overflowOpen tells whether weight 0 may be used, given that nothing of weight > 0 can take the request.
func (g *Gate) overflowOpen(c *class, tried []*node) bool {
	return g.opt.Overflow == options.OverflowAny || c.livingExcept(tried) > 0
}

// livingExcept counts living nodes of weight > 0 that weren't tried.
func (c *class) livingExcept(tried []*node) int {
	living := c.living
	for _, n := range tried {
		for i := range n.members {
			if m := &n.members[i]; m.class == c && m.living && !m.level.overflow {
				living--
			}
		}
	}
	return living
}

// livesExcept tells whether a node of the level lives that wasn't tried.
func (l *level) livesExcept(tried []*node) bool {
	living := l.living
	for _, n := range tried {
		for i := range n.members {
			if m := &n.members[i]; m.level == l && m.living {
				living--
			}
		}
	}
	return living > 0
}

// pick chooses among all candidates of a level, of which there is at least one.
func (l *level) pick(g *Gate) *node {
	if l.tracker != nil {
		return g.slots[l.tracker.Next(g.rand())]
	}
	return l.nodes[g.consult(l.strategy, l.cands)]
}

// pickExcept chooses among the others, if there are any; it may return nil.
func (l *level) pickExcept(g *Gate, avoid *[4]string, tried []*node) *node {
	if n := l.pickWithout(g, func(n *node) bool { return slices.Contains(tried, n) || avoids(avoid, n) }); n != nil {
		return n
	}
	return l.pickWithout(g, func(n *node) bool { return slices.Contains(tried, n) })
}

func avoids(avoid *[4]string, n *node) bool {
	for _, id := range avoid {
		if id != "" && id == n.spec.ID {
			return true
		}
	}
	return false
}

// pickWithout chooses among the candidates that aren't out. It is for retries, and allocates.
func (l *level) pickWithout(g *Gate, out func(*node) bool) *node {
	if l.tracker != nil {
		var away []*node
		for _, n := range l.class.nodes {
			for i := range n.members {
				if m := &n.members[i]; m.level == l && m.in && out(n) {
					l.tracker.Unset(n.slot)
					away = append(away, n)
				}
			}
		}
		i := l.tracker.Next(g.rand())
		for _, n := range away {
			l.tracker.Set(n.slot, n.weight, g.rand())
		}
		if i < 0 {
			return nil
		}
		return g.slots[i]
	}
	var cands []options.Candidate
	var nodes []*node
	for i, n := range l.nodes {
		if !out(n) {
			cands = append(cands, l.cands[i])
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	return nodes[g.consult(l.strategy, cands)]
}

// consult asks a strategy. One that is the user's may do anything; it must not take the gate down.
func (g *Gate) consult(s options.Balancer, cands []options.Candidate) int {
	if g.opt.Balancer == nil {
		return s.Pick(cands, g.rand())
	}
	return g.consultUser(s, cands)
}

func (g *Gate) consultUser(s options.Balancer, cands []options.Candidate) (at int) {
	defer func() {
		if r := recover(); r != nil {
			at = 0
			g.event(Event{Kind: BalancerFailed, Reason: "it panicked"})
		}
	}()
	at = s.Pick(cands, g.rand())
	if at < 0 || at >= len(cands) {
		g.event(Event{Kind: BalancerFailed, Reason: "it returned a position outside the candidates"})
		return 0
	}
	return at
}

// compareSpecs orders nodes as Stats and errors list them.
func compareSpecs(a, b *NodeSpec) int {
	return cmp.Or(
		strings.Compare(a.Tier, b.Tier),
		strings.Compare(a.ReplicasetName, b.ReplicasetName),
		strings.Compare(a.Name, b.Name),
		strings.Compare(a.ID, b.ID),
	)
}
