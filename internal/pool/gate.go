// Package pool holds the physical connections: one sub-pool per node under one admission gate.
//
// The gate decides three things in one step, under one short lock: which node a statement goes
// to, whether it gets an idle connection there or a slot for a new one, and who waits. A slot is
// taken before the dial, so caps hold whatever happens meanwhile: idle, leased, dialling and closing
// connections all count. Nothing slow is done under the lock: dialling, closing and the caller's hooks
// run outside it.
//
// The words: a lease is a connection in use by a session. A waiter is a request that has no connection yet; it is
// assigned to a node while a dial is under way for it. A lane is the waiters of one class of nodes (package nodeset). A
// lane is hungry if only the cluster's cap keeps its waiters from a connection.
package pool

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

const (
	// aliveAfter is the idle time after which a connection's socket is looked at before it is leased. The look takes
	// less than a microsecond, a statement sent to a socket that the peer has closed may have an unknown
	// outcome; only a connection that was in use just now isn't worth it.
	aliveAfter = time.Millisecond
	// closeWait bounds how long Close waits for sockets to close.
	closeWait = time.Second
)

// NodeSpec is a node as Apply gets it.
type NodeSpec = nodeset.Spec

// NodeInfo identifies the node of a lease. It is never changed.
type NodeInfo = nodeset.Info

// Conn is a physical connection as the gate sees it.
type Conn interface {
	// Close closes the socket. It may be called while another goroutine uses the connection, and
	// may take a while: the gate calls it on a goroutine of its own and counts the connection until it returns.
	Close() error
	// Usable tells whether the connection may be pooled again after its last operation.
	Usable() bool
	// Alive looks at the socket without blocking: false if the peer has closed it.
	Alive() bool
}

// DialOutcome says what a failed dial means.
type DialOutcome uint8

// The outcomes of a failed dial.
const (
	// DialFailure: the node couldn't be reached or didn't answer. Its health suffers, the next candidate is tried.
	DialFailure DialOutcome = iota
	// DialCapacity: the server has no room (53300). The node counts as full for a while; its health doesn't suffer.
	DialCapacity
	// DialLogin: the node refused the login. It isn't dialled until a cool-down ends, for a server locks a user after
	// four refusals; the next candidate is tried.
	DialLogin
	// DialFatal: no other node would do better (configuration). The error is returned at once.
	DialFatal
)

// Config configures a Gate.
type Config struct {
	// Dial makes a connection, within connect_timeout. Its context ends with the gate, never with a caller.
	Dial func(ctx context.Context, n NodeSpec) (Conn, error)
	// Classify says what an error of Dial means. nil: every error is a DialFailure.
	Classify func(error) DialOutcome
	// PasswordChanges: the next dial may log in with another password than the last one. Dials begin during the
	// cool-downs after refused logins, and ask Admit.
	PasswordChanges bool
	// Fresh tells whether the node set is known to be up to date. nil: it is. While it isn't, a
	// request that no node matches waits instead of failing at once. It is called with the gate's lock held.
	Fresh func() bool
	// Options is read only. Its capacity, health and balancing settings are used.
	Options *options.Config
	// Clock is options.SystemClock if nil.
	Clock options.Clock
	// OnEvent is told what happens, in order, outside all locks. It should return soon: the goroutine that
	// delivers may be a caller's. nil: nobody is told.
	OnEvent func(Event)
	// Rand is a source of uniformly random numbers, for tests. nil: math/rand/v2.
	Rand func() uint64
}

