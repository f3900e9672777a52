package exec

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// dead knows the leaders that don't answer and that the cluster hasn't replaced yet. Until it has, some 30 seconds
// after a crash, a server lets everything hang that needs such a leader, also through a healthy instance, and what
// hangs doesn't wake when another leads. So such statements wait here, where they hold no connection, and leave with
// the snapshot that shows who leads; whatever needs no hop goes straight to its owner meanwhile.
type dead struct {
	// leaders is replaced whole; nil: all answer. Statements read it.
	leaders atomic.Pointer[map[string]*deadLeader] // by the instance's uuid
	hurt    atomic.Bool                            // leaders, or a replicaset that nobody leads

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when waits should be looked at again
	probes  sync.WaitGroup
	alarms  map[string]alarm

	// tick counts halves of suspect_after while statements are under way, so that a statement that waits for long
	// is found without a clock per statement.
	tick  atomic.Uint64
	armed atomic.Bool
}

// deadLeader is one of them.
type deadLeader struct {
	node    *pool.NodeInfo
	since   time.Time
	frozen  bool // its connections stand, and nothing comes over them
	waiting atomic.Int64
}

// alarm is a leader that was slow and answered a probe all the same.
type alarm struct {
	count int
	until uint64 // tick before which it isn't probed again
}

// The pauses between the probes of a dead leader, doubled from the first to the last.
const (
	reprobeFirst = 250 * time.Millisecond
	reprobeLast  = 5 * time.Second
)

// Leaderless describes a wait for a leader that ended without one. Nothing was sent.
type Leaderless struct {
	Instance   string // the dead leader; "" = the replicaset has none
	Replicaset string
	Tier       string
	Since      time.Duration // how long it has been dead; 0 = not known
	Waited     time.Duration // 0: dead_leader=fail
	Cause      error         // the context's; nil: dead_leader=fail, or dead_leader_timeout is over
}

// DeadLeader is a leader that doesn't answer.
type DeadLeader struct {
	Node    *pool.NodeInfo
	Since   time.Time
	Waiting int // statements
}

// Dead are the leaders that don't answer, in no order.
func (x *Executor) Dead() []DeadLeader {
	m := x.dead.leaders.Load()
	if m == nil {
		return nil
	}
	var list []DeadLeader
	for _, d := range *m {
		list = append(list, DeadLeader{Node: d.node, Since: d.since, Waiting: int(d.waiting.Load())})
	}
	return list
}

// Hurt reports whether statements wait, or would, for a leader.
func (x *Executor) Hurt() bool { return x.dead.hurt.Load() }

// of returns the entry of an instance, or nil.
func (d *dead) of(instance string) *deadLeader {
	m := d.leaders.Load()
	if m == nil {
		return nil
	}
	return (*m)[instance]
}

// avoid adds the frozen ones to the nodes that a statement isn't handed to unless nobody else is there.
func (d *dead) avoid(list [4]string) [4]string {
	m := d.leaders.Load()
	if m == nil {
		return list
	}
	return avoiding(list, func(yield func(string) bool) {
		for uuid, l := range *m {
			if l.frozen && !yield(uuid) { // of those that can't be connected to the pool knows
				return
			}
		}
	})
}

// set replaces one entry; nil removes it. mu is held.
func (d *dead) set(instance string, l *deadLeader) {
	now := map[string]*deadLeader{}
	if m := d.leaders.Load(); m != nil {
		now = maps.Clone(*m)
	}
	if l != nil {
		now[instance] = l
	} else {
		delete(now, instance)
	}
	if len(now) == 0 {
		d.leaders.Store(nil)
	} else {
		d.leaders.Store(&now)
	}
	d.announce()
}

// announce has all waits looked at again. mu is held.
func (d *dead) announce() {
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// next is closed with the next change.
func (d *dead) next() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.changed
}

// Dialled tells how a connection to a node of the set was made, or why not.
func (x *Executor) Dialled(n *pool.NodeInfo, err error) {
	switch {
	case err == nil:
		if x.dead.of(n.ID) != nil {
			x.alive(n)
		}
	case nobodyThere(err):
		x.suspect(n, true)
	}
}

// nobodyThere reports whether a dial found nobody: neither a server's answer, nor the caller's or the driver's own limit.
func nobodyThere(err error) bool {
	var p *pq.Error
	var n net.Error
	return !errors.As(err, &p) && !errors.Is(err, context.Canceled) && (errors.As(err, &n) && n.Timeout() || isNetwork(err))
}

func isNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// suspect notes that a leader doesn't answer. Unless a dial has shown it, a probe decides.
func (x *Executor) suspect(n *pool.NodeInfo, shown bool) {
	topo := x.Cluster.Topology()
	if topo == nil || topo.Static || n.Replicaset == "" || x.closed.Load() {
		return
	}
	if l, ok := topo.Leader(n.Replicaset); !ok || l.UUID != n.ID {
		return
	}
	d := &x.dead
	d.mu.Lock()
	old := d.of(n.ID)
	if old != nil {
		d.mu.Unlock()
		return
	}
	if shown {
		d.set(n.ID, &deadLeader{node: n, since: x.Clock.Now()})
		d.hurt.Store(true)
	}
	d.probes.Add(1)
	d.mu.Unlock()
	if shown {
		x.mourn(n)
	}
	go x.probe(n, shown)
}

// mourn sees to what a leader's death means for statements: those that wait on a server without need are run again,
// and keys are looked at that tell who can be answered.
func (x *Executor) mourn(n *pool.NodeInfo) {
	x.Logger.Warn("picodata: leader doesn't answer, statements that need it wait for the next one", "node", n.Name, "address", n.Address, "replicaset", n.ReplicasetName, "tier", n.Tier)
	x.Cluster.Hint(schema.HintConnectionLost)
	if x.Options.Routing == options.RoutingInsert {
		x.Cluster.Hint(schema.HintRows) // what keys tell is of use now, whatever is routed otherwise
	}
	before := x.stuck.epoch.Add(1)
	x.stuckAfter(stuckGrace, func() {
		x.interrupt(func(f *flight) bool {
			return f.epoch < before && f.rerun && (f.node == nil || f.node.ID == n.ID || concerns([]string{n.Tier}, f.tier) && (f.owner == "" || f.owner == n.Replicaset))
		})
	})
}

// probe asks a leader until it answers, or another leads.
func (x *Executor) probe(n *pool.NodeInfo, known bool) {
	d := &x.dead
	defer d.probes.Done()
	for attempt := 0; ; attempt++ {
		if known || attempt > 0 {
			if x.sleep(x.done, backoff(attempt, reprobeFirst, reprobeLast)) != nil || known && d.of(n.ID) == nil {
				return
			}
		}
		ctx, cancel := context.WithCancel(x.done)
		t := x.Clock.AfterFunc(max(x.Options.SuspectAfter, time.Second), cancel)
		err := x.Cluster.Probe(ctx, n)
		late := ctx.Err() != nil && x.done.Err() == nil
		t.Stop()
		cancel()
		switch {
		case x.closed.Load():
			return
		case !late && (err == nil || !nobodyThere(err)):
			if known {
				x.alive(n)
			}
			return
		case !known:
			known = true
			d.mu.Lock()
			topo := x.Cluster.Topology()
			l, ok := topo.Leader(n.Replicaset)
			fresh := ok && l.UUID == n.ID && d.of(n.ID) == nil
			if fresh {
				d.set(n.ID, &deadLeader{node: n, since: x.Clock.Now(), frozen: true})
				d.hurt.Store(true)
			}
			d.mu.Unlock()
			if !fresh {
				return
			}
			x.mourn(n)
		}
	}
}

// alive takes a leader off the list: it has answered.
func (x *Executor) alive(n *pool.NodeInfo) {
	d := &x.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of(n.ID) == nil {
		return
	}
	d.set(n.ID, nil)
	d.hurt.Store(d.leaders.Load() != nil || x.leaderless(x.Cluster.Topology()))
	x.Logger.Info("picodata: leader answers again", "node", n.Name, "address", n.Address, "replicaset", n.ReplicasetName)
}

// leadersChanged takes a snapshot: those that don't lead any more hold nobody up.
func (x *Executor) leadersChanged(topo *metadata.Topology) {
	d := &x.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.leaders.Load(); m != nil {
		for uuid, l := range *m {
			if leader, ok := topo.Leader(l.node.Replicaset); !ok || leader.UUID != uuid {
				d.set(uuid, nil)
			}
		}
	}
	d.hurt.Store(d.leaders.Load() != nil || x.leaderless(topo))
	d.announce()
}

// leaderless reports whether some replicaset with data has nobody that leads it.
func (x *Executor) leaderless(topo *metadata.Topology) bool {
	if topo == nil || topo.Static || !topo.RolesKnown {
		return false
	}
	for i := range topo.Replicasets {
		r := &topo.Replicasets[i]
		if r.State == "expelled" {
			continue
		}
		if l, ok := topo.Leader(r.UUID); !ok || l.State != metadata.Online {
			return true
		}
	}
	return false
}

