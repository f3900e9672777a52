// Package pool holds the physical connections: one sub-pool per node under one admission gate.
//
// The gate decides three things in one step, under one short lock: which node a statement goes
// to, whether it gets an idle connection there or a slot for a new one, and who waits. A slot is
// taken before the dial, so caps hold whatever happens meanwhile: idle, leased, dialling and closing
// connections all count. Nothing slow is done under the lock: dialling, closing and the caller's hooks
// run outside it.
//
// The words: a lease is a connection in use by a session. A class is the set of nodes that one kind of
// request may use. A level is the part of a class that comes before the next one (priority, weight 0, zone). A
// waiter is a request that has no connection yet; it is assigned to a node while a dial is under way for it.
package pool

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/balancer"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

const (
	// dialsPerNode bounds the dials to one node at a time.
	dialsPerNode = 2
	// staggerDelay is how long a dial may take before its waiters try another node beside it.
	staggerDelay = 250 * time.Millisecond
	// aliveAfter is the idle time after which a connection's socket is looked at before it is leased. The look takes
	// less than a microsecond, a statement sent to a socket that the peer has closed may have an unknown
	// outcome; only a connection that was in use just now isn't worth it.
	aliveAfter = time.Millisecond
	// closeWait bounds how long Close waits for sockets to close.
	closeWait = time.Second
)

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

// NodeSpec is a node as Apply gets it.
type NodeSpec struct {
	ID             string // instance uuid, or "seed:host:port" while the identity isn't known
	Name           string
	Address        string // another address makes it another node
	Tier           string
	Replicaset     string // uuid
	ReplicasetName string
	Role           metadata.Role
	Weight         int // 0 = overflow only
	Priority       int // higher ones first
	MaxConns       int // 0 = no cap
	Zone           map[string]string
	Eligible       bool // false: known, but excluded by the policy (role, tier); it is never leased
	Target         any  // for Config.Dial
}

// NodeInfo identifies the node of a lease. It is never changed.
type NodeInfo struct {
	ID             string
	Name           string
	Address        string
	Tier           string
	Replicaset     string
	ReplicasetName string
	Role           metadata.Role
	Eligible       bool // the policy (role, tiers) lets statements use it
}

// String is name@address, or what there is of it.
func (n *NodeInfo) String() string {
	if n.Name == "" || n.Name == n.Address { // nobody has identified it
		return n.Address
	}
	return n.Name + "@" + n.Address
}

// DialOutcome says what a failed dial means.
type DialOutcome uint8

// The outcomes of a failed dial.
const (
	// DialFailure: the node couldn't be reached or didn't answer. Its health suffers, the next candidate is tried.
	DialFailure DialOutcome = iota
	// DialCapacity: the server has no room (53300). The node counts as full for a while; its health doesn't suffer.
	DialCapacity
	// DialLogin: the login was refused. The error is returned at once, and no new connection
	// is tried anywhere until a cool-down ends, for a server locks a user after four refusals.
	DialLogin
	// DialFatal: no other node would do better (configuration). The error is returned at once.
	DialFatal
)

