package picodata

import (
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
	for uuid := range *m {
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
func (c *Connector) demote(e *Error, n *pool.NodeInfo) {
	if e.Replicaset != "" && e.Replicaset != n.Replicaset || e.report.Cause != servererr.ReadOnly || c.roles.isDemoted(n.ID) {
		return
	}
	r := &c.roles
	r.mu.Lock()
	defer r.mu.Unlock()
	topo := c.Topology()
	if topo == nil || c.closed.Load() || r.isDemoted(n.ID) {
		return
	}
	if l, ok := topo.Leader(n.Replicaset); !ok || l.UUID != n.ID {
		return // the next snapshot is here already
	}
	r.set(n.ID, true)
	c.log.Info("picodata: node refuses writes", "node", n.Name, "address", n.Address, "replicaset", n.ReplicasetName, "tier", n.Tier, "error", e)
	if r.timers == nil {
		r.timers = make(map[string]options.Timer)
	}
	r.timers[n.ID] = c.clock.AfterFunc(demotionLasts, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if c.closed.Load() || !r.isDemoted(n.ID) {
			return
		}
		r.set(n.ID, false)
		c.applyNodes(c.Topology())
	})
	c.applyNodes(topo)
}

// unsettled reports whether somebody who waits for a node of some role may expect another snapshot soon: a
// replicaset is between two leaders.
func (c *Connector) unsettled(topo *metadata.Topology) bool {
	if c.roles.any() {
		return true
	}
	if c.cfg.InstanceRole == options.RoleAny {
		return false // hints for a role wait by themselves
	}
	for i := range topo.Replicasets {
		if topo.Replicasets[i].Switching {
			return true
		}
	}
	return false
}
