package nodeset

import (
	"slices"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Class is the nodes that one kind of request may use.
//
// A wide class (any node, a tier, a role) has its candidates always at hand, for it may have a thousand nodes. A narrow
// one (a node, a replicaset) has few and looks at them when it is asked.
type Class struct {
	Filter Filter
	Held   int // requests that wait; a class that is held isn't forgotten

	set     *Set
	narrow  bool
	nodes   []*Node
	seats   []*seat  // of a narrow class: its nodes, best level first
	levels  []*Level // best first
	living  int      // of a wide class: nodes of weight > 0 that live
	healthy int      // of a wide class: nodes that aren't ejected and may serve
	panic   bool     // of a wide class: none is healthy, so that ejected ones are used
}

// Level is the part of a class that comes before the next one.
type Level struct {
	Leases uint64 // made here; the owner counts

	class    *Class
	rank     int // position in class.levels
	priority int
	overflow bool
	zone     int
	strategy options.Balancer
	tracker  balancer.Tracker // strategy, if it is one
	usable   int              // candidates
	living   int              // nodes that live
	cands    []options.Candidate
	nodes    []*Node // parallel to cands; both empty with a tracker
	ready    []*Node // candidates that need no new slot, if the cluster has a cap
}

// member is a node's place in a wide class.
type member struct {
	class   *Class
	level   *Level
	at      int // position in class.nodes
	in      bool
	candAt  int // position in level.cands
	ready   bool
	readyAt int  // position in level.ready
	living  bool // counted in level.living and, of weight > 0, in class.living
	health  bool // counted in class.healthy
}

// seat is a node's place in a narrow class.
type seat struct {
	class *Class
	level *Level
	node  *Node
	turn  int // of smooth weighted round robin
}

// Nodes are those of the class, whatever their condition. Read only.
func (c *Class) Nodes() []*Node { return c.nodes }

// Panic tells whether ejected nodes are used: no other is left. For narrow classes the whole set must have no other.
func (c *Class) Panic() bool {
	if c.narrow {
		return len(c.nodes) > 0 && c.set.all.healthy == 0 && !c.Healthy()
	}
	return c.panic
}

// Healthy tells whether a node of the class isn't ejected and may serve by the rule of overflow.
func (c *Class) Healthy() bool {
	if !c.narrow {
		return c.healthy > 0
	}
	return slices.ContainsFunc(c.nodes, func(n *Node) bool { return !n.Ejected })
}

// LivesExcept tells whether a node of weight > 0 lives that isn't among tried.
func (c *Class) LivesExcept(tried []*Node) bool {
	if c.narrow {
		return slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.Living() && !slices.Contains(tried, n) })
	}
	living := c.living
	for _, n := range tried {
		if m := n.memberOf(c); m != nil && m.living && !m.level.overflow {
			living--
		}
	}
	return living > 0
}

// OverflowOpen tells whether weight 0 may be used, given that nothing of weight > 0 can take a request.
func (c *Class) OverflowOpen(tried []*Node) bool {
	return c.set.overflow == options.OverflowAny || c.LivesExcept(tried)
}

// Open tells whether a request that has tried some nodes may use one.
func (c *Class) Open(n *Node, tried []*Node) bool {
	l := n.LevelIn(c)
	return l != nil && !slices.Contains(tried, n) && (!l.overflow || c.OverflowOpen(tried))
}

// Wants tells whether a node of the class could take a connection if the cluster had room for one.
func (c *Class) Wants() bool {
	if c.narrow {
		panics := c.Panic()
		return slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.Usable && (!n.Ejected || panics) })
	}
	return slices.ContainsFunc(c.levels, func(l *Level) bool { return l.usable > 0 && (!l.overflow || c.OverflowOpen(nil)) })
}

// Narrow tells whether the class is for one node or one replicaset.
func (c *Class) Narrow() bool { return c.narrow }

// Better finds a node of a better level that could take a connection if the cluster had room for one; nil if there is none.
func (l *Level) Better() *Node {
	for _, b := range l.class.levels[:l.rank] {
		if b.usable > 0 && !l.class.narrow && (!b.overflow || l.class.OverflowOpen(nil)) {
			return b.pick()
		}
	}
	return nil
}

// LevelIn finds the level of a node in a class; nil if it isn't there.
func (n *Node) LevelIn(c *Class) *Level {
	if c.narrow {
		for _, t := range n.narrow {
			if t.class == c {
				return t.level
			}
		}
		return nil
	}
	if m := n.memberOf(c); m != nil {
		return m.level
	}
	return nil
}

