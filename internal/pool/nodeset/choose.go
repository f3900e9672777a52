package nodeset

import (
	"slices"

	"github.com/picodata/go-picodata/options"
)

// Choice says what a request wants to keep away from.
type Choice struct {
	Avoid [4]string // IDs of nodes that are used only if nobody else can
	Tried []*Node   // that were tried in vain
	// Full: the cluster has no room for another connection; only nodes that are Ready can serve.
	Full bool
}

// few is what choosing in a narrow class works with.
type few struct {
	strategy options.Balancer
	turns    bool // strategy is round robin, whose state is kept in seats
	seats    []*seat
	nodes    []*Node
	cands    []options.Candidate
}

// nextTries is how often round robin is asked for a node that needs no slot before one of those is drawn.
const nextTries = 4

// Choose picks a node: of the best level that has candidates the one that the strategy says. nil: there is none.
func (s *Set) Choose(c *Class, want *Choice) (*Node, *Level) {
	if c.narrow {
		return s.chooseNarrow(c, want)
	}
	for _, l := range c.levels {
		if l.usable == 0 || want.Full && len(l.ready) == 0 || l.overflow && !c.OverflowOpen(want.Tried) {
			continue
		}
		if len(want.Tried) == 0 && want.Avoid[0] == "" {
			if want.Full {
				return l.pickReady(), l
			}
			return l.pick(), l
		}
		if n := l.pickExcept(want); n != nil {
			return n, l
		}
	}
	return nil, nil
}

// pick chooses among all candidates of a level, of which there is at least one.
func (l *Level) pick() *Node {
	s := l.class.set
	if l.tracker != nil {
		return s.slots[l.tracker.Next(s.rand())]
	}
	return l.nodes[s.consult(l.strategy, l.cands)]
}

// pickReady chooses among those that need no slot, of which there is at least one.
func (l *Level) pickReady() *Node {
	s := l.class.set
	if l.tracker == nil {
		return l.pickWhere(func(n *Node) bool { return n.Ready })
	}
	for range nextTries {
		if n := s.slots[l.tracker.Next(s.rand())]; n.Ready {
			return n
		}
	}
	return l.ready[s.rand()%uint64(len(l.ready))]
}

// pickExcept chooses among those that weren't tried, and needn't be avoided if there are any; it may return nil.
func (l *Level) pickExcept(want *Choice) *Node {
	fits := func(n *Node) bool { return !slices.Contains(want.Tried, n) && (!want.Full || n.Ready) }
	if n := l.pickWhere(func(n *Node) bool { return fits(n) && !slices.Contains(want.Avoid[:], n.Spec.ID) }); n != nil {
		return n
	}
	return l.pickWhere(fits)
}

// pickWhere chooses among the candidates that fit; it may return nil. It looks at all of them.
func (l *Level) pickWhere(fits func(*Node) bool) *Node {
	s := l.class.set
	f := &s.few
	f.nodes, f.cands = f.nodes[:0], f.cands[:0]
	if l.tracker == nil {
		for i, n := range l.nodes {
			if fits(n) {
				f.nodes, f.cands = append(f.nodes, n), append(f.cands, l.cands[i])
			}
		}
		if len(f.nodes) == 0 {
			return nil
		}
		return f.nodes[s.consult(l.strategy, f.cands)]
	}
	// The turn of those that don't fit is kept for them.
	for _, n := range l.class.nodes {
		if m := n.memberOf(l.class); m.level == l && m.in && !fits(n) {
			l.tracker.Unset(n.Index)
			f.nodes = append(f.nodes, n)
		}
	}
	i := l.tracker.Next(s.rand())
	for _, n := range f.nodes {
		l.tracker.Set(n.Index, n.Weight, s.rand())
	}
	if i < 0 {
		return nil
	}
	return s.slots[i]
}

// chooseNarrow looks at the nodes of a narrow class.
func (s *Set) chooseNarrow(c *Class, want *Choice) (*Node, *Level) {
	panics := c.Panic()
	best := func(avoid bool) (*Node, *Level) {
		f := &s.few
		f.seats = f.seats[:0]
		for _, t := range c.seats {
			n := t.node
			if len(f.seats) > 0 && f.seats[0].level != t.level {
				break
			}
			if n.Usable && (!n.Ejected || panics) && (!want.Full || n.Ready) && !slices.Contains(want.Tried, n) &&
				!(avoid && slices.Contains(want.Avoid[:], n.Spec.ID)) {
				f.seats = append(f.seats, t)
			}
		}
		if len(f.seats) == 0 {
			return nil, nil
		}
		t := s.pickSeat(f.seats)
		return t.node, t.level
	}
	if want.Avoid[0] != "" {
		if n, l := best(true); n != nil {
			return n, l
		}
	}
	return best(false)
}

// pickSeat chooses among few: round robin by turns, or what the strategy says.
func (s *Set) pickSeat(seats []*seat) *seat {
	f := &s.few
	switch {
	case len(seats) == 1 && !s.user:
		return seats[0]
	case f.turns:
		// Smooth weighted round robin: each gains its weight, the first in line pays the sum.
		sum, first := 0, seats[0]
		for _, t := range seats {
			sum += t.node.Weight
			t.turn += t.node.Weight
			if t.turn > first.turn {
				first = t
			}
		}
		first.turn -= sum
		return first
	}
	f.cands = f.cands[:0]
	for _, t := range seats {
		f.cands = append(f.cands, candidate(t.node))
		fill(&f.cands[len(f.cands)-1], t.node)
	}
	return seats[s.consult(f.strategy, f.cands)]
}

// consult asks a strategy. One that is the user's may do anything; it must not take the owner down.
func (s *Set) consult(b options.Balancer, cands []options.Candidate) int {
	if !s.user {
		return b.Pick(cands, s.rand())
	}
	return s.consultUser(b, cands)
}

func (s *Set) consultUser(b options.Balancer, cands []options.Candidate) (at int) {
	defer func() {
		if recover() != nil {
			at = 0
			s.fault = "it panicked"
		}
	}()
	at = b.Pick(cands, s.rand())
	if at < 0 || at >= len(cands) {
		s.fault = "it returned a position outside the candidates"
		return 0
	}
	return at
}