// heldUp says whom a statement would wait for on the server; nil: it can be answered.
func (r *run) heldUp() *Leaderless {
	p, d := &r.plan, &r.x.dead
	if p.Hinted {
		return nil
	}
	leader := d.of(p.InstanceUUID)
	switch {
	case p.Kind == route.Leader || p.Kind == route.Filter:
		if leader == nil || p.Kind == route.Filter && p.Role != options.RoleLeader {
			return nil
		}
		return r.x.leaderlessOf(leader)
	case p.Reason == route.NoLeader && p.BucketKnown:
		if r.x.Options.InstanceRole == options.RoleLeader {
			return nil // the pool waits: it has nobody else
		}
		if topo := r.x.Cluster.Topology(); topo == nil || !topo.RolesKnown {
			return nil
		}
		if leader != nil {
			return r.x.leaderlessOf(leader)
		}
		return &Leaderless{Replicaset: p.Replicaset, Tier: p.Tier}
	}
	// A statement that its key doesn't bring to one owner goes to all of its tier.
	switch r.text.Info.Class {
	case sqltext.Read, sqltext.Insert, sqltext.Update, sqltext.Delete:
	default:
		return nil
	}
	tier, ok := r.x.routing.tierOf(r.text)
	m := d.leaders.Load()
	if !ok || m == nil {
		return nil
	}
	for _, l := range *m {
		if l.node.Tier == tier {
			return r.x.leaderlessOf(l)
		}
	}
	return nil
}

func (x *Executor) leaderlessOf(l *deadLeader) *Leaderless {
	return &Leaderless{Instance: l.node.Name, Replicaset: l.node.ReplicasetName, Tier: l.node.Tier, Since: x.Clock.Now().Sub(l.since)}
}

// awaitLeader waits while nobody can answer the statement, and plans it anew then.
func (r *run) awaitLeader() error {
	x := r.x
	var over <-chan struct{}
	var began time.Time
	var l *deadLeader
	defer func() { l.counted(-1) }()
	for {
		changed := x.dead.next()
		why := r.heldUp()
		if why == nil {
			return nil
		}
		if x.Options.DeadLeader == options.DeadLeaderFail {
			return x.Faults.Leaderless(why)
		}
		if over == nil {
			began = x.Clock.Now()
			limit := make(chan struct{})
			t := x.Clock.AfterFunc(x.Options.DeadLeaderTimeout, func() { close(limit) })
			defer t.Stop()
			over = limit
			x.Cluster.Hint(schema.HintSwitchover)
		}
		l.counted(-1)
		l = x.dead.of(r.plan.InstanceUUID)
		l.counted(1)
		select {
		case <-changed:
		case <-r.ctx.Done():
			why.Waited, why.Cause = x.Clock.Now().Sub(began), r.ctx.Err()
			return x.Faults.Leaderless(why)
		case <-over:
			why.Waited = x.Clock.Now().Sub(began)
			return x.Faults.Leaderless(why)
		case <-x.done.Done():
			return ErrClosed
		}
		if err := r.decide(); err != nil {
			return err
		}
	}
}

// counted counts who waits for the leader; nil: nobody is known to be waited for.
func (l *deadLeader) counted(n int64) {
	if l != nil {
		l.waiting.Add(n)
	}
}

// watchFlights looks once in a while for statements that a leader leaves without an answer, as long as there are
// statements at all.
func (x *Executor) watchFlights() {
	if x.Options.SuspectAfter <= 0 || x.dead.armed.Swap(true) {
		return
	}
	x.stuckAfter(x.Options.SuspectAfter/2, x.lookAtFlights)
}

func (x *Executor) lookAtFlights() {
	d := &x.dead
	now := d.tick.Add(1)
	slow := map[string]*pool.NodeInfo{}
	any := false
	for _, c := range x.all() {
		c.mu.Lock()
		for f := &c.flight; f != nil; f = f.next {
			if f.conn == nil {
				continue
			}
			any = true
			if f.node != nil && now-f.tick >= 3 {
				slow[f.node.ID] = f.node
			}
		}
		c.mu.Unlock()
	}
	d.mu.Lock()
	for id := range d.alarms {
		if slow[id] == nil {
			delete(d.alarms, id)
		}
	}
	for id := range slow {
		a := d.alarms[id]
		if now < a.until || d.of(id) != nil {
			delete(slow, id)
			continue
		}
		if d.alarms == nil {
			d.alarms = map[string]alarm{}
		}
		d.alarms[id] = alarm{count: a.count + 1, until: now + 4<<min(a.count, 5)}
	}
	d.mu.Unlock()
	for _, n := range slow {
		x.suspect(n, false)
	}
	d.armed.Store(false)
	if any {
		x.watchFlights()
	}
}