// Config configures a Gate.
type Config struct {
	// Dial makes a connection. Its context ends after Options.ConnectTimeout or with the gate, never with a caller.
	Dial func(ctx context.Context, n NodeSpec) (Conn, error)
	// Classify says what an error of Dial means. nil: every error is a DialFailure.
	Classify func(error) DialOutcome
	// PasswordChanges: the next dial may log in with another password than the last one. Dials begin during the
	// cool-down after a refused login, and ask Admit.
	PasswordChanges bool
	// Fresh tells whether the node set is known to be up to date. nil: it is. While it isn't, a
	// request that no node matches waits instead of failing at once.
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

// Request says which nodes may serve a lease. The zero Request is for any node of the set.
type Request struct {
	Node       string               // ID of the one node
	Replicaset string               // uuid
	Tier       string               // name
	Role       options.InstanceRole // RoleAny: no matter
	// Strict: only nodes that match will do. Otherwise Node, Replicaset, Tier and Role are a preference: if it
	// can't be met within Wait, the lease comes from any node of the set.
	Strict bool
	// Wait bounds the wait for a preference. 0: no wait, but a dial is waited for.
	Wait time.Duration
	// IgnoreWeights treats all matching nodes alike whatever their weight and priority. Requests with Node or Replicaset do so anyway.
	IgnoreWeights bool
	// Avoid are IDs of nodes that are used only if nobody else can.
	Avoid [4]string
	// Look has an idle connection's socket looked at before it is leased, however short a time it was idle: what
	// is about to be sent must not be sent to a peer that is gone.
	Look bool
}

// Gate is the pool of one cluster. All methods are safe for concurrent use.
type Gate struct {
	cfg     Config
	opt     *options.Config
	clock   options.Clock
	system  bool
	epoch   time.Time
	rand    func() uint64
	zones   balancer.Zones
	healthy balancer.HealthConfig
	ctx     context.Context
	cancel  context.CancelFunc

	mu         sync.Mutex
	nodes      map[string]*node // those of the set, by ID
	leaving    map[*node]struct{}
	slots      []*node // by Candidate.Index
	freeSlots  []int
	classes    map[classKey]*class
	all        *class // of the zero Request
	applied    bool   // Apply was called: later joiners start slowly
	seq        uint64 // of the last waiter
	waiters    int    // all of them
	waiting    int    // those without a node
	queues     []*class
	max        int // cap of the cluster; 0 = none
	total      int // connections that count toward it
	closing    int // those of them that are being closed
	share      shares
	panicking  bool    // AllEjected was reported
	due        bool    // something was freed: waiters may be placed
	cold       []*node // their minimum of idle connections is to be seen to
	overflowAt int64   // the last lease of a node of weight 0
	retireAt   int64   // before it, no further connection ends for its age
	dials      int     // under way
	fast       int     // those of them that aren't slow
	startable  []*node // with dials that wait for a login to succeed
	later      []*node // with dials that nobody waits for
	nextProbe  int64   // when the next probe may begin: now()
	login      login
	closed     bool
	tasks      int // goroutines of the gate
	quiet      chan struct{}
	closes     []*physical
	events     []Event
	telling    bool
	force      options.Timer

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
		classes: make(map[classKey]*class),
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
	g.zones = balancer.ParseZones(g.opt.PreferZones)
	g.healthy = balancer.HealthConfig{
		Threshold:   g.opt.EjectionFailureThreshold,
		Window:      g.opt.EjectionFailureWindow,
		Duration:    g.opt.EjectionDuration,
		MaxDuration: g.opt.EjectionMaxDuration,
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.all = newClass(classKey{})
	g.classes[classKey{}] = g.all
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

// Lease returns a connection for a request. The errors are *NoNodeError (no node matches), *AcquireTimeoutError,
// *DialError (no candidate could be connected to), *LoginError, ErrClosed and the context's own.
//
// A caller that gives up wastes nothing: a dial under way for it goes on, and the connection goes to the next waiter or becomes idle.
func (g *Gate) Lease(ctx context.Context, req Request) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return Lease{}, err
	}
	for {
		now := g.now()
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			return Lease{}, ErrClosed
		}
		c := g.classOf(&req)
		n, l := g.choose(c, &req.Avoid, nil)
		if n == nil || len(n.idle) == 0 {
			return g.leaseSlowly(ctx, &req, c, n, l, now)
		}
		pc := n.popIdle()
		lease := g.lend(pc, now)
		n.count.leases.Add(1)
		g.countOverflow(c, l, nil, n, now)
		look := req.Look || now-pc.idleSince > int64(aliveAfter) || n.suspectAt > 0 && pc.idleSince <= n.suspectAt
		g.refresh(n)
		g.migrate()
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
	return n != nil && n.ejected
}

// unlock ends a critical section: it sees to what must not be done inside one.
func (g *Gate) unlock() {
	if !g.due && len(g.cold) == 0 && len(g.closes) == 0 && len(g.events) == 0 {
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
	for _, pc := range g.closes {
		g.tasks++
		go g.closeConn(pc)
	}
	g.closes = g.closes[:0]
	for !g.telling && len(g.events) > 0 {
		events := g.events
		g.events = nil
		if g.cfg.OnEvent == nil {
			break
		}
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
	for _, n := range g.nodes {
		g.stopTimers(n)
		n.closeIdle(closedShutdown)
		g.unqueue(n)
	}
	for n := range g.leaving {
		g.stopTimers(n)
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
	for _, n := range g.nodes {
		if len(n.inUse) > 0 {
			return true
		}
	}
	for n := range g.leaving {
		if len(n.inUse) > 0 {
			return true
		}
	}
	return false
}

// forceClose closes what is still in use after DrainTimeout.
func (g *Gate) forceClose() {
	g.mu.Lock()
	for _, n := range g.nodes {
		n.closeInUse(closedShutdown)
	}
	for n := range g.leaving {
		n.closeInUse(closedShutdown)
	}
	g.unlock()
}
