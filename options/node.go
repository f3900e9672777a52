package options

import "time"

// NodeRule is one SELECTOR=INT item of node_weights, node_max_conns or node_priorities.
type NodeRule struct {
	Selector string // an instance name, host:port or tier:NAME
	Value    int
}

// Candidate is a node as a balancing strategy sees it. All of them can take a connection now.
type Candidate struct {
	Index      int    // stable handle of the node inside one node set
	Name       string // instance name
	Address    string
	Tier       string
	Replicaset string
	Leader     bool
	Weight     int // >= 1
	InFlight   int // leases and dials now
	Idle       int
	Latency    time.Duration     // EWMA of round trips; 0 = unknown
	Zone       map[string]string // failure domain; read only
}

// Balancer chooses among candidates. Pick gets at least one candidate and returns a
// position in the slice. It is called with a lock held: it must not block, must not keep
// the slice, and should not allocate. rnd is a uniformly random number.
type Balancer interface {
	Pick(candidates []Candidate, rnd uint64) int
}
