package mirror

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Reason says why a statement wasn't sent to the mirror.
type Reason uint8

// The reasons, in the words of Stats.Dropped.
const (
	Sampled Reason = iota // not in the share that mirror_ratio asks for
	Queue                 // mirror_queue statements wait already
	Bytes                 // mirror_queue_bytes are taken already
	Down                  // no mirror node can be connected to now
	Refused               // mirroring is off: Stats.Off says why
	Closed                // its connection or the connector was closed first
	reasons
)

var reasonNames = [reasons]string{"sampled", "queue", "bytes", "down", "refused", "closed"}

// String is the reason's key in Stats.Dropped.
func (r Reason) String() string { return reasonNames[r] }

// Keys of Stats.Errors beside SQLSTATEs.
const (
	errLost    = "lost"    // the connection was lost after the statement was sent
	errTimeout = "timeout" // no answer within a minute
	errClosed  = "closed"  // closed before the answer came
	errLocal   = "local"   // refused by the driver itself: arguments that fit no statement
)

// Stats tells what became of the statements that mirror_mode chose. At rest, when Queued and Running are 0,
// Offered is Sent and the sum of Dropped, and Sent is OK and the sum of Errors. Counters grow from the connector's
// beginning.
type Stats struct {
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

// fingerprints bounds Stats.Differences.
const (
	fingerprints = 100
	otherTexts   = "other"
)

// counters are the numbers of Stats.
type counters struct {
	offered, enqueued, sent, ok, dials, dialFailures atomic.Uint64
	same, different, incomplete                      atomic.Uint64
	dropped                                          [reasons]atomic.Uint64

	mu          sync.Mutex
	errors      map[string]uint64
	differences map[string]uint64
}

func (c *counters) failed(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errors == nil {
		c.errors = make(map[string]uint64)
	}
	c.errors[code]++
}

// differs counts a difference by its fingerprint and gives that one's number so far.
func (c *counters) differs(fingerprint string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.differences == nil {
		c.differences = make(map[string]uint64)
	}
	if _, ok := c.differences[fingerprint]; !ok && len(c.differences) >= fingerprints {
		fingerprint = otherTexts
	}
	c.differences[fingerprint]++
	return c.differences[fingerprint]
}

func (c *counters) fill(s *Stats) {
	// Ends before beginnings: a statement that is on its way meanwhile is missing rather than surplus.
	s.Same, s.Different, s.Incomplete = c.same.Load(), c.different.Load(), c.incomplete.Load()
	s.OK = c.ok.Load()
	c.mu.Lock()
	s.Errors, s.Differences = maps.Clone(c.errors), maps.Clone(c.differences)
	c.mu.Unlock()
	s.Sent = c.sent.Load()
	s.Dropped = make(map[string]uint64)
	for r := range reasons {
		if n := c.dropped[r].Load(); n > 0 {
			s.Dropped[r.String()] = n
		}
	}
	s.Enqueued, s.Offered = c.enqueued.Load(), c.offered.Load()
	s.Dials, s.DialFailures = c.dials.Load(), c.dialFailures.Load()
}