func (n *Node) memberOf(c *Class) *member {
	for i := range n.wide {
		if n.wide[i].class == c {
			return &n.wide[i]
		}
	}
	return nil
}

// Rank is the level's position among those of its class, 0 for the best.
func (l *Level) Rank() int { return l.rank }

// Overflow tells whether the level is of weight 0.
func (l *Level) Overflow() bool { return l.overflow }

// Below says how a lease at this level came about: it is overflow (weight 0) or of a lower priority than the first,
// and the nodes that come before it live and are full (saturated), or don't live. tried are nodes that don't count.
func (l *Level) Below(tried []*Node) (overflow, lower, saturated bool) {
	c := l.class
	switch first := c.levels[0]; {
	case l.rank == 0 && !l.overflow:
		return false, false, false
	case l.overflow:
		return true, false, c.LivesExcept(tried)
	default:
		return false, l.priority < first.priority, first.livesExcept(tried)
	}
}

// livesExcept tells whether a node of the level lives that wasn't tried.
func (l *Level) livesExcept(tried []*Node) bool {
	living := l.living
	for _, n := range tried {
		if m := n.memberOf(l.class); m != nil && m.level == l && m.living {
			living--
		}
	}
	return living > 0
}

// joinWide adds a node to a wide class if it belongs there.
func (s *Set) joinWide(n *Node, c *Class) {
	if !s.belongs(n, c) || s.overflows(n) && s.overflow == options.OverflowOff {
		return
	}
	l := s.levelOf(n, c)
	n.wide = append(n.wide, member{class: c, level: l, at: len(c.nodes)})
	c.nodes = append(c.nodes, n)
	if l.tracker == nil {
		n.reads = true
	}
	m := &n.wide[len(n.wide)-1]
	m.assess(n)
	m.refresh(n)
}

// joinNarrow adds a node to a narrow class if it belongs there.
func (s *Set) joinNarrow(n *Node, c *Class) {
	if !s.belongs(n, c) {
		return
	}
	// Where the turns begin is random, so that many programs started together don't all begin with the same node.
	t := &seat{class: c, level: s.levelOf(n, c), node: n, turn: int(s.rand() % uint64(max(n.Weight, 1)))}
	n.narrow = append(n.narrow, t)
	c.nodes = append(c.nodes, n)
	at, _ := slices.BinarySearchFunc(c.seats, t, func(a, b *seat) int { return a.level.rank - b.level.rank })
	c.seats = slices.Insert(c.seats, at, t)
}

func (s *Set) belongs(n *Node, c *Class) bool { return n.Spec.Eligible && c.Filter.Fits(&n.Spec) }

// overflows tells whether a node is for overflow only. If all are, none is.
func (s *Set) overflows(n *Node) bool { return n.Spec.Overflow() && s.weighted }

// levelOf finds the level of a node in a class, or makes it.
func (s *Set) levelOf(n *Node, c *Class) *Level {
	want := Level{class: c, zone: s.zones.Level(n.Spec.Zone)}
	if !c.narrow {
		want.overflow = s.overflows(n)
		if !want.overflow {
			want.priority = n.Spec.Priority
		}
	}
	at, found := slices.BinarySearchFunc(c.levels, &want, compareLevels)
	if found {
		return c.levels[at]
	}
	l := &want
	if !c.narrow {
		l.strategy = s.strategy()
		if !s.user {
			l.tracker, _ = l.strategy.(balancer.Tracker)
		}
	}
	c.levels = slices.Insert(c.levels, at, l)
	for i, l := range c.levels {
		l.rank = i
	}
	return l
}

