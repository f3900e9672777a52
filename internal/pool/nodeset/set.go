package nodeset

import (
	"maps"
	"slices"
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/options"
)

// Node is a node as a Set sees it. The fields below Weight are told by the owner; Refresh must follow a change of
// Usable, Ready, Weight and the counts, Assess one of Ejected and Stalled.
type Node struct {
	Spec   Spec
	Info   *Info
	Index  int // Candidate.Index while the node is in the set; then another one may get it
	Weight int // what strategies see: Spec.Weight, or less while it starts slowly; at least 1

	Usable  bool // can take a connection, its health and the cluster's cap aside
	Ready   bool // can take it now, whatever the cluster's cap
	Ejected bool
	Stalled bool // its dials take long: nobody else should wait for one

	InFlight int // leases and dials
	Idle     int
	Latency  time.Duration // 0 = unknown

	wide   []member
	narrow []*seat
	reads  bool // a strategy reads its candidates
}

// Living tells whether the node counts among those that serve.
func (n *Node) Living() bool { return !n.Ejected && !n.Stalled }

// Set is the nodes of a cluster, in classes. It isn't safe for concurrent use.
type Set struct {
	overflow options.Overflow
	zones    balancer.Zones
	strategy func() options.Balancer
	user     bool // the strategy is the user's
	capped   bool // there is a cap for the cluster, so that candidates may be unable to take a connection now
	rand     func() uint64

	slots    []*Node
	free     []int
	all      *Class
	wide     map[Filter]*Class
	byNode   map[string]*place
	bySet    map[string]*place
	narrow   int  // classes in byNode and bySet
	weighted bool // a node of weight > 0 was seen: weight 0 means overflow
	few      few
	fault    string
}

// place is what belongs to one ID: nodes, of which there is one or the members of a replicaset, and the classes
// that were asked for.
type place struct {
	nodes   []*Node
	classes []*Class
}

// maxIdle bounds the classes that are kept though nobody waits in them and no node is in them: filters may name anything.
const maxIdle = 1024

// New returns a set without nodes. rand is a source of uniformly random numbers.
func New(cfg *options.Config, rand func() uint64) *Set {
	s := &Set{
		overflow: cfg.Overflow,
		zones:    balancer.ParseZones(cfg.PreferZones),
		strategy: func() options.Balancer { return balancer.Strategy(cfg) },
		user:     cfg.Balancer != nil,
		capped:   cfg.MaxConns > 0,
		rand:     rand,
		wide:     make(map[Filter]*Class),
		byNode:   make(map[string]*place),
		bySet:    make(map[string]*place),
	}
	s.few.strategy = s.strategy()
	_, s.few.turns = s.few.strategy.(*balancer.RoundRobin)
	s.all = &Class{set: s}
	s.wide[Filter{}] = s.all
	return s
}

// All is the class of the zero Filter.
func (s *Set) All() *Class { return s.all }

// Flat tells whether weights of 0 mean nothing because no other node was ever seen.
func (s *Set) Flat() bool { return !s.weighted }

// Weighted is to be called once a node of weight > 0 is known: from then on weight 0 means overflow.
func (s *Set) Weighted() {
	if s.weighted {
		return
	}
	s.weighted = true
	for _, n := range s.slots {
		if n != nil {
			s.leave(n)
			s.join(n)
		}
	}
}

// Add takes a node in and gives it an index.
func (s *Set) Add(n *Node) {
	if last := len(s.free) - 1; last >= 0 {
		n.Index = s.free[last]
		s.free = s.free[:last]
		s.slots[n.Index] = n
	} else {
		n.Index = len(s.slots)
		s.slots = append(s.slots, n)
	}
	n.Spec.Zone = maps.Clone(n.Spec.Zone)
	n.Info = n.Spec.Info()
	s.join(n)
}

// Remove takes a node out.
func (s *Set) Remove(n *Node) {
	s.leave(n)
	s.slots[n.Index] = nil
	s.free = append(s.free, n.Index)
}

