package pool

import (
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/metadata"
)

// NodeStats describes one node, or all of them together. Counters grow from the gate's beginning.
type NodeStats struct {
	ID         string
	Name       string
	Address    string
	Tier       string
	Replicaset string
	Role       metadata.Role
	Weight     int  // as configured; nothing at run time changes it
	Priority   int  // as configured
	Max        int  // cap; 0 = none
	Ejected    bool // not used now, after connection failures
	Leaving    bool // out of the set, draining

	Open     int // idle, in use and draining
	Idle     int
	InUse    int // leased, on a node of the set
	Dialing  int // slots taken for dials
	Draining int // being closed, or leased on a node that left the set
	Waiters  int // requests that wait for a dial of this node; in the total, all that wait

	Leases       uint64
	Waits        uint64        // of Leases: those that had to wait
	WaitTime     time.Duration // how long they waited in all
	Dials        uint64
	DialFailures uint64
	Lost         uint64 // connections that failed in use
	ClosedBy     map[string]uint64
	Overflow     map[string]uint64 // of Leases, by reason, as in Stats; nil: none
	Ejections    uint64
	Latency      time.Duration // EWMA of round trips; 0 = unknown
}

// Stats is a snapshot. Each node's numbers belong together; those of different nodes, and the totals, may be a
// moment apart.
type Stats struct {
	Total    NodeStats   // Name and Latency empty; Max is the cluster's cap
	Nodes    []NodeStats // by tier, replicaset, name
	Waits    uint64      // leases that had to wait
	WaitTime time.Duration
	Timeouts uint64            // requests ended by acquire_timeout
	Overflow map[string]uint64 // leases of nodes of weight 0 ("saturated", "unavailable") and below the first priority ("priority_saturated", "priority_unavailable")
}

// overflowReason says why a lease went to a lower level.
type overflowReason uint8

const (
	overflowSaturated overflowReason = iota
	overflowUnavailable
	prioritySaturated
	priorityUnavailable
	overflowReasons
)

var overflowNames = [overflowReasons]string{"saturated", "unavailable", "priority_saturated", "priority_unavailable"}

// nodeCounters is what Stats reads without the gate's lock.
type nodeCounters struct {
	spec         atomic.Pointer[NodeSpec]
	counts       atomic.Uint64 // idle, in use, dialling, closing: 16 bits each, so that they belong together
	waiters      atomic.Int64
	leases       atomic.Uint64
	waits        atomic.Uint64
	waitTime     atomic.Int64
	overflow     [overflowReasons]atomic.Uint64
	dials        atomic.Uint64
	dialFailures atomic.Uint64
	lost         atomic.Uint64
	ejections    atomic.Uint64
	closed       [closeReasons]atomic.Uint64
	latency      atomic.Int64
	latencyAt    atomic.Int64
	ejected      atomic.Bool
	leaving      atomic.Bool
}

func (c *nodeCounters) store(idle, inUse, dialing, closing int) {
	c.counts.Store(clip(idle) | clip(inUse)<<16 | clip(dialing)<<32 | clip(closing)<<48)
}

func clip(n int) uint64 { return uint64(min(max(n, 0), 1<<16-1)) }

// gateCounters are those that belong to no node.
type gateCounters struct {
	waiters  atomic.Int64
	waits    atomic.Uint64
	waitTime atomic.Int64
	timeouts atomic.Uint64
	max      atomic.Int64
	overflow [overflowReasons]atomic.Uint64
}

// retiredCounters keep the sums of nodes that are gone.
type retiredCounters struct {
	leases, dials, dialFailures, lost, ejections atomic.Uint64
	closed                                       [closeReasons]atomic.Uint64
}

func (r *retiredCounters) add(c *nodeCounters) {
	r.leases.Add(c.leases.Load())
	r.dials.Add(c.dials.Load())
	r.dialFailures.Add(c.dialFailures.Load())
	r.lost.Add(c.lost.Load())
	r.ejections.Add(c.ejections.Load())
	for i := range r.closed {
		r.closed[i].Add(c.closed[i].Load())
	}
}

