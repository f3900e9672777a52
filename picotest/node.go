package picotest

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// Node is an instance of the cluster. Its methods may be called from any goroutine.
type Node struct {
	c        *Cluster
	name     string
	uuid     string
	raftID   uint64
	rs       *replicaset
	rowsOnly bool
	domain   string // failure domain as JSON

	build    atomic.Pointer[engine.Version]
	picture  atomic.Pointer[engine.System] // what this instance sees
	readOnly atomic.Bool                   // not the master, or a master that is stepping down

	door     door // the listener and who may come in
	counters nodeCounters
	logins   attempts
	storage  storage
	frames   dialogue

	// Guarded by Cluster.mu.
	process       process
	current       membership
	target        membership
	incarnation   uint64
	targetIncarn  uint64
	reason        string
	changed       time.Time
	advertised    string
	addr          string
	offlineTimer  *timer
	windowTimer   *timer
	lagging       bool // its copy doesn't follow the leader
	pinnedCatalog bool // its system tables stand still
	pinnedRouter  map[string][]engine.BucketRange
	strandReads   bool          // planned stops strand reads
	staleThaw     bool          // a thaw after another one took the lead goes wrong
	deposed       bool          // it lost the lead while frozen and doesn't know
	back          chan struct{} // it left so: closed when it is Online again

	cert   atomic.Pointer[tls.Certificate] // nil: that of all nodes
	frozen gate
	delay  atomic.Int64  // nanoseconds per flight
	down   chan struct{} // closed when the process is gone; a new one at Start
	up     chan struct{} // while starting: closed when Online
}

// process is what the operating system would say of an instance.
type process int

const (
	running process = iota
	starting
	stopping
	gone
)

// membership is a state in _pico_instance.
type membership string

const (
	online   membership = "Online"
	offline  membership = "Offline"
	expelled membership = "Expelled"
)

// Name is the instance's name: "i1".
func (n *Node) Name() string { return n.name }

// UUID is the instance's uuid.
func (n *Node) UUID() string { return n.uuid }

// RaftID is the instance's raft id. Unlike names these are never used twice.
func (n *Node) RaftID() uint64 { return n.raftID }

// Replicaset is the name of the instance's replicaset: "default_1".
func (n *Node) Replicaset() string { return n.rs.name }

// ReplicasetUUID is the uuid of the instance's replicaset.
func (n *Node) ReplicasetUUID() string { return n.rs.uuid }

// Tier is the name of the instance's tier.
func (n *Node) Tier() string { return n.rs.tier.name }

// Addr is the host:port the instance listens on.
func (n *Node) Addr() string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.addr
}

// DSN is a connection string to this node alone, for the user of Cluster.DSN.
func (n *Node) DSN() string {
	if len(n.c.cfg.Users) == 0 {
		return n.AdminDSN()
	}
	u := n.c.cfg.Users[0]
	return n.c.dsn(u.Name, u.Password, n)
}

// AdminDSN is a connection string to this node alone, for the user admin.
func (n *Node) AdminDSN() string { return n.c.dsn("admin", n.c.cfg.AdminPassword, n) }

// IsLeader tells whether the instance is its replicaset's leader now.
func (n *Node) IsLeader() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.rs.master == n
}

// IsRaftLeader tells whether the instance leads the raft group, which is who runs DDL.
func (n *Node) IsRaftLeader() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.c.raftLeader == n
}

// State is the instance's current state in _pico_instance: Online, Offline or Expelled.
func (n *Node) State() string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return string(n.current)
}

// Running tells whether the instance's process exists and isn't frozen.
func (n *Node) Running() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.aliveLocked()
}

// String is the node's name and address.
func (n *Node) String() string { return n.name + " (" + n.Addr() + ")" }

// SetVersion makes the node one of another version, as in the middle of a rolling upgrade: new
// sessions follow it, and so does picodata_version.
func (n *Node) SetVersion(version string) error {
	v, err := parseVersion(version)
	if err != nil {
		return err
	}
	n.build.Store(&v)
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.c.publishLocked()
	return nil
}

func (n *Node) version() engine.Version { return *n.build.Load() }

