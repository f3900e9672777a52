// Package watch keeps what is known of a cluster fresh: it reads the system tables over a connection of its own, at
// intervals and when told that something may have changed, and hands out immutable values of package metadata.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Watcher keeps a snapshot of the cluster fresh. Readers load one pointer and never wait
// for it. It does nothing before Start.
type Watcher struct {
	options *options.Config
	clock   options.Clock
	state   *state
	loop    *loop

	ctx       context.Context // of the loop; ends with Close
	cancel    context.CancelFunc
	startOnce sync.Once
	started   atomic.Bool
}

// New makes a Watcher. It starts no goroutine and opens no connection.
func New(config Config) *Watcher {
	o := config.Config
	clock := config.Clock
	if clock == nil {
		clock = o.Clock
	}
	if clock == nil {
		clock = options.SystemClock{}
	}
	log := config.Logger
	if log == nil {
		log = o.Logger
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if config.QueryTimeout <= 0 {
		config.QueryTimeout = 3 * time.Second
	}
	if config.BucketFloor <= 0 {
		config.BucketFloor = 5 * time.Minute
	}
	if config.Stagger <= 0 {
		config.Stagger = 250 * time.Millisecond
	}
	if config.Rand == nil {
		config.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	st := newState()
	source := config.Source
	if source == nil {
		source = NewSQL(SQLConfig{Config: o, Tables: func(t *metadata.Topology) bool { return tablesNeeded(o, t, st.rowsSeen()) }, Clock: clock, BadRow: func(table, problem string) {
			log.Warn("picodata: a row of a system table can't be used", "table", table, "problem", problem)
		}})
	}
	w := &Watcher{options: o, clock: clock, state: st}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	p := &pace{rand: config.Rand, interval: o.TopologyUpdateInterval}
	if p.interval <= 0 {
		p.interval = 5 * time.Second
	}
	told := &grants{log: log, user: o.User, told: map[string]bool{}}
	c := &control{config: &config, options: o, source: source, clock: clock, log: log, state: st, pace: p, rand: config.Rand, self: config.Rand.Uint64()}
	s := &seeds{options: o, clock: clock, log: log, state: st, pace: p, control: c,
		seen: map[string]string{}, asks: map[string]*ask{}, unreachable: map[string]bool{}, found: make(chan metadata.Seed, 2*len(o.Hosts))}
	for _, h := range o.Hosts {
		s.list = append(s.list, h.Address())
	}
	w.loop = &loop{config: &config, options: o, source: source, clock: clock, log: log, state: st,
		pace: p, control: c, seeds: s,
		buckets: &bucketReader{config: &config, options: o, source: source, clock: clock, log: log, state: st, pace: p},
		tables:  &tableReader{config: &config, options: o, source: source, clock: clock, log: log, state: st, grants: told},
		report:  &reporter{log: log, options: o, grants: told},
		done:    make(chan struct{})}
	return w
}

// Start makes the Watcher run, once, and waits for the first snapshot: until ctx ends if it has a deadline and some
// node has taken a login, for a few attempts otherwise. The Watcher goes on trying, and a later Start finds what
// it found.
// An error that every node would give (Fatal) is returned at once. Any number of callers may wait.
func (w *Watcher) Start(ctx context.Context) error {
	if w.Topology() != nil && w.ctx.Err() == nil {
		return nil
	}
	w.startOnce.Do(func() {
		if w.ctx.Err() == nil {
			w.started.Store(true)
			go w.loop.run(w.ctx)
		}
	})
	_, timed := ctx.Deadline()
	attempts := 0
	for n := 0; ; n++ {
		w.state.mu.Lock()
		attempted, fatal, reached := w.state.attempted, w.state.fatal, w.state.reached
		failed := w.state.failures
		w.state.mu.Unlock()
		if n == 0 {
			attempts = max(startAttempts-failed, 1)
			if failed > 0 { // somebody has waited already: one more look, now
				w.state.ring()
			}
		}
		switch {
		case w.ctx.Err() != nil:
			return ErrClosed
		case w.Topology() != nil:
			return nil
		case fatal != nil:
			return fatal
		case n >= attempts && !reached:
			return w.notStarted(errUnreachable)
		case n >= attempts && !timed:
			return w.notStarted(errNotReady)
		}
		select {
		case <-attempted:
		case <-w.ctx.Done():
		case <-ctx.Done():
			return w.notStarted(context.Cause(ctx))
		}
	}
}

// startAttempts bounds the readings that Start waits for: who names nodes that refuse connections or don't exist, or
// doesn't say how long to wait, would rather hear that the DSN is wrong.
const startAttempts = 3

// The causes of such an end.
var (
	errUnreachable = errors.New("no node could be reached in several attempts")
	errNotReady    = errors.New("no node could tell in several attempts, and the context has no deadline to go on until")
)

// notStarted is Start's error when its context ended first.
func (w *Watcher) notStarted(cause error) error {
	w.state.mu.Lock()
	last := w.state.lastError
	w.state.mu.Unlock()
	if last == nil {
		return fmt.Errorf("picodata: no node has told the cluster's topology yet: %w", cause)
	}
	return fmt.Errorf("picodata: no node has told the cluster's topology yet: %w; last attempt: %w", cause, bare{last})
}

// Topology is the snapshot in force, nil before the first.
func (w *Watcher) Topology() *metadata.Topology { return w.state.topology.Load() }

// Buckets is the bucket map in force; it knows nothing before the first reading.
func (w *Watcher) Buckets() *metadata.BucketMap { return w.state.buckets.Load() }

// Tables is what _pico_table said, by name; nil if it wasn't asked for or may not be read.
func (w *Watcher) Tables() map[string]schema.Table {
	if t := w.state.tables.Load(); t != nil {
		return *t
	}
	return nil
}

// Hint asks for a refresh now. It never blocks; hints that come together make one refresh,
// and refreshes that bring nothing new come at growing distances, a second at most.
// With topology=off it does nothing.
func (w *Watcher) Hint(reason schema.Reason) { w.state.hint(reason) }

// Stats is a reading of the counters.
func (w *Watcher) Stats() metadata.TopologyStats {
	t := w.Topology()
	w.state.mu.Lock()
	s, tablesDenied := w.state.stats, w.state.tablesDenied
	w.state.mu.Unlock()
	if t != nil {
		s.Version, s.ReadFrom, s.Static, s.RolesKnown = t.Version, t.ReadFrom, t.Static, t.RolesKnown
		s.Age = w.clock.Now().Sub(t.ReadAt)
	}
	s.Buckets = w.Buckets().Tiers()
	s.DegradedGrants = t.MissingGrants(w.options.User)
	if tablesDenied {
		s.DegradedGrants = append(s.DegradedGrants, metadata.GrantFor(tableTable, w.options.User))
	}
	return s
}

// Close ends the Watcher and closes its connection. It may be called any number of times, and
// returns within half a second even if a Dial doesn't heed its context.
func (w *Watcher) Close() {
	w.cancel()
	w.startOnce.Do(func() {}) // a Start that comes later starts nothing
	if !w.started.Load() {
		return
	}
	late := make(chan struct{})
	timer := w.clock.AfterFunc(500*time.Millisecond, func() { close(late) })
	defer timer.Stop()
	select {
	case <-w.loop.done:
	case <-late:
	}
}

// Config configures a Watcher.
type Config struct {
	Config *options.Config // required; not changed
	// Dial opens a control connection, login included. It must heed its context, which
	// bounds it by connect_timeout.
	Dial func(ctx context.Context, t Target) (Conn, error)
	// Fatal tells a Dial error that every other node would give too, such as a wrong
	// password: then the others aren't tried, Start returns it, and the next attempt waits. nil = none is.
	Fatal func(error) bool
	// OnTopology hears of every change. old is nil at first. It runs on the Watcher's
	// goroutine: refreshes wait for it, statements don't.
	OnTopology func(old, new *metadata.Topology)
	// OnBuckets hears of every change of the bucket map, on the same goroutine.
	OnBuckets func(*metadata.BucketMap)
	// OnTables hears of every new reading of _pico_table, on the same goroutine; of nil when the user
	// may not read it any more.
	OnTables func(map[string]schema.Table)

	// Urgent, if set, is asked after every reading: true has the next leader looked for at once and at short
	// intervals, because statements wait for one that is known to be dead.
	Urgent func() bool

	Logger *slog.Logger  // nil = Config.Logger, or none
	Clock  options.Clock // nil = Config.Clock, or the system's

	QueryTimeout time.Duration // of each query; 0 = 3s
	BucketFloor  time.Duration // bucket map and tables are read anew after this, less often while the map stays as it is; 0 = 5m
	Stagger      time.Duration // a node may be silent for this before another is dialled beside it, a fifth of it at first; 0 = 250ms
	Rand         *rand.Rand    // for jitter, the random start and the node that is asked; nil = a fresh one
	Stay         bool          // stay at the node that answered first
	Source       Source        // nil = the SQL on system tables
}