// Stats takes a snapshot. It takes no lock, so no lease ever waits for it.
func (g *Gate) Stats() Stats {
	list := *g.list.Load()
	s := Stats{
		Nodes:    make([]NodeStats, 0, len(list)),
		Waits:    g.stats.waits.Load(),
		WaitTime: time.Duration(g.stats.waitTime.Load()),
		Timeouts: g.stats.timeouts.Load(),
		Overflow: make(map[string]uint64),
	}
	t := &s.Total
	t.ClosedBy = make(map[string]uint64)
	for _, n := range list {
		s.Nodes = append(s.Nodes, n.count.snapshot())
		x := &s.Nodes[len(s.Nodes)-1]
		t.Open += x.Open
		t.Idle += x.Idle
		t.InUse += x.InUse
		t.Dialing += x.Dialing
		t.Draining += x.Draining
		t.Leases += x.Leases
		t.Dials += x.Dials
		t.DialFailures += x.DialFailures
		t.Lost += x.Lost
		t.Ejections += x.Ejections
		for why, count := range x.ClosedBy {
			t.ClosedBy[why] += count
		}
	}
	r := &g.retired
	t.Leases += r.leases.Load()
	t.Dials += r.dials.Load()
	t.DialFailures += r.dialFailures.Load()
	t.Lost += r.lost.Load()
	t.Ejections += r.ejections.Load()
	for why := range r.closed {
		if n := r.closed[why].Load(); n > 0 {
			t.ClosedBy[closeNames[why]] += n
		}
	}
	t.Waits, t.WaitTime, t.Overflow = s.Waits, s.WaitTime, s.Overflow
	t.Waiters = int(g.stats.waiters.Load())
	t.Max = int(g.stats.max.Load())
	for why := range g.stats.overflow {
		if n := g.stats.overflow[why].Load(); n > 0 {
			s.Overflow[overflowNames[why]] = n
		}
	}
	return s
}

func (c *nodeCounters) snapshot() NodeStats {
	spec := c.spec.Load()
	counts := c.counts.Load()
	s := NodeStats{
		ID: spec.ID, Name: spec.Name, Address: spec.Address, Tier: spec.Tier, Replicaset: spec.Replicaset, Role: spec.Role,
		Weight: spec.Weight, Priority: spec.Priority, Max: spec.MaxConns,
		Ejected: c.ejected.Load(), Leaving: c.leaving.Load(),
		Idle:         int(counts & 0xffff),
		InUse:        int(counts >> 16 & 0xffff),
		Dialing:      int(counts >> 32 & 0xffff),
		Draining:     int(counts >> 48),
		Waiters:      int(c.waiters.Load()),
		Leases:       c.leases.Load(),
		Waits:        c.waits.Load(),
		WaitTime:     time.Duration(c.waitTime.Load()),
		Dials:        c.dials.Load(),
		DialFailures: c.dialFailures.Load(),
		Lost:         c.lost.Load(),
		Ejections:    c.ejections.Load(),
		Latency:      time.Duration(c.latency.Load()),
		ClosedBy:     make(map[string]uint64),
	}
	s.Open = s.Idle + s.InUse + s.Draining
	if s.Leaving {
		s.Draining += s.InUse
		s.InUse = 0
	}
	for why := range c.closed {
		if n := c.closed[why].Load(); n > 0 {
			s.ClosedBy[closeNames[why]] = n
		}
	}
	for why := range c.overflow {
		if n := c.overflow[why].Load(); n > 0 {
			if s.Overflow == nil {
				s.Overflow = make(map[string]uint64)
			}
			s.Overflow[overflowNames[why]] = n
		}
	}
	return s
}

// countOverflow counts a lease below the first level of its class, and why it came to that.
func (g *Gate) countOverflow(l *nodeset.Level, tried []*nodeset.Node, n *node, now int64) {
	overflow, lower, saturated := l.Below(tried)
	var why overflowReason
	switch {
	case overflow && saturated:
		why = overflowSaturated
	case overflow:
		why = overflowUnavailable
	case !lower:
		return
	case saturated:
		why = prioritySaturated
	default:
		why = priorityUnavailable
	}
	g.stats.overflow[why].Add(1)
	n.count.overflow[why].Add(1)
	if overflow {
		if g.cfg.OnEvent != nil && now-g.overflowAt > int64(time.Second) {
			g.event(Event{Kind: OverflowBegan, Node: n.Info, Reason: overflowNames[why]})
		}
		g.overflowAt = now
	}
}
