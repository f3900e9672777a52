package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The errors of fake nodes.
var (
	errRefused  = errors.New("connection refused")
	errCapacity = errors.New("53300: too many connections")
	errLogin    = errors.New("28P01: authentication failed")
	errConfig   = errors.New("bad certificate file")
)

func classify(err error) DialOutcome {
	switch {
	case errors.Is(err, errCapacity):
		return DialCapacity
	case errors.Is(err, errLogin):
		return DialLogin
	case errors.Is(err, errConfig):
		return DialFatal
	default:
		return DialFailure
	}
}

// fakeNet is the servers, as they see the pool: every count is the server's.
type fakeNet struct {
	mu    sync.Mutex
	nodes map[string]*fakeNode
	delay time.Duration // of every dial
}

type fakeNode struct {
	net     *fakeNet
	address string
	err     error         // what dials end with
	hold    chan struct{} // dials wait until it is closed; nil = they don't
	limit   int           // beyond it, errCapacity; 0 = none
	open    int
	most    int
	dials   int
	served  int
	active  int // dials under way
	mostAct int
	conns   map[*fakeConn]struct{}
}

type fakeConn struct {
	node   *fakeNode
	closed bool
	broken bool
	dead   bool
	closes int
}

func newNet(addresses ...string) *fakeNet {
	f := &fakeNet{nodes: make(map[string]*fakeNode)}
	for _, a := range addresses {
		f.node(a)
	}
	return f
}

func (f *fakeNet) node(address string) *fakeNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[address]
	if n == nil {
		n = &fakeNode{net: f, address: address, conns: make(map[*fakeConn]struct{})}
		f.nodes[address] = n
	}
	return n
}

func (f *fakeNet) dial(ctx context.Context, s NodeSpec) (Conn, error) {
	n := f.node(s.Address)
	f.mu.Lock()
	n.dials++
	n.active++
	n.mostAct = max(n.mostAct, n.active)
	hold, delay := n.hold, f.delay
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		n.active--
		f.mu.Unlock()
	}()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n.err != nil {
		return nil, n.err
	}
	if n.limit > 0 && n.open >= n.limit {
		return nil, errCapacity
	}
	n.open++
	n.most = max(n.most, n.open)
	c := &fakeConn{node: n}
	n.conns[c] = struct{}{}
	return c, nil
}

func (c *fakeConn) Close() error {
	c.node.net.mu.Lock()
	defer c.node.net.mu.Unlock()
	c.closes++
	if c.closed {
		return nil
	}
	c.closed = true
	c.node.open--
	delete(c.node.conns, c)
	return nil
}

func (c *fakeConn) Usable() bool {
	c.node.net.mu.Lock()
	defer c.node.net.mu.Unlock()
	return !c.broken && !c.closed
}

func (c *fakeConn) Alive() bool {
	c.node.net.mu.Lock()
	defer c.node.net.mu.Unlock()
	return !c.dead
}

// serve counts a statement where it ran.
func serve(l Lease) {
	n := l.Conn().(*fakeConn).node
	n.net.mu.Lock()
	n.served++
	n.net.mu.Unlock()
}

func (n *fakeNode) get(f func(n *fakeNode) int) int {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	return f(n)
}

func (n *fakeNode) set(f func(n *fakeNode)) {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	f(n)
}

func openOf(n *fakeNode) int   { return n.open }
func mostOf(n *fakeNode) int   { return n.most }
func dialsOf(n *fakeNode) int  { return n.dials }
func servedOf(n *fakeNode) int { return n.served }

// spec describes a node whose ID, name and address are alike.
func spec(name string, weight, maxConns int) NodeSpec {
	return NodeSpec{ID: name, Name: name, Address: name, Tier: "default", Replicaset: "rs-" + name, Role: metadata.RoleLeader,
		Weight: weight, MaxConns: maxConns, Eligible: true}
}

// testGate is a gate over a fake net.
func testGate(t testing.TB, f *fakeNet, o *options.Config, specs ...NodeSpec) *Gate {
	t.Helper()
	if o == nil {
		o = options.New()
	}
	// The tests' numbers are for these.
	o.EjectionDuration, o.EjectionMaxDuration = time.Second, 30*time.Second
	seed := rand.Uint64()
	src := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	t.Logf("seed %d", seed)
	g := New(Config{Dial: f.dial, Classify: classify, Options: o, Rand: func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return src.Uint64()
	}})
	g.Apply(specs)
	return g
}

func mustLease(t testing.TB, g *Gate, req Request) Lease {
	t.Helper()
	l, err := g.Lease(context.Background(), req)
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	return l
}

