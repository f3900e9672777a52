package exec

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
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
	vacant  atomic.Pointer[[]metadata.Replicaset]  // those whose last leader is gone and that have no other yet; nil: none

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when waits should be looked at again
	probes   sync.WaitGroup
	suspects map[string]bool // leaders that are being asked whether they are there
	alarms   map[string]alarm
	behind   map[string]bool // replicasets whose replicas answer reads meanwhile

	// tick counts halves of suspect_after while statements are under way, so that a statement that waits for long
	// is found without a clock per statement.
	tick  atomic.Uint64
	armed atomic.Bool
}

// deadLeader is one of them.
type deadLeader struct {
	node        *pool.NodeInfo
	incarnation uint64
	since       time.Time
	frozen      bool // a probe found it: its connections may stand, and nothing comes over them
	waiting     atomic.Int64

	// Under dead.mu: who waits for it, or passes it over, has it asked again, one at a time.
	probing bool
	asked   time.Time
	count   int
}

// alarm is a leader that was slow and answered a probe all the same.
type alarm struct {
	count int
	until uint64 // tick before which it isn't probed again
}

// The pauses between the probes of a dead leader while somebody waits for it, doubled from the first to the last.
const (
	reprobeFirst = 250 * time.Millisecond
	reprobeLast  = time.Second
)

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