// Gate is the pool of one cluster. All methods are safe for concurrent use.
type Gate struct {
	cfg     Config
	opt     *options.Config
	clock   options.Clock
	system  bool
	epoch   time.Time
	rand    func() uint64
	healthy balancer.HealthConfig
	ctx     context.Context
	cancel  context.CancelFunc

	mu        sync.Mutex
	set       *nodeset.Set
	nodes     map[string]*node // those of the set, by ID
	slots     []*node          // the same, by nodeset.Node.Index
	leaving   map[*node]struct{}
	ended     []*node // gone since the list for Stats was made
	applied   bool    // Apply was called: later joiners start slowly
	panicking bool    // AllEjected was reported

	line   line   // the waiters
	dials  dials  // under way
	demand demand // what the cluster's cap is given to
	login  login

	probes turns
	warmth turns // of dials that keep the minimum of idle connections

	max      int   // cap of the cluster; 0 = none
	total    int   // connections that count toward it
	closing  int   // those of them that are being closed
	retireAt int64 // before it, no further connection ends for its age

	due        bool    // something was freed: waiters may be placed
	cold       []*node // their minimum of idle connections is to be seen to
	overflowAt int64   // the last lease of a node of weight 0
	closed     bool
	tasks      int // goroutines of the gate
	quiet      chan struct{}
	closes     []*physical
	events     []Event
	telling    bool
	force      options.Timer
	ramp       options.Timer // the next step of slow starts

	list    atomic.Pointer[[]*node] // for Stats
	stats   gateCounters
	retired retiredCounters
}

// New returns a gate without nodes. Call Apply, and Close when it is no longer needed.
func New(cfg Config) *Gate {
	g := &Gate{
		cfg:     cfg,
		opt:     cfg.Options,
		clock:   cfg.Clock,
		rand:    cfg.Rand,
		nodes:   make(map[string]*node),
		leaving: make(map[*node]struct{}),
		probes:  newTurns(probeGap, 1),
		warmth:  newTurns(warmGap, warmBurst),
	}
	if g.opt == nil {
		g.opt = options.New()
	}
	if g.clock == nil {
		g.clock = options.SystemClock{}
	}
	_, g.system = g.clock.(options.SystemClock)
	if g.rand == nil {
		g.rand = rand.Uint64
	}
	g.epoch = g.clock.Now()
	g.overflowAt = -int64(time.Hour) // long ago: overflow in the first second is news too
	g.healthy = balancer.HealthConfig{
		Threshold:   g.opt.EjectionFailureThreshold,
		Window:      g.opt.EjectionFailureWindow,
		Duration:    g.opt.EjectionDuration,
		MaxDuration: g.opt.EjectionMaxDuration,
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.set = nodeset.New(g.opt, g.rand)
	g.line.lanes = make(map[*nodeset.Class]*lane)
	empty := []*node{}
	g.list.Store(&empty)
	return g
}

// now is the time since the gate's beginning in nanoseconds, at least 1.
func (g *Gate) now() int64 {
	if g.system {
		return int64(time.Since(g.epoch)) + 1
	}
	return int64(g.clock.Now().Sub(g.epoch)) + 1
}

// at is the time of a now.
func (g *Gate) at(now int64) time.Time { return g.epoch.Add(time.Duration(now)) }

// node is the gate's side of a node of the set.
func (g *Gate) node(n *nodeset.Node) *node { return g.slots[n.Index] }

// full tells whether the cluster's cap is reached.
func (g *Gate) full() bool { return g.max > 0 && g.total >= g.max }

// Lease returns a connection for a request. The errors are *NoNodeError (no node matches), *AcquireTimeoutError,
// *DialError (no candidate could be connected to), *LoginError, ErrClosed and the context's own.
//
// A caller that gives up wastes nothing: a dial under way for it goes on, and the connection goes to the next waiter or becomes idle.
func (g *Gate) Lease(ctx context.Context, req Request) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return Lease{}, err
	}
	filter := req.filter()
	for {
		now := g.now()
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			return Lease{}, ErrClosed
		}
		c := g.set.Class(&filter)
		at, l := g.set.Choose(c, &nodeset.Choice{Avoid: req.Avoid, Full: g.full()})
		g.fault()
		if at == nil {
			return g.wait(ctx, &req, c, nil, nil, now)
		}
		n := g.node(at)
		if len(n.idle) == 0 {
			return g.wait(ctx, &req, c, n, l, now)
		}
		pc := g.popIdle(n)
		look := req.Look || now-pc.idleSince > int64(aliveAfter) || n.suspectAt > 0 && pc.idleSince <= n.suspectAt
		lease := g.lend(pc, l, nil, now)
		g.refresh(n)
		g.unlock()
		if !look || pc.conn.Alive() {
			return lease, nil
		}
		lease.discard(closedDead, false)
		if err := ctx.Err(); err != nil {
			return Lease{}, err
		}
	}
}

