package picotest

import "fmt"

// AddInstance adds an instance to a replicaset; it is a replica there and listens on an address of its own.
func (c *Cluster) AddInstance(replicaset string) *Node {
	c.mu.Lock()
	rs := c.replicasetLocked(replicaset)
	c.mu.Unlock()
	n, err := c.addNode(rs, "join")
	if err != nil {
		panic(err)
	}
	c.publish()
	return n
}

// AddReplicaset adds a replicaset of n instances to a tier and returns its name. It owns no
// buckets until MoveBuckets or Rebalance.
func (c *Cluster) AddReplicaset(tier string, n int) string {
	c.mu.Lock()
	t := c.tierLocked(tier)
	c.mu.Unlock()
	rs, err := c.addReplicaset(t, n, "join")
	if err != nil {
		panic(err)
	}
	c.publish()
	return rs.name
}

// AddTier adds a tier with its replicasets, instances and buckets.
func (c *Cluster) AddTier(t Tier) error {
	if err := t.fill(); err != nil {
		return err
	}
	if err := c.addTier(t, "join"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spreadLocked(c.tierLocked(t.Name))
	c.publishLocked()
	return nil
}

func (c *Cluster) publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publishLocked()
}

// Expel removes an instance for good: if it led its replicaset another member leads now, its connections end, its row stays in
// _pico_instance with the state Expelled until an instance of the same name is added, its address stays. An
// instance alone in a replicaset that owns buckets can't be expelled.
func (c *Cluster) Expel(instance string) error {
	n := c.Node(instance)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.current == expelled {
		return fmt.Errorf("picotest: %s is expelled already", n.name)
	}
	rs := n.rs
	if rs.master == n {
		n.failoverLocked()
	}
	if rs.master == n {
		for _, owner := range rs.tier.owners {
			if owner == rs {
				return fmt.Errorf("picotest: %s is the last instance of %s, which owns buckets: move them first", n.name, rs.name)
			}
		}
		rs.gone = true
	}
	n.offlineTimer.stopLocked()
	n.windowTimer.stopLocked()
	n.current, n.target = expelled, expelled
	n.reason, n.changed = "expel", c.clock.Now()
	c.eng.RemoveInstance(rs.uuid, n.name)
	n.exitLocked()
	if c.raftLeader == n {
		c.electNowLocked()
	}
	rs.reconfiguredLocked(2, 1)
	c.publishLocked()
	return nil
}

// MoveBuckets gives the buckets first to last of a tier, with their rows, to a replicaset. Every instance
// knows at once, except those with LagRouter.
func (c *Cluster) MoveBuckets(tier string, first, last uint64, replicaset string) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tierLocked(tier)
	to := c.replicasetLocked(replicaset)
	if to.tier != t {
		return fmt.Errorf("picotest: replicaset %s isn't of tier %s", replicaset, tier)
	}
	if first < 1 || last > t.count || first > last {
		return fmt.Errorf("picotest: buckets %d to %d: tier %s has 1 to %d", first, last, tier, t.count)
	}
	c.moveLocked(t, first, last, to)
	c.publishLocked()
	return nil
}

func (c *Cluster) moveLocked(t *tier, first, last uint64, to *replicaset) {
	owners := append([]*replicaset(nil), t.owners...)
	for _, r := range ranges(t.owners) {
		from := c.replicasetLocked(r.Replicaset)
		lo, hi := max(first, r.First), min(last, r.Last)
		if from == to || lo > hi {
			continue
		}
		c.eng.MoveBuckets(t.name, lo, hi, from.uuid, to.uuid)
		for b := lo; b <= hi; b++ {
			owners[b-1] = to
		}
	}
	t.owners = owners
}

// Rebalance gives every replicaset of a tier an equal share of its buckets.
func (c *Cluster) Rebalance(tier string) {
	c.moving.Lock()
	defer c.moving.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tierLocked(tier)
	before := t.owners
	c.spreadLocked(t)
	after := t.owners
	t.owners = before
	for _, r := range ranges(after) {
		c.moveLocked(t, r.First, r.Last, c.replicasetLocked(r.Replicaset))
	}
	c.publishLocked()
}

// BucketOwner returns the name of the replicaset that owns a bucket.
func (c *Cluster) BucketOwner(tier string, bucket uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tierLocked(tier)
	if bucket < 1 || bucket > uint64(len(t.owners)) {
		return ""
	}
	return t.owners[bucket-1].name
}

// Advertise changes the address that _pico_peer_address shows for the instance; where it listens stays.
func (n *Node) Advertise(address string) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.advertised = address
	n.c.publishLocked()
}

// Advertised is the address that _pico_peer_address shows for the instance.
func (n *Node) Advertised() string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.advertised
}

// Move lets the instance listen on a new address and advertise it; open connections stay.
func (n *Node) Move() error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.process == gone || n.rowsOnly {
		return fmt.Errorf("picotest: %s isn't running", n.name)
	}
	old := n.door.take()
	if err := n.listenLocked(""); err != nil {
		n.door.put(old)
		return err
	}
	if old != nil {
		_ = old.Close()
	}
	n.advertised = n.addr
	n.c.publishLocked()
	return nil
}
