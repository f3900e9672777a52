package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
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
	connectTimeout time.Duration // 0: 5 s
	mu             sync.Mutex
	nodes          map[string]*fakeNode
	delay          time.Duration // of every dial
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
	limit := f.connectTimeout
	if limit == 0 {
		limit = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
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

// makeFull makes a node have no room for d, as a 53300 does.
func (g *Gate) makeFull(id string, d time.Duration) {
	g.mu.Lock()
	defer g.unlock()
	if n := g.nodes[id]; n != nil && !g.closed {
		g.setFull(n, d)
	}
}

// check is the gate's laws; it must hold whenever the lock is free.
func (g *Gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	total, idle := 0, 0
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
		if err := g.checkNode(n); err != nil {
			return fmt.Errorf("%s: %w", n.Spec.Name, err)
		}
	}
	if total != g.total {
		return fmt.Errorf("total is %d and should be %d", g.total, total)
	}
	if err := g.checkLanes(); err != nil {
		return err
	}
	listed := 0
	for pc := g.demand.idle.oldest; pc != nil; pc = pc.newer {
		listed++
	}
	if g.max > 0 && listed != idle {
		return fmt.Errorf("%d idle connections in the list of %d", listed, idle)
	}
	if g.max > 0 && g.total-g.closing > g.max && idle > 0 { // without idle ones the cap was lowered
		return fmt.Errorf("%d connections, max_conns is %d", g.total, g.max)
	}
	return nil
}

func (g *Gate) checkNode(n *node) error {
	switch {
	case n.active < 0 || n.active > dialsPerNode || n.active > n.dialing:
		return fmt.Errorf("%d dials under way, %d slots", n.active, n.dialing)
	case n.spare() < 0:
		return fmt.Errorf("%d waiters for %d dials", n.assigned.len, n.dialing)
	case n.slow < 0 || n.slow > n.active:
		return fmt.Errorf("%d slow of %d dials", n.slow, n.active)
	case n.closing < 0:
		return fmt.Errorf("%d closing", n.closing)
	case n.leaving && len(n.idle) > 0:
		return errors.New("idle connections on a leaving node")
	}
	stats := n.count.snapshot()
	if stats.Idle != len(n.idle) || stats.Dialing != n.dialing || stats.Open != len(n.idle)+len(n.inUse)+n.closing {
		return fmt.Errorf("%d idle, %d in use, %d dialling, %d closing; stats say %+v", len(n.idle), len(n.inUse), n.dialing, n.closing, stats)
	}
	for _, pc := range n.idle {
		if pc.gen != n.gen {
			return fmt.Errorf("an idle connection of generation %d in %d", pc.gen, n.gen)
		}
	}
	if n.leaving {
		return nil
	}
	state := fmt.Sprintf("%d idle, %d in use, %d dialling, %d active, %d slow, %d closing, %d spare, cap %d, cluster %d of %d, full %v, ejected %v, trial %v",
		len(n.idle), len(n.inUse), n.dialing, n.active, n.slow, n.closing, n.spare(), n.Spec.MaxConns, g.total, g.max, n.full, n.Ejected, n.trial)
	ready := n.ready()
	if usable := ready || n.dialable(); usable != n.Usable || ready != n.Ready || n.Stalled != n.stalled() {
		return fmt.Errorf("usable is %v, ready %v, stalled %v and should be %v, %v, %v (%s)", n.Usable, n.Ready, n.Stalled, usable, ready, n.stalled(), state)
	}
	if err := g.set.Check(&n.Node); err != nil {
		return fmt.Errorf("%w (%s)", err, state)
	}
	// Nobody waits for what lies there.
	var err error
	n.Classes(func(c *nodeset.Class, l *nodeset.Level) {
		ln := g.line.lanes[c]
		if ln == nil || !n.Usable || n.Ejected && !c.Panic() || !n.Ready && g.full() {
			return
		}
		for w := ln.waiting.head; w != nil; w = w.links[byLane].next {
			if c.Open(&n.Node, w.tried) {
				err = fmt.Errorf("can take a connection and the waiter %d of %+v waits; it tried %d, avoids %v (%s)", w.seq, c.Filter, len(w.tried), w.avoid, state)
			}
		}
	})
	return err
}

func (g *Gate) checkLanes() error {
	waiting, all := 0, 0
	for c, ln := range g.line.lanes {
		waiting += ln.waiting.len
		all += ln.waiting.len + ln.assigned.len
		if c != ln.class || c.Held != ln.waiting.len+ln.assigned.len {
			return fmt.Errorf("lane of %+v: held by %d, has %d and %d", c.Filter, c.Held, ln.waiting.len, ln.assigned.len)
		}
		if err := ln.waiting.check(); err != nil {
			return err
		}
		if err := ln.assigned.check(); err != nil {
			return err
		}
		switch {
		case ln.in == &g.line.ready:
			return fmt.Errorf("lane of %+v: what was freed for it wasn't looked at", c.Filter)
		case ln.in == nil && ln.waiting.len > 0 && g.full() && c.Wants() && len(ln.waiting.head.tried) == 0:
			return fmt.Errorf("lane of %+v: only the cluster's cap keeps it, and it isn't hungry", c.Filter)
		case ln.in != nil && (ln.waiting.len == 0 || (*ln.in)[ln.at] != ln):
			return fmt.Errorf("lane of %+v: out of place", c.Filter)
		}
	}
	if waiting != g.line.waiting || all != g.line.waiters {
		return fmt.Errorf("%d of %d wait, should be %d of %d", g.line.waiting, g.line.waiters, waiting, all)
	}
	return nil
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
