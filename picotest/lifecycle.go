package picotest

import (
	"fmt"
	"time"
)

// closedChan is a channel that is closed already.
func closedChan() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

// Stop stops the instance as an operator does: it leaves the cluster at once (Offline, and another member
// of its replicaset leads), lives on for Config.StopWindow, still answering, then its connections
// end without a word and new ones are refused. Stop returns at once; the channel is closed when the process is gone.
func (n *Node) Stop() <-chan struct{} {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.process == gone || n.process == stopping {
		return n.down
	}
	n.windowTimer.stopLocked()
	n.offlineTimer.stopLocked()
	n.process = stopping
	n.leaveLocked("shutdown")
	if n.strandReads {
		n.back = make(chan struct{})
	}
	n.windowTimer = c.afterLocked(c.scaled(c.cfg.StopWindow), n.exitLocked)
	return n.down
}

// StrandReads makes planned stops as ugly as the recorded ones could be: a read that another instance forwards to this
// one's replicaset while it is leaving gets no answer until the instance is back, and then an error.
func (n *Node) StrandReads(on bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.strandReads = on
}

// Kill ends the instance's process as SIGKILL does: connections end at once, new ones are refused.
// The cluster takes it for Online until the governor's timeout (30 s before Config.Scale); until then, if it was a leader,
// everything sharded of its tier hangs that needs another instance than the one that was asked, and what hung doesn't wake when the
// failover is done; what an instance has by itself it answers, reads of the dead leader's replicaset at its living replica too, if
// they may go there. A killed replica makes reads hang that prefer replicas. A killed raft leader refuses writes to global tables.
func (n *Node) Kill() {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.process == gone {
		return
	}
	n.windowTimer.stopLocked()
	n.exitLocked()
	n.missLocked()
}

// exitLocked is the end of the process.
func (n *Node) exitLocked() {
	if n.process == gone {
		return
	}
	n.process = gone
	if n.current == offline && n.target == online {
		n.target, n.targetIncarn = offline, n.incarnation // it didn't get there
		n.c.publishLocked()
	}
	if n.up != nil {
		close(n.up)
		n.up = nil
	}
	n.frozen.open()
	n.deposed = false
	n.c.eng.SetCut(n.rs.uuid, n.name, false)
	n.c.eng.SetLag(n.rs.uuid, n.name, true)
	n.shut(false)
	close(n.down)
	if n.c.raftLeader == n {
		n.c.electLocked(n.current == offline)
	}
}

// missLocked starts the governor's clock for an instance that doesn't answer, and raft's if it led.
func (n *Node) missLocked() {
	c := n.c
	if c.raftLeader == n {
		c.electLocked(false)
	}
	if n.current != online {
		return
	}
	n.offlineTimer.stopLocked()
	timeout := c.seconds("governor_auto_offline_timeout", autoOfflineTimeout)
	n.offlineTimer = c.afterLocked(c.scaled(timeout), func() {
		n.leaveLocked(fmt.Sprintf("No successful RPC for %.3fs", timeout.Seconds()))
	})
}

// leaveLocked makes the instance Offline and lets another one lead in its place.
func (n *Node) leaveLocked(reason string) {
	n.current, n.target = offline, offline
	n.targetIncarn = n.incarnation
	n.reason, n.changed = reason, n.c.clock.Now()
	if !n.failoverLocked() {
		n.rs.reconfiguredLocked(1, 1)
	}
	n.c.publishLocked()
}

// reconfiguredLocked counts new versions of the configurations of a replicaset and its tier, as many as were recorded
// (testdata/live/failover-*.txt). Without a member to apply it the replicaset's is only a target.
func (rs *replicaset) reconfiguredLocked(own, tiers uint64) {
	rs.targetConfig = rs.config + own
	for _, m := range rs.members {
		if m.current == online {
			rs.config = rs.targetConfig
		}
	}
	rs.tier.version += tiers
}

// failoverLocked gives the replicaset that n leads, or was about to lead, to another member that is there, and
// tells whether there was one. Without one it stays.
func (n *Node) failoverLocked() bool {
	rs := n.rs
	if rs.master != n && rs.target != n {
		return false
	}
	rs.cancelLocked()
	for _, m := range rs.members {
		if m != n && m.current == online && m.aliveLocked() {
			n.c.promoteLocked(rs, m, n.process == stopping)
			return true
		}
	}
	rs.target = rs.master
	return false
}

// Start starts an instance that is down. It accepts connections at once and lets nobody in until it
// is Online, after Config.StartWindow, as a replica if its replicaset has another leader. Start returns
// at once; the channel is closed when the instance is Online, or gone again.
func (n *Node) Start() <-chan struct{} {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.process != gone || n.current == expelled {
		return closedChan()
	}
	n.process = starting
	if n.current == offline {
		// The rows say that it is on its way.
		n.target, n.targetIncarn = online, n.incarnation+1
		n.reason, n.changed = "wakeup", c.clock.Now()
		c.publishLocked()
	}
	n.down = make(chan struct{})
	n.up = make(chan struct{})
	n.storage.clear()
	n.logins.reset()
	c.eng.ForgetUnlogged(n.name)
	n.reopenLocked()
	if c.cfg.StartWindow >= 0 {
		n.windowTimer = c.afterLocked(c.scaled(c.cfg.StartWindow), n.joinLocked)
	}
	return n.up
}

// Online ends the start of an instance at once.
func (n *Node) Online() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.windowTimer.stopLocked()
	n.joinLocked()
}