// check is the gate's laws; it must hold whenever the lock is free.
func (g *Gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	total, waiting, all, idle := 0, 0, 0, 0
	nodes := make(map[*node]bool)
	for _, n := range g.nodes {
		nodes[n] = true
	}
	for n := range g.leaving {
		nodes[n] = true
	}
	for n := range nodes {
		total += n.total()
		idle += len(n.idle)
		switch {
		case n.active < 0 || n.active > dialsPerNode || n.active > n.dialing:
			return fmt.Errorf("%s: %d dials under way, %d slots", n.spec.Name, n.active, n.dialing)
		case n.spare() < 0:
			return fmt.Errorf("%s: %d waiters for %d dials", n.spec.Name, n.assigned.len, n.dialing)
		case n.slow < 0 || n.slow > n.active:
			return fmt.Errorf("%s: %d slow of %d dials", n.spec.Name, n.slow, n.active)
		case n.closing < 0:
			return fmt.Errorf("%s: %d closing", n.spec.Name, n.closing)
		case n.leaving && len(n.idle) > 0:
			return fmt.Errorf("%s: idle connections on a leaving node", n.spec.Name)
		}
		stats := n.count.snapshot()
		if stats.Idle != len(n.idle) || stats.Dialing != n.dialing || stats.Open != len(n.idle)+len(n.inUse)+n.closing {
			return fmt.Errorf("%s: %d idle, %d in use, %d dialling, %d closing; stats say %+v", n.spec.Name, len(n.idle), len(n.inUse), n.dialing, n.closing, stats)
		}
		for _, pc := range n.idle {
			if pc.gen != n.gen {
				return fmt.Errorf("%s: an idle connection of generation %d in %d", n.spec.Name, pc.gen, n.gen)
			}
		}
		if n.leaving {
			continue
		}
		usable := len(n.idle) > 0 || n.spare() > 0 && !n.stalled() || g.canReserve(n)
		if usable != n.usable {
			return fmt.Errorf("%s (%d idle, %d in use, %d dialling, %d active, %d slow, %d closing, %d spare, cap %d, cluster %d of %d, full %v): usable is %v and should be %v",
				n.spec.Name, len(n.idle), len(n.inUse), n.dialing, n.active, n.slow, n.closing, n.spare(), n.spec.MaxConns, g.total, g.max, n.full, n.usable, usable)
		}
		for i := range n.members {
			m := &n.members[i]
			if want := usable && (!n.ejected || m.class.panic); want != m.in {
				return fmt.Errorf("%s: candidate of %v: %v, want %v", n.spec.Name, &m.class.key, m.in, want)
			}
			// Nobody waits for what lies there.
			for w := m.class.waiting.head; w != nil; w = w.links[byClass].next {
				if !m.in || containsNode(w.tried, n) || m.level.overflow && !g.overflowOpen(m.class, w.tried) {
					continue
				}
				return fmt.Errorf("%s (%d idle, %d spare, %d of %d, cluster %d of %d, ejected %v) can take a connection and the waiter %d of %+v waits; it tried %d, avoids %v; stealing %d, moving %d",
					n.spec.Name, len(n.idle), n.spare(), n.total(), n.spec.MaxConns, g.total, g.max, n.ejected, w.seq, m.class.key, len(w.tried), w.avoid, g.share.stealing, g.share.moving)
			}
		}
	}
	if total != g.total {
		return fmt.Errorf("total is %d and should be %d", g.total, total)
	}
	for _, c := range g.classes {
		waiting += c.waiting.len
		all += c.waiting.len
		if c.queued != (c.waiting.len > 0) {
			return fmt.Errorf("class %v: queued is %v with %d waiting", &c.key, c.queued, c.waiting.len)
		}
		if err := c.waiting.check(); err != nil {
			return err
		}
		living, healthy := 0, 0
		for _, n := range c.nodes {
			l := levelIn(c, n)
			if n.living() && !l.overflow {
				living++
			}
			if !n.ejected && (!l.overflow || g.opt.Overflow == options.OverflowAny) {
				healthy++
			}
		}
		if living != c.living || healthy != c.healthy {
			return fmt.Errorf("class %v: living %d healthy %d, should be %d %d", &c.key, c.living, c.healthy, living, healthy)
		}
		for _, l := range c.levels {
			all += l.assigned.len
			usable := 0
			for _, n := range c.nodes {
				for i := range n.members {
					if m := &n.members[i]; m.level == l && m.in {
						usable++
					}
				}
			}
			if usable != l.usable {
				return fmt.Errorf("class %v: %d candidates, should be %d", &c.key, l.usable, usable)
			}
			if err := l.assigned.check(); err != nil {
				return err
			}
		}
	}
	if waiting != g.waiting || all != g.waiters {
		return fmt.Errorf("%d of %d wait, should be %d of %d", g.waiting, g.waiters, waiting, all)
	}
	if g.max > 0 && g.total > g.max && idle > 0 { // without idle ones the cap was lowered
		return fmt.Errorf("%d connections, max_conns is %d", g.total, g.max)
	}
	return nil
}

func containsNode(list []*node, n *node) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

func (q *queue) check() error {
	n := 0
	for w := q.head; w != nil; w = w.links[q.which].next {
		n++
		if next := w.links[q.which].next; next != nil && next.seq < w.seq {
			return fmt.Errorf("waiter %d stands before %d", w.seq, next.seq)
		}
	}
	if n != q.len {
		return fmt.Errorf("a queue of %d has %d", q.len, n)
	}
	return nil
}

func mustHold(t testing.TB, g *Gate) {
	t.Helper()
	if err := g.check(); err != nil {
		t.Fatalf("law broken: %v", err)
	}
}

// quiesce closes the gate and checks that nothing is left.
func quiesce(t testing.TB, g *Gate, f *fakeNet) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	s := g.Stats().Total
	if s.InUse+s.Idle+s.Dialing+s.Draining+s.Waiters != 0 {
		t.Errorf("after Close: %+v", s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		if n.open != 0 {
			t.Errorf("after Close: %d connections open on %s", n.open, n.address)
		}
	}
}
