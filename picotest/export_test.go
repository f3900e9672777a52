package picotest

// LeadRaft makes an instance the raft leader, as whoever recorded found it.
func (c *Cluster) LeadRaft(name string) {
	n := c.Node(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raftLeader = n
	c.raftTerm++
	c.publishLocked()
}