// compareLevels orders levels: weight > 0 before weight 0, higher priority, nearer zone.
func compareLevels(a, b *Level) int {
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

// leave takes a seat out of its class.
func (c *Class) leave(t *seat) {
	i := slices.Index(c.nodes, t.node)
	c.nodes = slices.Delete(c.nodes, i, i+1)
	i = slices.Index(c.seats, t)
	c.seats = slices.Delete(c.seats, i, i+1)
}

// leave takes a node out of a wide class.
func (m *member) leave(n *Node) {
	m.setIn(n, false)
	c := m.class
	last := len(c.nodes) - 1
	moved := c.nodes[last]
	c.nodes[m.at] = moved
	moved.memberOf(c).at = m.at
	c.nodes[last] = nil
	c.nodes = c.nodes[:last]
	if m.living {
		m.countLiving(-1)
	}
	if m.health {
		c.healthy--
	}
	c.setPanic()
}

// Refresh brings a node's candidacy up to date.
func (s *Set) Refresh(n *Node) {
	for i := range n.wide {
		n.wide[i].refresh(n)
	}
}

// Reads tells whether candidates of the node carry its counts, so that each change of them needs a Refresh.
func (n *Node) Reads() bool { return n.reads }

// Reweigh takes over a new Weight.
func (s *Set) Reweigh(n *Node) {
	for i := range n.wide {
		if m := &n.wide[i]; m.in && m.level.tracker != nil {
			m.level.tracker.Set(n.Index, n.Weight, s.rand())
		} else {
			m.refresh(n)
		}
	}
}

func (m *member) refresh(n *Node) {
	if want := n.Usable && (!n.Ejected || m.class.panic); want != m.in {
		m.setIn(n, want)
	}
	l := m.level
	if l.class.set.capped {
		if ready := m.in && n.Ready; ready != m.ready {
			m.setReady(n, ready)
		}
	}
	if m.in && l.tracker == nil {
		fill(&l.cands[m.candAt], n)
	}
}

// setIn puts a node among the candidates of its level, or takes it out.
func (m *member) setIn(n *Node, in bool) {
	if m.in == in {
		return
	}
	l := m.level
	m.in = in
	if in {
		l.usable++
		if l.tracker != nil {
			l.tracker.Set(n.Index, n.Weight, l.class.set.rand())
			return
		}
		m.candAt = len(l.cands)
		l.cands = append(l.cands, candidate(n))
		l.nodes = append(l.nodes, n)
		return
	}
	m.setReady(n, false)
	l.usable--
	if l.tracker != nil {
		l.tracker.Unset(n.Index)
		return
	}
	last := len(l.cands) - 1
	if m.candAt != last {
		l.cands[m.candAt] = l.cands[last]
		l.nodes[m.candAt] = l.nodes[last]
		l.nodes[last].memberOf(l.class).candAt = m.candAt
	}
	l.cands[last] = options.Candidate{}
	l.cands = l.cands[:last]
	l.nodes[last] = nil
	l.nodes = l.nodes[:last]
}

// setReady keeps the list of candidates that need no new slot.
func (m *member) setReady(n *Node, ready bool) {
	if m.ready == ready {
		return
	}
	l := m.level
	m.ready = ready
	if ready {
		m.readyAt = len(l.ready)
		l.ready = append(l.ready, n)
		return
	}
	last := len(l.ready) - 1
	moved := l.ready[last]
	l.ready[m.readyAt] = moved
	moved.memberOf(l.class).readyAt = m.readyAt
	l.ready[last] = nil
	l.ready = l.ready[:last]
}

func candidate(n *Node) options.Candidate {
	return options.Candidate{
		Index: n.Index, Name: n.Spec.Name, Address: n.Spec.Address, Tier: n.Spec.Tier, Replicaset: n.Spec.Replicaset,
		Leader: n.Spec.Role == metadata.RoleLeader, Zone: n.Spec.Zone,
	}
}

func fill(c *options.Candidate, n *Node) {
	c.Weight = n.Weight
	c.InFlight = n.InFlight
	c.Idle = n.Idle
	c.Latency = n.Latency
}

// Assess takes in that a node was ejected, came back, stalled or went on.
func (s *Set) Assess(n *Node) {
	for i := range n.wide {
		n.wide[i].assess(n)
	}
	s.Refresh(n)
}

func (m *member) assess(n *Node) {
	c := m.class
	if living := n.Living(); living != m.living {
		m.living = living
		m.countLiving(sign(living))
	}
	healthy := !n.Ejected && (!m.level.overflow || c.set.overflow == options.OverflowAny)
	if healthy != m.health {
		m.health = healthy
		c.healthy += sign(healthy)
	}
	c.setPanic()
}

func (m *member) countLiving(by int) {
	m.level.living += by
	if !m.level.overflow {
		m.class.living += by
	}
}

func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}

// setPanic decides whether a wide class must do with ejected nodes.
func (c *Class) setPanic() {
	want := c.healthy == 0 && len(c.nodes) > 0
	if want == c.panic {
		return
	}
	c.panic = want
	for _, n := range c.nodes {
		n.memberOf(c).refresh(n)
	}
}
