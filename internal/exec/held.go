package exec

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
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

// heldUp says whom a statement would wait for on the server; nil: it can be answered.
func (r *run) heldUp() (*Leaderless, *deadLeader) {
	p, d := &r.plan, &r.x.dead
	if p.Hinted || !r.op.executes() {
		return nil, nil
	}
	leader := d.of(p.InstanceUUID)
	if leader != nil && !r.x.holdsUp(leader) {
		leader = nil
	}
	switch {
	case p.Kind == route.Leader || p.Kind == route.Filter:
		if leader == nil || p.Kind == route.Filter && p.Role != options.RoleLeader {
			return nil, nil
		}
		return r.x.leaderlessOf(leader), leader
	case p.Reason == route.NoLeader && (p.BucketKnown || p.Shared):
		if r.x.Options.InstanceRole == options.RoleLeader {
			return nil, nil // the pool waits: it has nobody else
		}
		if topo := r.x.Cluster.Topology(); topo == nil || !topo.RolesKnown {
			return nil, nil
		}
		if leader != nil {
			return r.x.leaderlessOf(leader), leader
		}
		return &Leaderless{Replicaset: p.Replicaset, Tier: p.Tier}, nil
	}
	// A statement that its key doesn't bring to one owner goes to all of its tier.
	switch r.text.Info.Class {
	case sqltext.Read, sqltext.Insert, sqltext.Update, sqltext.Delete:
	default:
		return nil, nil
	}
	leaders, vacant := d.leaders.Load(), d.vacant.Load()
	if leaders == nil && vacant == nil {
		return nil, nil
	}
	tiers := r.x.routing.tiersOf(r.text)
	if leaders != nil {
		for _, l := range *leaders {
			if slices.Contains(tiers, l.node.Tier) && r.x.holdsUp(l) {
				return r.x.leaderlessOf(l), l
			}
		}
	}
	if vacant != nil {
		for i := range *vacant {
			if s := &(*vacant)[i]; slices.Contains(tiers, s.Tier) {
				return &Leaderless{Replicaset: s.Name, Tier: s.Tier}, nil
			}
		}
	}
	return nil, nil
}

func (x *Executor) leaderlessOf(l *deadLeader) *Leaderless {
	return &Leaderless{Instance: l.node.Name, Replicaset: l.node.ReplicasetName, Tier: l.node.Tier, Since: x.Clock.Now().Sub(l.since)}
}

// awaitLeader waits while nobody can answer the statement, and plans it anew then.
func (r *run) awaitLeader() error {
	x := r.x
	var over <-chan struct{}
	var began time.Time
	for {
		changed := x.dead.next()
		why, leader := r.heldUp()
		if why == nil {
			return nil
		}
		if r.degrade(leader) {
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
		err := r.waitOn(leader, changed, over)
		if err != nil {
			if err == ErrClosed {
				return err
			}
			why.Waited = x.Clock.Now().Sub(began)
			if err != errWaited {
				why.Cause = err
			}
			return x.Faults.Leaderless(why)
		}
		if err := r.decide(); err != nil {
			return err
		}
	}
}

// waitOn waits for a change, or until a dead leader can be asked again.
func (r *run) waitOn(l *deadLeader, changed, over <-chan struct{}) error {
	var look chan struct{} // never, if nobody is known who could answer
	if l != nil {
		l.waiting.Add(1)
		defer l.waiting.Add(-1)
		look = make(chan struct{})
		t := r.x.Clock.AfterFunc(r.x.reprobe(l), func() { close(look) })
		defer t.Stop()
	}
	select {
	case <-changed:
	case <-look:
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-over:
		return errWaited
	case <-r.x.done.Done():
		return ErrClosed
	}
	return nil
}

// degrade has a read of one owner that would wait for a leader answered by a living replica, where stale_reads allows it.
// The statement itself says so to the server: OPTION (read_preference = any) makes an instance of the owner answer by
// what it has.
func (r *run) degrade(dead *deadLeader) bool {
	x, p := r.x, &r.plan
	if x.Options.StaleReads != options.StaleReadsDegraded || r.op != opQuery || !r.text.Info.PlainRead || !p.BucketKnown || sqltext.HasOption(r.text.SQL) {
		return false
	}
	all := x.routing.view.Load().Standbys(p.ReplicasetUUID)
	for _, i := range rand.Perm(len(all)) {
		in := all[i]
		if dead != nil && in.UUID == dead.node.ID || x.Pool.Ejected(in.UUID) || slices.Contains(r.avoid[:], in.UUID) {
			continue
		}
		p.Kind, p.Role, p.Strict, p.Reason, p.Detail = route.Filter, options.RoleAny, true, route.StaleRead, ""
		p.InstanceUUID, p.Instance = in.UUID, in.Name
		if x.dead.degraded(p.ReplicasetUUID) {
			x.Logger.Warn("picodata: leader doesn't answer, a replica that may be behind answers reads", "replicaset", p.Replicaset, "tier", p.Tier, "node", in.Name, "address", in.Address)
		}
		return true
	}
	return false
}

// degraded notes that replicas answer for a replicaset. It reports whether that is new.
func (d *dead) degraded(replicaset string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.behind[replicaset] {
		return false
	}
	if d.behind == nil {
		d.behind = map[string]bool{}
	}
	d.behind[replicaset] = true
	return true
}

// staleText is what a replica is sent.
func (r *run) staleText() string {
	blanks := r.sql[len(r.text.SQL):] // that its arguments need, see variant
	return withOption(r.text.SQL, "read_preference = any") + blanks
}