// Change gives a node another description and tells whether its classes or levels have changed with it.
func (s *Set) Change(n *Node, spec *Spec) bool {
	moved := !n.Spec.sameClasses(spec)
	if moved {
		s.leave(n)
	}
	zone := n.Spec.Zone
	if !maps.Equal(zone, spec.Zone) {
		zone = maps.Clone(spec.Zone)
	}
	n.Spec = *spec
	n.Spec.Zone = zone
	n.Info = spec.Info()
	if moved {
		s.join(n)
	}
	return moved
}

// Node is the one of an index, nil if there is none.
func (s *Set) Node(index int) *Node { return s.slots[index] }

// Fault says once how a user's strategy misbehaved since the last call; "" = it didn't.
func (s *Set) Fault() string {
	f := s.fault
	s.fault = ""
	return f
}

// Class finds the class of a filter, or makes it.
func (s *Set) Class(f *Filter) *Class {
	var p *place
	switch {
	case f.Node != "":
		p = at(s.byNode, f.Node)
	case f.Replicaset != "":
		p = at(s.bySet, f.Replicaset)
	case *f == Filter{}:
		return s.all
	default:
		if c := s.wide[*f]; c != nil {
			return c
		}
		if len(s.wide) > maxIdle {
			s.Prune()
		}
		c := &Class{Filter: *f, set: s}
		s.wide[*f] = c
		for _, n := range s.slots {
			if n != nil {
				s.joinWide(n, c)
			}
		}
		return c
	}
	for _, c := range p.classes {
		if c.Filter == *f {
			return c
		}
	}
	if s.narrow > maxIdle+4*len(s.slots) {
		s.Prune()
	}
	c := &Class{Filter: *f, set: s, narrow: true}
	p.classes = append(p.classes, c)
	s.narrow++
	for _, n := range p.nodes {
		s.joinNarrow(n, c)
	}
	return c
}

func at(m map[string]*place, id string) *place {
	p := m[id]
	if p == nil {
		p = new(place)
		m[id] = p
	}
	return p
}

// Prune forgets the classes without nodes in which nobody waits.
func (s *Set) Prune() {
	empty := func(c *Class) bool { return len(c.nodes) == 0 && c.Held == 0 && c != s.all }
	maps.DeleteFunc(s.wide, func(_ Filter, c *Class) bool { return empty(c) })
	for _, m := range []map[string]*place{s.byNode, s.bySet} {
		maps.DeleteFunc(m, func(_ string, p *place) bool {
			had := len(p.classes)
			p.classes = slices.DeleteFunc(p.classes, empty)
			s.narrow -= had - len(p.classes)
			return len(p.classes) == 0 && len(p.nodes) == 0
		})
	}
}

// Classes calls f for every class that a node is in.
func (n *Node) Classes(f func(*Class, *Level)) {
	for _, t := range n.narrow {
		f(t.class, t.level)
	}
	for i := range n.wide {
		f(n.wide[i].class, n.wide[i].level)
	}
}

// join puts a node into the classes that it belongs to.
func (s *Set) join(n *Node) {
	for _, c := range s.wide {
		s.joinWide(n, c)
	}
	for _, p := range s.places(n) {
		p.nodes = append(p.nodes, n)
		for _, c := range p.classes {
			s.joinNarrow(n, c)
		}
	}
}

// places are where narrow classes of a node are kept.
func (s *Set) places(n *Node) [2]*place {
	return [2]*place{at(s.byNode, n.Spec.ID), at(s.bySet, n.Spec.Replicaset)}
}

// leave takes a node out of all classes.
func (s *Set) leave(n *Node) {
	for i := range n.wide {
		n.wide[i].leave(n)
	}
	n.wide = n.wide[:0]
	n.reads = false
	for _, t := range n.narrow {
		t.class.leave(t)
	}
	clear(n.narrow)
	n.narrow = n.narrow[:0]
	for _, p := range s.places(n) {
		if i := slices.Index(p.nodes, n); i >= 0 {
			p.nodes = slices.Delete(p.nodes, i, i+1)
		}
	}
}

// Levels calls f for each level of the wide classes that leases were made at, with its nodes.
func (s *Set) Levels(f func(*Level, []*Node)) {
	for _, c := range s.wide {
		for _, l := range c.levels {
			if l.Leases == 0 {
				continue
			}
			f(l, slices.DeleteFunc(slices.Clone(c.nodes), func(n *Node) bool { return n.LevelIn(c) != l }))
		}
	}
}