// avoidDead adds the frozen leaders to the nodes that a statement isn't handed to unless nobody else is there. It has them asked
// again: no statement that waits, and no dial of the pool's, would find out that one is back.
func (x *Executor) avoidDead(list [4]string) [4]string {
	m := x.dead.leaders.Load()
	if m == nil {
		return list
	}
	return avoiding(list, func(yield func(string) bool) {
		for uuid, l := range *m {
			if !l.frozen { // the pool knows of those that can't be connected to
				continue
			}
			x.reprobe(l)
			if !yield(uuid) {
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

// look has all waits looked at again.
func (d *dead) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.announce()
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
	switch {
	case errors.As(err, &p), errors.Is(err, context.Canceled), ownLimit(err):
		return false
	case errors.As(err, &n) && n.Timeout():
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && !alerted(op)
}

// alerted: the two sides talk, and can't agree on TLS. Package tls wraps the alert of the one or the other like that.
func alerted(op *net.OpError) bool { return op.Op == "remote error" || op.Op == "local error" }

// ownLimit: this machine or its name servers are what failed.
func ownLimit(err error) bool {
	for _, no := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EACCES, syscall.EPERM, syscall.ENETDOWN, syscall.ENETUNREACH} {
		if errors.Is(err, no) {
			return true
		}
	}
	var dns *net.DNSError
	return errors.As(err, &dns) && !dns.IsNotFound
}

// suspect notes that a leader doesn't answer. Unless a dial has shown it, a probe decides.
func (x *Executor) suspect(n *pool.NodeInfo, shown bool) {
	if x.closed.Load() || x.dead.of(n.ID) != nil {
		return
	}
	if shown {
		x.giveUp(n, false)
		return
	}
	d := &x.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.suspects[n.ID] {
		return
	}
	if d.suspects == nil {
		d.suspects = map[string]bool{}
	}
	d.suspects[n.ID] = true
	x.probe(func() {
		alive := x.answers(n)
		d.mu.Lock()
		delete(d.suspects, n.ID)
		d.mu.Unlock()
		if !alive && !x.closed.Load() {
			x.giveUp(n, true)
		}
	})
}

// lostTo has a leader asked that has just ended a connection under a statement: until its death is known, others' statements go
// to where they hang.
func (x *Executor) lostTo(n *pool.NodeInfo) {
	if topo := x.Cluster.Topology(); topo != nil && n.Replicaset != "" {
		if l, ok := topo.Leader(n.Replicaset); ok && l.UUID == n.ID {
			x.suspect(n, false)
		}
	}
}

// probe runs f on its own, unless the executor is closed, which waits for it. dead.mu is held.
func (x *Executor) probe(f func()) {
	if x.closed.Load() {
		return
	}
	x.dead.probes.Go(f)
}

// stop waits for probes. The executor is closed, so that none begins any more.
func (d *dead) stop() {
	d.look() // whoever held the lock has added its probe; who takes it now sees that it is too late
	d.probes.Wait()
}

// giveUp puts a leader on the list.
func (x *Executor) giveUp(n *pool.NodeInfo, frozen bool) {
	if x.bury(n, frozen) {
		x.mourn(n)
	}
}

// bury is giveUp without its consequences. It reports whether the leader is new on the list.
func (x *Executor) bury(n *pool.NodeInfo, frozen bool) bool {
	d := &x.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	topo := x.Cluster.Topology() // under the lock: what it says may be over by the next leadersChanged
	if topo == nil || topo.Static || n.Replicaset == "" {
		return false
	}
	l, ok := topo.Leader(n.Replicaset)
	if !ok || l.UUID != n.ID || d.of(n.ID) != nil {
		return false
	}
	now := x.Clock.Now()
	d.set(n.ID, &deadLeader{node: n, incarnation: l.Incarnation, since: now, asked: now, frozen: frozen})
	d.hurt.Store(true)
	return true
}

// answers asks a node whether it is there.
func (x *Executor) answers(n *pool.NodeInfo) bool {
	ctx, cancel := context.WithCancel(x.done)
	defer cancel()
	t := x.Clock.AfterFunc(max(x.Options.SuspectAfter, time.Second), cancel)
	defer t.Stop()
	err := x.Cluster.Probe(ctx, n)
	return ctx.Err() == nil && (err == nil || !nobodyThere(err))
}

// reprobe has a dead leader asked again if it is time, and says when it will be.
func (x *Executor) reprobe(l *deadLeader) time.Duration {
	d := &x.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	pause := min(reprobeFirst<<min(l.count, 8), reprobeLast)
	if l.probing {
		return pause
	}
	if since := x.Clock.Now().Sub(l.asked); since < pause {
		return pause - since
	}
	l.probing = true
	x.probe(func() {
		alive := x.answers(l.node)
		d.mu.Lock()
		l.probing, l.asked = false, x.Clock.Now()
		l.count++
		d.mu.Unlock()
		if alive {
			x.alive(l.node)
		}
	})
	return pause
}

// mourn sees to what a leader's death means for statements: those that wait on a server without need are run again,
// and keys are looked at that tell who can be answered.
func (x *Executor) mourn(n *pool.NodeInfo) {
	x.Logger.Warn("picodata: leader doesn't answer, statements that need it wait for the next one", "node", n.Name, "address", n.Address, "replicaset", n.ReplicasetName, "tier", n.Tier)
	x.Cluster.Hint(schema.HintConnectionLost)
	if x.Options.Routing == options.RoutingInsert {
		x.Cluster.Hint(schema.HintRows) // what keys tell is of use now, whatever is routed otherwise
	}
	x.takeBack(n)
	x.stuckAfter(time.Second, func() { // what was sent before keys were known
		if x.dead.of(n.ID) != nil {
			x.takeBack(n)
		}
	})
}

// takeBack interrupts reads that wait for a dead leader on a server, unless they end by themselves soon.
func (x *Executor) takeBack(n *pool.NodeInfo) {
	before := x.stuck.epoch.Add(1)
	x.stuckAfter(stuckGrace, func() {
		x.interrupt(func(f *flight) bool {
			return f.epoch < before && f.rerun && (f.node == nil || f.node.ID == n.ID || concerns([]string{n.Tier}, f.tier) && (f.owner == "" || f.owner == n.Replicaset))
		})
	})
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
			leader, ok := topo.Leader(l.node.Replicaset)
			if !ok || leader.UUID != uuid || leader.State == metadata.Online && leader.Incarnation > l.incarnation { // or it is back
				d.set(uuid, nil)
			}
		}
	}
	for replicaset := range d.behind {
		if l, ok := topo.Leader(replicaset); !ok || l.State == metadata.Online && d.of(l.UUID) == nil {
			delete(d.behind, replicaset)
		}
	}
	d.vacant.Store(vacant(topo))
	d.hurt.Store(d.leaders.Load() != nil || x.leaderless(topo))
	d.announce()
}

// vacant are the replicasets with data whose leader is gone and that nobody leads yet; nil: none. One that moves its lead
// from a living instance to another isn't among them: servers answer for it meanwhile.
func vacant(topo *metadata.Topology) *[]metadata.Replicaset {
	if topo == nil || topo.Static || !topo.RolesKnown {
		return nil
	}
	var list []metadata.Replicaset
	for i := range topo.Replicasets {
		r := &topo.Replicasets[i]
		if r.State != "ready" {
			continue
		}
		if l, ok := topo.Leader(r.UUID); ok && l.State == metadata.Online {
			continue
		}
		if last, ok := topo.ByName(r.CurrentMaster); !ok || last.State != metadata.Online {
			list = append(list, *r)
		}
	}
	if list == nil {
		return nil
	}
	return &list
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

// noticed is how long a leader may be dead and lead all the same: a cluster takes some 30 seconds to see it. One that is
// Online beyond that is out of reach from here alone, and others can forward to it.
const noticed = 45 * time.Second

// holdsUp reports whether statements wait for a dead leader.
func (x *Executor) holdsUp(l *deadLeader) bool {
	if x.Clock.Now().Sub(l.since) < noticed {
		return true
	}
	in, ok := x.Cluster.Topology().Instance(l.node.ID)
	return !ok || in.State != metadata.Online || in.TargetState != "" && in.TargetState != metadata.Online
}

// errWaited ends a wait whose limit is reached.
var errWaited = errors.New("dead_leader_timeout is over")

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
	d.armed.Store(false)
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
	if any {
		x.watchFlights()
	}
}