// Ejected tells whether a node of the set isn't used at present because its connections failed.
func (g *Gate) Ejected(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[id]
	return n != nil && n.Ejected
}

// LeaderEjected reports whether a node that leads a replicaset is ejected: statements wait for the next leader, or
// for this one to come back.
func (g *Gate) LeaderEjected() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		if n.Ejected && n.Spec.Role == metadata.RoleLeader {
			return true
		}
	}
	return false
}

// unlock ends a critical section: it sees to what must not be done inside one.
func (g *Gate) unlock() {
	if !g.due && len(g.cold) == 0 && len(g.closes) == 0 && len(g.events) == 0 && len(g.ended) == 0 {
		g.mu.Unlock()
		return
	}
	g.unlockSlowly()
}

func (g *Gate) unlockSlowly() {
	for again := true; again; again = g.due {
		g.due = false
		g.pump()
		g.rewarm()
	}
	if len(g.ended) > 0 {
		g.unlist()
	}
	for _, pc := range g.closes {
		g.tasks++
		go g.closeConn(pc)
	}
	clear(g.closes)
	g.closes = g.closes[:0]
	for !g.telling && len(g.events) > 0 {
		events := g.events
		g.events = nil
		// One goroutine delivers at a time, so events keep their order.
		g.telling = true
		g.mu.Unlock()
		for _, e := range events {
			g.cfg.OnEvent(e)
		}
		g.mu.Lock()
		g.telling = false
	}
	g.mu.Unlock()
}

// spawn counts a goroutine of the gate. The lock must be held.
func (g *Gate) spawn(f func()) {
	g.tasks++
	go f()
}

// done is the end of a goroutine of the gate. The lock must be held.
func (g *Gate) done() {
	g.tasks--
	if g.closed && g.tasks == 0 && len(g.closes) == 0 && g.quiet != nil {
		close(g.quiet)
		g.quiet = nil
	}
}

// Close ends all waiting with ErrClosed, closes idle connections at once and those in use when
// they are released, or by force after Options.DrainTimeout. It waits for sockets to close, but
// no longer than a second. A second Close does nothing.
func (g *Gate) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	g.cancel()
	g.failAll(ErrClosed)
	stop(&g.demand.timer)
	stop(&g.ramp)
	for _, n := range g.nodes {
		n.stopTimers()
		n.closeIdle(closedShutdown)
		g.dropDials(n)
	}
	for n := range g.leaving {
		n.stopTimers()
	}
	if g.leased() {
		g.force = g.clock.AfterFunc(g.opt.DrainTimeout, g.forceClose)
	}
	// The closes are counted as goroutines by unlock, before anybody can wait for them.
	var quiet chan struct{}
	if g.tasks > 0 || len(g.closes) > 0 {
		quiet = make(chan struct{})
		g.quiet = quiet
	}
	g.unlock()
	if quiet == nil {
		return nil
	}
	timeout := make(chan struct{})
	t := g.clock.AfterFunc(closeWait, func() { close(timeout) })
	defer t.Stop()
	select {
	case <-quiet:
	case <-timeout:
	}
	return nil
}

// leased tells whether any connection is in use.
func (g *Gate) leased() bool {
	for _, n := range *g.list.Load() {
		if len(n.inUse) > 0 {
			return true
		}
	}
	return false
}

// forceClose closes what is still in use after DrainTimeout.
func (g *Gate) forceClose() {
	g.mu.Lock()
	for _, n := range *g.list.Load() {
		n.closeInUse(closedShutdown)
	}
	g.unlock()
}
