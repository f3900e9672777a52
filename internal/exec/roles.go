package exec

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// roles corrects a snapshot in which an instance leads that has shown not to lead any more: no
// second write is routed there, though the next snapshot is still to come.
type roles struct {
	// demoted holds uuids of instances and is replaced whole; nil: none. Statements read it.
	demoted atomic.Pointer[map[string]bool]

	// mu is held over Gate.Apply, so that a correction and a snapshot don't overtake each other.
	mu     sync.Mutex
	timers map[string]options.Timer
}

// demotionLasts bounds a correction that no snapshot confirms: a switchover that was called off leaves
// the leader in its place.
const demotionLasts = 5 * time.Second

func (r *roles) isDemoted(instance string) bool {
	m := r.demoted.Load()
	return m != nil && (*m)[instance]
}

func (r *roles) any() bool { return r.demoted.Load() != nil }

// set adds or removes an instance. mu is held.
func (r *roles) set(instance string, demoted bool) {
	now := map[string]bool{}
	if m := r.demoted.Load(); m != nil {
		now = maps.Clone(*m)
	}
	if demoted {
		now[instance] = true
	} else {
		delete(now, instance)
		if t := r.timers[instance]; t != nil {
			t.Stop()
			delete(r.timers, instance)
		}
	}
	if len(now) == 0 {
		r.demoted.Store(nil)
		return
	}
	r.demoted.Store(&now)
}

// forget drops the corrections that a snapshot makes needless: another instance leads there. While none does,
// the old leader is still the one that refuses writes.
func (r *roles) forget(topo *metadata.Topology) {
	m := r.demoted.Load()
	if m == nil {
		return
	}
	for uuid := range *m {
		if in, ok := topo.Instance(uuid); ok {
			if l, led := topo.Leader(in.ReplicasetUUID); !led || l.UUID == uuid {
				continue
			}
		}
		r.set(uuid, false)
	}
}

// avoid adds the demoted instances to those that a write is not handed to unless nobody else is there.
func (r *roles) avoid(list [4]string) [4]string {
	m := r.demoted.Load()
	if m == nil {
		return list
	}
	return avoiding(list, maps.Keys(*m))
}

// avoiding adds instances to a list, as far as there is room.
func avoiding(list [4]string, instances iter.Seq[string]) [4]string {
	for uuid := range instances {
		if slices.Contains(list[:], uuid) {
			continue
		}
		if at := slices.Index(list[:], ""); at >= 0 {
			list[at] = uuid
		}
	}
	return list
}

func (r *roles) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.timers {
		t.Stop()
	}
}

// demote believes a server that refused a write for its replicaset: if the node that was asked leads it by the
// snapshot in force, it doesn't any more.
func (x *Executor) demote(err error, n *pool.NodeInfo) {
	report, _ := servererr.Of(err)
	if report.Replicaset != "" && report.Replicaset != n.Replicaset || report.Cause != servererr.ReadOnly || x.roles.isDemoted(n.ID) {
		return
	}
	r := &x.roles
	r.mu.Lock()
	defer r.mu.Unlock()
	topo := x.Cluster.Topology()
	if topo == nil || x.closed.Load() || r.isDemoted(n.ID) {
		return
	}
	if l, ok := topo.Leader(n.Replicaset); !ok || l.UUID != n.ID {
		return // the next snapshot is here already
	}
	r.set(n.ID, true)
	x.Logger.Info("picodata: node refuses writes", "node", n.Name, "address", n.Address, "replicaset", n.ReplicasetName, "tier", n.Tier, "error", err)
	if r.timers == nil {
		r.timers = make(map[string]options.Timer)
	}
	r.timers[n.ID] = x.Clock.AfterFunc(demotionLasts, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if x.closed.Load() || !r.isDemoted(n.ID) {
			return
		}
		r.set(n.ID, false)
		x.applyNodes(x.Cluster.Topology())
		x.dead.look()
	})
	x.applyNodes(topo)
}

// Unsettled reports whether somebody who waits for a node of some role may expect another snapshot soon: a
// replicaset is between two leaders, or no instance is Online: then all are away, which doesn't last.
func (x *Executor) Unsettled(topo *metadata.Topology) bool {
	if x.roles.any() || !topo.Static && !slices.ContainsFunc(topo.Instances, func(in metadata.Instance) bool { return in.State == metadata.Online }) {
		return true
	}
	if x.Options.InstanceRole == options.RoleAny {
		return false // hints for a role wait by themselves
	}
	for i := range topo.Replicasets {
		if topo.Replicasets[i].Switching {
			return true
		}
	}
	return false
}

// Apply takes a new snapshot: the pool gets its nodes, routing its view, and statements that its changes may have
// put to sleep are seen to. It runs on the goroutine that reads the topology.
func (x *Executor) Apply(old, topo *metadata.Topology) {
	x.roles.mu.Lock()
	x.roles.forget(topo)
	x.applyNodes(topo)
	x.roles.mu.Unlock()
	x.routing.topologyChanged(old, topo)
	x.leadersChanged(topo)
	x.started.Store(true)
	x.changed.send()
	if !topo.Static { // a node has told it
		x.reached.Store(true)
	}
	x.clusterChanged(old, topo)
}

// applyNodes makes the node set of a snapshot the pool's. roles.mu is held.
func (x *Executor) applyNodes(topo *metadata.Topology) {
	views := metadata.Select(x.Options, topo)
	nodes := make([]pool.NodeSpec, 0, len(views))
	for i := range views {
		v := &views[i]
		if v.Excluded.Unreachable() {
			continue
		}
		nodes = append(nodes, x.nodeSpec(v))
	}
	x.Pool.Apply(nodes)
}

// nodeSpec describes one node of the set to the pool.
func (x *Executor) nodeSpec(v *metadata.NodeView) pool.NodeSpec {
	n := pool.NodeSpec{ID: v.ID, Name: v.Name(), Address: v.Address, Eligible: v.Excluded == metadata.Included}
	var few [4]string // on the stack: a snapshot may have a thousand nodes
	addresses := append(append(few[:0], v.Address), v.Alternates...)
	if in := v.Instance; in != nil {
		n.Tier, n.Replicaset, n.ReplicasetName, n.Role, n.Zone = in.Tier, in.ReplicasetUUID, in.ReplicasetName, in.Role, in.FailureDomain
		addresses = append(addresses, in.Advertised)
		if x.roles.isDemoted(in.UUID) {
			n.Role = metadata.RoleUnknown
			n.Eligible = n.Eligible && x.Options.InstanceRole == options.RoleAny
		}
	}
	n.Weight, n.MaxConns, n.Priority = x.rules.Of(n.Name, addresses, n.Tier)
	return n
}
