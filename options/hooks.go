package options

import "time"

// Clock is the time that timers and health decisions are taken from.
type Clock interface {
	Now() time.Time
	// AfterFunc runs f in its own goroutine after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is what Clock.AfterFunc returns. Its Stop and Reset are those of time.Timer.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// SystemClock is the clock of package time. Inside a testing/synctest bubble it is the bubble's.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

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
