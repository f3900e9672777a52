package picotest

import (
	"context"
	"fmt"
)

// Switch is a planned change of a replicaset's leader that has begun.
type Switch struct {
	c       *Cluster
	rs      *replicaset
	to      *Node
	timer   *timer
	ended   chan struct{}
	settled bool
}

// SwitchLeader begins to make the named instance its replicaset's leader: target_master_name says so at once,
// both instances are read-only for Config.SwitchWindow, then current_master_name follows. A write that meets the window
// fails with a read-only error.
func (c *Cluster) SwitchLeader(replicaset, instance string) *Switch {
	c.mu.Lock()
	defer c.mu.Unlock()
	rs := c.replicasetLocked(replicaset)
	for _, n := range rs.members {
		if n.name == instance && n.current == online {
			return c.switchLocked(rs, n)
		}
	}
	panic(fmt.Sprintf("picotest: replicaset %s has no instance %q that is Online", replicaset, instance))
}

// switchByName is what an admin's UPDATE of _pico_replicaset starts. Names that don't fit do nothing.
func (c *Cluster) switchByName(replicaset, instance string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range c.replicasets {
		if rs.name != replicaset {
			continue
		}
		for _, n := range rs.members {
			if n.name == instance && n.current == online {
				c.switchLocked(rs, n)
			}
		}
	}
}

func (c *Cluster) switchLocked(rs *replicaset, to *Node) *Switch {
	rs.cancelLocked()
	s := &Switch{c: c, rs: rs, to: to, ended: make(chan struct{})}
	if rs.master == to { // at most, one that had begun is called off
		s.settled = true
		close(s.ended)
		c.publishLocked()
		return s
	}
	rs.change, rs.target = s, to
	rs.targetConfig++
	rs.master.readOnly.Store(true)
	c.publishLocked()
	if c.cfg.SwitchWindow >= 0 {
		s.timer = c.afterLocked(c.scaled(c.cfg.SwitchWindow), s.finishLocked)
	}
	return s
}

// Finish ends the read-only window now.
func (s *Switch) Finish() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.finishLocked()
}

// Done is closed when the new leader leads, or when something else came in between.
func (s *Switch) Done() <-chan struct{} { return s.ended }

// Wait returns when the new leader leads.
func (s *Switch) Wait(ctx context.Context) error {
	return s.c.wait(ctx, s.ended, s.to.name+" leads "+s.rs.name)
}

func (s *Switch) finishLocked() {
	if s.settled {
		return
	}
	if s.to.current != online || !s.to.aliveLocked() {
		s.rs.cancelLocked()
		s.c.publishLocked()
		return
	}
	s.timer.stopLocked()
	s.settled = true
	s.rs.change = nil
	s.c.promoteLocked(s.rs, s.to, true)
	s.c.publishLocked()
	close(s.ended)
}

// cancelLocked gives a switchover up, for the member that was to lead, or led, is gone.
func (rs *replicaset) cancelLocked() {
	s := rs.change
	if s == nil {
		return
	}
	s.timer.stopLocked()
	s.settled, rs.change = true, nil
	rs.target = rs.master
	rs.master.readOnly.Store(false)
	close(s.ended)
}

// promoteLocked makes a member the leader. Planned: it has everything the old one had. Unplanned: what
// it hadn't copied yet is lost, for the others too.
func (c *Cluster) promoteLocked(rs *replicaset, to *Node, planned bool) {
	old := rs.master
	if to.lagging {
		if !planned {
			// There and back: what the instance had yet to copy is dropped that way.
			c.eng.Resync(rs.uuid, old.name, to.name)
			c.eng.Resync(rs.uuid, to.name, old.name)
			for _, m := range rs.members {
				if m != to && m.current != expelled {
					c.eng.Resync(rs.uuid, m.name, to.name)
				}
			}
		}
		to.lagging = false
		c.eng.SetLag(rs.uuid, to.name, false)
	}
	rs.master, rs.target = to, to
	rs.reconfiguredLocked(2, 2)
	if old != to {
		old.readOnly.Store(true)
		c.eng.ForgetUnlogged(old.name)
	}
	to.readOnly.Store(false)
}

// Lag makes the instance's copy stop following its leader (true) or catch up and follow (false). Reads
// on it are stale meanwhile, and if the leader dies and this instance takes over, what it lacks is lost.
func (n *Node) Lag(on bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.lagging = on
	if !on {
		n.c.eng.SetCut(n.rs.uuid, n.name, false)
	}
	if !on && n.rs.master != n {
		// Not what it missed is applied: buckets may have moved meanwhile.
		n.c.eng.Resync(n.rs.uuid, n.name, n.rs.master.name)
	}
	n.c.eng.SetLag(n.rs.uuid, n.name, on)
}

// LagCatalog makes the instance's system tables stand still (true) or catch up (false), as those of an instance do that
// is cut off from raft.
func (n *Node) LagCatalog(on bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.pinnedCatalog = on
	n.c.publishLocked()
}

// LagRouter makes the instance's map of buckets stand still (true) or catch up (false): _pico_bucket() and the option
// forward go by it.
func (n *Node) LagRouter(on bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.pinnedRouter = nil
	if on {
		n.pinnedRouter = n.picture.Load().Buckets
	}
	n.c.publishLocked()
}