// joinLocked makes a started instance a member again.
func (n *Node) joinLocked() {
	if n.process != starting {
		return
	}
	n.offlineTimer.stopLocked()
	n.process = running
	n.incarnation++
	n.targetIncarn = n.incarnation
	n.backLocked("wakeup")
	close(n.up)
	n.up = nil
	if n.back != nil {
		close(n.back)
		n.back = nil
	}
}

// backLocked makes an instance Online with the data of its leader.
func (n *Node) backLocked(reason string) {
	c, rs := n.c, n.rs
	n.current, n.target = online, online
	n.reason, n.changed = reason, c.clock.Now()
	switch {
	case reason != "wakeup":
		rs.reconfiguredLocked(2, 2)
	case rs.master == n:
		rs.reconfiguredLocked(3, 2)
	default:
		rs.reconfiguredLocked(3, 3)
	}
	if rs.master != n {
		n.readOnly.Store(true)
		if rs.master.current != online || rs.master.process == gone {
			// Its leader is dead: the first to come back leads.
			if !n.lagging {
				c.eng.SetLag(rs.uuid, n.name, false)
			}
			c.promoteLocked(rs, n, false)
		} else if !n.lagging {
			c.eng.Resync(rs.uuid, n.name, rs.master.name)
			c.eng.SetLag(rs.uuid, n.name, false)
		}
	} else {
		n.readOnly.Store(false)
		c.eng.SetLag(rs.uuid, n.name, false)
	}
	if c.raftLeader == nil || c.raftLeader == n {
		c.raftLeader = n
		c.raftTerm++
		c.electTimer.stopLocked()
		c.announceLocked()
	}
	c.publishLocked()
}

// awaitOnline lets a login wait while the instance starts or is frozen; false when the connection or the cluster ends first.
func (n *Node) awaitOnline(done <-chan struct{}) bool {
	for {
		n.c.mu.Lock()
		up := n.up
		isStarting := n.process == starting
		n.c.mu.Unlock()
		if !isStarting || up == nil {
			return n.frozen.pass(done)
		}
		select {
		case <-up:
		case <-done:
			return false
		}
	}
}

// Freeze stops the instance as SIGSTOP does: connections stay open and new ones are accepted by the kernel,
// but nothing is answered. The governor takes a frozen instance for dead after its timeout.
func (n *Node) Freeze() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.process == gone || !n.frozen.shut() {
		return
	}
	if n.staleThaw {
		n.c.eng.SetCut(n.rs.uuid, n.name, true)
	}
	n.missLocked()
}

// StaleThaw makes what follows a freeze as ugly as it can be on a real cluster. If another instance took the lead meanwhile, the old
// leader takes writes, which nobody else gets to see, for the second (before Config.Scale) until it is Online again; then its
// replication stays stopped: what is read at it is stale until Lag(false) or a restart.
func (n *Node) StaleThaw(on bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.staleThaw = on
}

// Thaw ends Freeze: what waited goes on. If the governor gave the instance up meanwhile it is Online again after a second (before
// Config.Scale), as a replica.
func (n *Node) Thaw() {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !n.frozen.open() || n.process == gone {
		return
	}
	n.offlineTimer.stopLocked()
	if n.staleThaw {
		if n.current == online {
			c.eng.Resync(n.rs.uuid, n.name, n.rs.master.name)
			c.eng.SetCut(n.rs.uuid, n.name, false)
		} else if n.rs.master != n {
			n.deposed = true
			n.readOnly.Store(false)
		}
	}
	c.publishLocked() // for those who wait for it to answer
	if n.current == offline && n.process == running {
		n.windowTimer = c.afterLocked(c.scaled(thawOnline), func() {
			if n.current == offline && n.process == running {
				n.incarnation++
				n.targetIncarn = n.incarnation
				n.deposed, n.lagging = false, n.lagging || n.deposed
				n.backLocked("auto-online")
			}
		})
	}
}

// Delay makes the node wait before it looks at each flight of a client; 0 ends it. The time is the cluster's clock's.
func (n *Node) Delay(d time.Duration) { n.delay.Store(int64(d)) }

// electLocked replaces a raft leader that is gone: one that left in an orderly way at once, else after raft's timeout.
func (c *Cluster) electLocked(orderly bool) {
	if orderly {
		c.electNowLocked()
		return
	}
	old := c.raftLeader
	c.electTimer.stopLocked()
	c.electTimer = c.afterLocked(c.scaled(raftElection-raftLeaderless), func() {
		if c.raftLeader != old || old != nil && old.aliveLocked() {
			return
		}
		c.raftLeader = nil
		c.publishLocked()
		c.electTimer = c.afterLocked(c.scaled(raftLeaderless), c.electNowLocked)
	})
}

// electNowLocked makes the first instance that can a raft leader.
func (c *Cluster) electNowLocked() {
	c.raftLeader = nil
	for _, n := range c.nodes {
		if n.current == online && n.process == running && n.aliveLocked() && !n.rowsOnly {
			c.raftLeader = n
			c.raftTerm++
			break
		}
	}
	c.publishLocked()
	if c.raftLeader != nil {
		c.announceLocked()
	}
}

// announceLocked wakes who waits for a raft leader.
func (c *Cluster) announceLocked() {
	if c.elected != nil {
		close(c.elected)
		c.elected = nil
	}
}

// electedLocked is closed when there is a raft leader again.
func (c *Cluster) electedLocked() <-chan struct{} {
	if c.elected == nil {
		c.elected = make(chan struct{})
	}
	return c.elected
}