// aliveLocked: the process runs and its network works inside the cluster.
func (n *Node) aliveLocked() bool {
	return (n.process == running || n.process == stopping) && !n.frozen.closedNow()
}

// gate stops whoever passes it while it is closed.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil: open
}

// shut closes the gate and tells whether it was open.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return false
	}
	g.opened = make(chan struct{})
	return true
}

// open opens the gate and tells whether it was closed.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return false
	}
	close(g.opened)
	g.opened = nil
	return true
}

func (g *gate) closedNow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened != nil
}

// pass waits until the gate is open or done is closed; false means the latter.
func (g *gate) pass(done <-chan struct{}) bool {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return true
		}
		select {
		case <-opened:
		case <-done:
			return false
		}
	}
}

// Node returns the instance of that name: of several that bore it, the latest. It panics
// if there was none, for that is a mistake in the test.
func (c *Cluster) Node(name string) *Node {
	n := (*c.byName.Load())[name]
	if n == nil {
		panic(fmt.Sprintf("picotest: no instance %q", name))
	}
	return n
}

// Nodes returns all instances that weren't expelled, in order of their raft ids.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*Node
	for _, n := range c.nodes {
		if n.current != expelled {
			list = append(list, n)
		}
	}
	return list
}

// Replicasets returns the names of all replicasets in order of creation.
func (c *Cluster) Replicasets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, rs := range c.replicasets {
		list = append(list, rs.name)
	}
	return list
}

// Leader returns the leader of a replicaset.
func (c *Cluster) Leader(replicaset string) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicasetLocked(replicaset).master
}

// Replicas returns the members of a replicaset that don't lead it, expelled ones left out.
func (c *Cluster) Replicas(replicaset string) []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	rs := c.replicasetLocked(replicaset)
	var list []*Node
	for _, n := range rs.members {
		if n != rs.master && n.current != expelled {
			list = append(list, n)
		}
	}
	return list
}

// RaftLeader returns the instance that leads the raft group, nil during an election.
func (c *Cluster) RaftLeader() *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raftLeader
}

// replicasetLocked finds a replicaset by name or uuid; a wrong name is a mistake in the test.
func (c *Cluster) replicasetLocked(name string) *replicaset {
	for _, rs := range c.replicasets {
		if rs.name == name || rs.uuid == name {
			return rs
		}
	}
	panic(fmt.Sprintf("picotest: no replicaset %q", name))
}

func (c *Cluster) tierLocked(name string) *tier {
	for _, t := range c.tiers {
		if t.name == name {
			return t
		}
	}
	panic(fmt.Sprintf("picotest: no tier %q", name))
}

// anyNode is a live node, for statements of the test itself.
func (c *Cluster) anyNode() *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raftLeader != nil && c.raftLeader.aliveLocked() {
		return c.raftLeader
	}
	for _, n := range c.nodes {
		if n.current == online && n.aliveLocked() {
			return n
		}
	}
	return nil
}

// WaitState returns when the named instance's state in _pico_instance is the given one: Online, Offline, Expelled.
func (c *Cluster) WaitState(ctx context.Context, instance, state string) error {
	return c.Until(ctx, instance+" is "+state, func() bool { return c.Node(instance).State() == state })
}

// WaitLeader returns when the named instance leads its replicaset.
func (c *Cluster) WaitLeader(ctx context.Context, instance string) error {
	return c.Until(ctx, instance+" leads", func() bool { return c.Node(instance).IsLeader() })
}

// Until returns when a condition about the topology holds; it looks at every change. what completes the error's "waiting until …".
func (c *Cluster) Until(ctx context.Context, what string, holds func() bool) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if holds() {
			return nil
		}
		if err := c.wait(ctx, changed, what); err != nil {
			return err
		}
	}
}

// wait waits for ch, the context or the end of the cluster.
func (c *Cluster) wait(ctx context.Context, ch <-chan struct{}, what string) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("picotest: waiting until %s: %w", what, context.Cause(ctx))
	case <-c.closing:
		return fmt.Errorf("picotest: the cluster was closed while waiting until %s", what)
	}
}
