package picodata

import (
	"time"

	"github.com/picodata/go-picodata/metadata"
)

// TopologyStats tells how well the cluster is known.
type TopologyStats = metadata.TopologyStats

// Stats is a snapshot of what the connector does. (*sql.DB).Stats counts sessions, which are cheap; this
// counts what is real. Taking it holds no lock that a statement waits for.
type Stats struct {
	Pool           PoolStats // waits and timeouts
	Total          NodeStats
	Nodes          []NodeStats
	Routing        map[string]uint64 // decisions by name: "routed", "balance", "hint", or why a statement that could have been routed wasn't
	Overflow       map[string]uint64 // leases of nodes of weight 0, by reason
	Statements     StatementStats
	Mirror         MirrorStats // zero without mirror
	Topology       TopologyStats
	DeadLeaders    []DeadLeader // leaders that don't answer and aren't replaced yet
	NoticesDropped uint64       // notices that a slow NoticeHandler had no room for
	Texts          int          // SQL texts remembered
	Eager          bool         // a wrapper hides driver.Validator: leases are per statement
}

// DeadLeader is a leader that doesn't answer and that the cluster hasn't replaced yet: statements that need it wait.
type DeadLeader struct {
	Node       Node
	Replicaset string
	Tier       string
	Since      time.Time // when it was found out
	Waiting    int       // statements that wait for it by their key
}

// StatementStats counts statements by how they ended. A statement that was run again counts once.
type StatementStats struct {
	Succeeded      uint64
	Failed         uint64
	OutcomeUnknown uint64 // of Failed
	Retries        uint64 // attempts after the first, unseen by the caller
	Revived        uint64 // of Retries: the statement had waited since before a leader changed
	Reroutes       uint64 // of Retries: refused under forward=off, then sent to its owner
	BudgetSpent    uint64 // retries left out because too many were needed lately
}

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

// PoolStats counts waits for connections. Counters grow from the connector's beginning.
type PoolStats struct {
	Waits    uint64        // leases that had to wait
	WaitTime time.Duration // how long they waited in all
	Timeouts uint64        // requests ended by acquire_timeout
}

// MirrorStats tells what became of the statements that mirror_mode chose. At rest, when Queued and Running are 0,
// Offered is Sent and the sum of Dropped, and Sent is OK and the sum of Errors. Counters grow from the connector's
// beginning.
type MirrorStats struct {
	// Off says why nothing is mirrored any more; "" while mirroring is on, or if it was never asked for.
	Off      string
	Offered  uint64            // statements of the mode
	Enqueued uint64            // handed over to a mirror connection
	Sent     uint64            // executions that began
	OK       uint64            // and succeeded
	Errors   map[string]uint64 // and failed, by SQLSTATE, or "lost", "timeout", "closed", "local"
	Dropped  map[string]uint64 // by reason: "sampled", "queue", "bytes", "down", "refused", "closed"
	Queued   int               // waiting now
	Running  int               // being executed, or waiting for their connection, now
	Bytes    int               // memory that both take
	// Lag is how long ago the oldest statement was handed over that isn't done yet; 0 if all are.
	Lag          time.Duration
	Conns        int // open mirror connections
	Dials        uint64
	DialFailures uint64

	// With mirror_compare=on every statement that was enqueued ends in one of these.
	Same       uint64 // both sides gave the same
	Different  uint64
	Incomplete uint64 // one side has no complete result: dropped, cancelled, lost, or rows closed early
	// Differences are those of Different by statement fingerprint, the first hundred different ones; the
	// others are together under "other".
	Differences map[string]uint64
}

// Stats returns a snapshot.
func (c *Connector) Stats() Stats {
	p, x := c.gate.Stats(), c.exec.Stats()
	s := Stats{
		Pool:           PoolStats{Waits: p.Waits, WaitTime: p.WaitTime, Timeouts: p.Timeouts},
		Total:          NodeStats(p.Total),
		Nodes:          make([]NodeStats, len(p.Nodes)),
		Routing:        x.Routing,
		Overflow:       p.Overflow,
		Statements:     StatementStats(x.Statements),
		Mirror:         MirrorStats(x.Mirror),
		Topology:       c.cluster.watcher.Stats(),
		NoticesDropped: c.notices.dropped.Load(),
		Texts:          x.Texts,
		Eager:          x.Eager,
	}
	for _, d := range c.exec.Dead() {
		s.DeadLeaders = append(s.DeadLeaders, DeadLeader{Node: nodeOf(d.Node), Replicaset: d.Node.ReplicasetName, Tier: d.Node.Tier, Since: d.Since, Waiting: d.Waiting})
	}
	for i := range p.Nodes {
		s.Nodes[i] = NodeStats(p.Nodes[i])
	}
	return s
}
