package watch

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
)

// ErrClosed: the Watcher was closed.
var ErrClosed = errors.New("picodata: the topology watcher is closed")

// state is what the loop shares with those who ask the Watcher.
type state struct {
	topology atomic.Pointer[metadata.Topology]
	buckets  atomic.Pointer[metadata.BucketMap]
	tables   atomic.Pointer[map[string]schema.Table]
	hints    chan struct{} // room for one: hints coalesce

	mu           sync.Mutex
	attempted    chan struct{} // closed and replaced with every refresh, good or bad
	fatal        error         // of the last refresh, if Fatal says so
	failures     int           // refreshes in a row that failed
	reached      bool          // a node has taken a login
	lastError    error         // of the last refresh that failed
	stats        metadata.TopologyStats
	wantBuckets  bool
	wantTables   bool
	lost         bool // a connection was, or none could be made
	rows         bool // INSERTs of several rows are met: tables are to be known whatever servers tell of single rows
	tablesDenied bool // _pico_table may not be read
}

func newState() *state {
	return &state{hints: make(chan struct{}, 1), attempted: make(chan struct{})}
}

// count changes the counters.
func (s *state) count(f func(*metadata.TopologyStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

// hint takes in why something may be outdated and wakes the loop. It never blocks.
func (s *state) hint(reason schema.Reason) {
	s.mu.Lock()
	switch reason {
	case schema.HintNoNode, schema.HintSwitchover: // the topology, which is read in any case
	case schema.HintBuckets, schema.HintUnknownReplicaset:
		s.wantBuckets = true
	case schema.HintRows:
		if s.rows {
			s.mu.Unlock()
			return
		}
		s.rows, s.wantTables = true, true
	case schema.HintTables:
		s.wantTables = true
	case schema.HintConnectionLost:
		s.lost = true
	}
	s.stats.Hints++
	s.mu.Unlock()
	s.ring()
}

func (s *state) ring() {
	select {
	case s.hints <- struct{}{}:
	default:
	}
}

// tablesWanted tells whether a statement has asked for the tables.
func (s *state) tablesWanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wantTables
}

// takeLost tells, once, whether a connection was lost.
func (s *state) takeLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.lost
	s.lost = false
	return lost
}

// rowsSeen tells whether an INSERT of several rows was met.
func (s *state) rowsSeen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// announceAttempt wakes those who wait in Start.
func (s *state) announceAttempt(fatal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fatal = fatal
	close(s.attempted)
	s.attempted = make(chan struct{})
}
