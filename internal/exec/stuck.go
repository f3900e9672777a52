package exec

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// flight is a statement that a server has been handed and hasn't answered yet.
type flight struct {
	conn  *wire.Conn // nil: none
	op    uint64     // its number on conn
	epoch uint64     // the cluster's when it began, see stuck
	tier  string     // the tier that it touches alone; "" = not known
	rerun bool       // it may be run again if it is interrupted
	owner string     // the replicaset that owns all it touches; "" = not known
	node  *pool.NodeInfo
	tick  uint64  // of dead when it began
	next  *flight // of the same checkout
}

// depart notes that a server is about to be asked; for a query until its first row, or its end, is there. A checkout
// has one flight at a time, or more while rows are open on it.
func (r *run) depart(w *wire.Conn) {
	rerun, tier := r.text.Info.PlainRead, ""
	if h := r.hint; h != nil {
		rerun = (rerun || h.Idempotent && (h.AnyTime || !r.text.Overwrites)) && !h.NoRetry
	}
	owner := ""
	if r.plan.OneBucket() {
		tier, owner = r.plan.Tier, r.plan.ReplicasetUUID
	}
	c := r.c
	epoch, op := r.x.stuck.epoch.Load(), w.NextOp()
	c.mu.Lock()
	f := &c.flight
	if f.conn != nil {
		f = &flight{next: c.flight.next}
		c.flight.next = f
	}
	f.conn, f.op, f.epoch, f.tier, f.rerun = w, op, epoch, tier, rerun
	f.owner, f.node, f.tick = owner, r.lease.Node(), r.x.dead.tick.Load()
	r.flight = f
	c.mu.Unlock()
	if !r.x.dead.armed.Load() { // now that it can be seen: lookAtFlights disarms before it looks
		r.x.watchFlights()
	}
}

// arrive ends what depart began: the answer has begun, or will never come.
func (r *run) arrive() {
	c, f := r.c, r.flight
	r.flight = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	f.conn = nil
	for prev := &c.flight; prev.next != nil; prev = prev.next {
		if prev.next == f {
			prev.next = f.next
			return
		}
	}
}

// stuck ends statements that will never wake. While a leader is dead and not yet known to be, everything
// sharded of its tier waits, and what waits then stays asleep when another leads: new
// statements work at once, old ones only end with the server's limit of six minutes.
type stuck struct {
	// epoch grows with every change after which statements that began before may be asleep. Reading it is
	// all that a statement pays.
	epoch atomic.Uint64
	// leaders are the last known ones, by replicaset. It belongs to the watcher's goroutine.
	leaders map[string]string

	mu     sync.Mutex
	timers map[uint64]options.Timer // by the order in which they were set
	set    uint64
}

// Reads that are under way at a change get stuckGrace to end by themselves: most of them aren't
// stuck. A statement that began within stuckWindow after it may be caught too, for the process that leaves
// is still there and doesn't answer; it gets until stuckLate. All is over within a second.
const (
	stuckGrace  = 200 * time.Millisecond
	stuckWindow = 150 * time.Millisecond
	stuckLate   = 600 * time.Millisecond
)

// clusterChanged looks whether statements of some tiers may have fallen asleep.
func (x *Executor) clusterChanged(old, topo *metadata.Topology) {
	if old == nil || topo.Static {
		x.stuck.newLeaders(topo)
		return
	}
	tiers := x.stuck.newLeaders(topo)
	for i := range old.Instances {
		was := &old.Instances[i]
		if was.State != metadata.Online {
			continue
		}
		// Gone, or back so soon that nobody had missed it.
		if is, ok := topo.Instance(was.UUID); !ok || is.State != metadata.Online || is.Incarnation > was.Incarnation {
			if !slices.Contains(tiers, was.Tier) {
				tiers = append(tiers, was.Tier)
			}
		}
	}
	if len(tiers) == 0 {
		return
	}
	before := x.stuck.epoch.Add(1)
	x.stuckAfter(stuckGrace, func() { x.wake(before, tiers, true) })
	x.stuckAfter(stuckWindow, func() {
		window := x.stuck.epoch.Add(1)
		x.stuckAfter(stuckLate-stuckWindow, func() { x.wake(window, tiers, true) })
		if d := x.Options.StuckStatementTimeout; d > 0 {
			x.stuckAfter(d, func() { x.wake(window, tiers, false) })
		}
	})
	if d := x.Options.StuckStatementTimeout; d > 0 {
		x.stuckAfter(d, func() { x.wake(before, tiers, false) })
	}
}

// newLeaders returns the tiers of replicasets that have another leader than the last one known.
func (k *stuck) newLeaders(topo *metadata.Topology) (tiers []string) {
	if k.leaders == nil {
		k.leaders = make(map[string]string)
	}
	for i := range topo.Replicasets {
		r := &topo.Replicasets[i]
		if r.LeaderUUID == "" {
			continue
		}
		last := k.leaders[r.UUID]
		k.leaders[r.UUID] = r.LeaderUUID
		if last != "" && last != r.LeaderUUID && !slices.Contains(tiers, r.Tier) {
			tiers = append(tiers, r.Tier)
		}
	}
	return tiers
}

// stuckAfter is the clock's AfterFunc until the connector is closed.
func (x *Executor) stuckAfter(d time.Duration, f func()) {
	k := &x.stuck
	k.mu.Lock()
	defer k.mu.Unlock()
	if x.closed.Load() {
		return
	}
	if k.timers == nil {
		k.timers = make(map[uint64]options.Timer)
	}
	k.set++
	key := k.set
	k.timers[key] = x.Clock.AfterFunc(d, func() {
		k.mu.Lock()
		delete(k.timers, key)
		k.mu.Unlock()
		if !x.closed.Load() {
			f()
		}
	})
}

// stop ends what stuckAfter has begun.
func (k *stuck) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.timers {
		t.Stop()
	}
	k.timers = nil
}

// wake interrupts the statements of these tiers that began before an epoch and still wait: those that
// are run again then, or all others, which end with an error.
func (x *Executor) wake(epoch uint64, tiers []string, rerun bool) {
	n := x.interrupt(func(f *flight) bool { return f.epoch < epoch && f.rerun == rerun && concerns(tiers, f.tier) })
	if n > 0 {
		x.Logger.Info("picodata: waiting statements interrupted, their tier has another leader", "statements", n, "tiers", tiers, "run_again", rerun)
	}
}

// interrupt ends the waits of the flights that match, and counts them.
func (x *Executor) interrupt(match func(*flight) bool) (n int) {
	for _, c := range x.all() {
		c.mu.Lock()
		for f := &c.flight; f != nil; f = f.next {
			if f.conn != nil && match(f) && f.conn.Interrupt(f.op) {
				n++
			}
		}
		c.mu.Unlock()
	}
	return n
}

func concerns(tiers []string, tier string) bool {
	return tier == "" || slices.Contains(tiers, tier)
}
