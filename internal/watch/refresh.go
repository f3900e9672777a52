package watch

import (
	"context"
	"errors"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// loopState belongs to the loop's goroutine.
type loopState struct {
	conn     Conn
	connTo   Target    // InstanceUUID is who answered, not who was expected
	connEnds time.Time // when the connection has lived long enough

	seeds       []string          // addresses of the DSN
	seen        map[string]string // address → uuid of the instance that answered there last
	asks        map[string]*ask   // by address
	unreachable map[string]bool   // uuid and address of instances already told of
	avoid       string            // address that failed last: tried last
	pace        pace
	patience    int // hinted refreshes that may bring nothing new before another node is asked
	older       int // readings in a row that lagged behind the snapshot in force
	idle        int // hinted refreshes in a row that brought nothing new
	failing     bool

	tiers       map[string]*tierState
	tablesAt    time.Time
	tablesTried bool
	// tablesMark is that of the last reading, tablesPending that it showed unfinished DDL.
	tablesMark    tablesMark
	tablesPending bool

	grants  map[string]bool // already told of
	hanging string          // replicasets without a replica already told of
}

// outcome of one refresh.
type outcome struct {
	err       error
	fatal     error // part of err that every node would give
	changed   bool
	switching bool
}

// run is the loop: the only goroutine that queries, so there is one query at a time.
func (w *Watcher) run() {
	defer close(w.done)
	defer w.beside.Wait()
	defer w.dropConn()
	hinted := false
	for w.ctx.Err() == nil {
		out := w.refresh()
		if w.ctx.Err() != nil {
			return
		}
		if out.err == nil && !w.options.Topology {
			w.announceAttempt(out) // the list is fixed from here on
			return
		}
		w.askAround(w.Topology())
		w.noteHint(hinted, out)
		w.announceAttempt(out)
		regular, gap := w.loop.pace.next(out, hinted, w.interval, w.jitter)
		hinted = w.pause(regular, gap)
	}
}

// pause waits for the next refresh: regular, or earlier on a hint but not before gap. It
// reports whether a hint ended it. Meanwhile it takes in identities of seeds.
func (w *Watcher) pause(regular, gap time.Duration) (hinted bool) {
	wake := make(chan struct{}, 1)
	ring := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	start := w.clock.Now()
	timer := w.clock.AfterFunc(regular, ring)
	defer func() { timer.Stop() }()
	hints := w.hints
	for {
		select {
		case <-w.ctx.Done():
			return false
		case s := <-w.found:
			w.learn(s)
		case <-wake:
			return hinted
		case <-hints:
			hinted, hints = true, nil
			passed := w.clock.Now().Sub(start)
			if gap <= passed {
				return true
			}
			if gap < regular {
				timer.Stop()
				timer = w.clock.AfterFunc(gap-passed, ring)
			}
		}
	}
}

// noteHint leaves a control node that answers hint after hint with nothing new: it may be
// cut off from the cluster and not know it.
func (w *Watcher) noteHint(hinted bool, out outcome) {
	const first, most = 4, 64 // if every node says the same, ask around less and less
	if out.err != nil || out.changed || w.loop.patience == 0 {
		w.loop.idle, w.loop.patience = 0, first
	}
	if !hinted {
		return
	}
	if w.loop.idle++; w.loop.idle >= w.loop.patience {
		w.loop.idle, w.loop.patience = 0, min(2*w.loop.patience, most)
		w.leaveNode()
	}
}

// announceAttempt wakes those who wait in Start.
func (w *Watcher) announceAttempt(out outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fatal = out.fatal
	close(w.attempted)
	w.attempted = make(chan struct{})
}

// refresh reads a snapshot, over the control connection if there is one, else or if that
// fails over others, and puts it in force.
func (w *Watcher) refresh() (out outcome) {
	const tries = 3 // the old connection, one to a node that may turn out frozen, one more
	var errs attempts
	for range tries {
		if w.ctx.Err() != nil {
			return outcome{err: ErrClosed}
		}
		if w.loop.conn != nil && w.clock.Now().After(w.loop.connEnds) {
			w.leaveNode()
		}
		if w.loop.conn == nil {
			err, fatal := w.connect()
			if err != nil {
				errs = append(errs, err)
				out.fatal = fatal
				break
			}
		}
		t, err := w.source.Read(w.ctx, w.querier(), w.loop.connTo)
		if err != nil {
			errs = append(errs, &metadata.NodeError{Node: w.loop.connTo.Address, Err: err})
			w.leaveNode()
			continue
		}
		if w.lagsBehind(t) {
			errs = append(errs, &metadata.NodeError{Node: w.loop.connTo.Address, Err: errOlder})
			w.leaveNode()
			continue
		}
		if w.Topology() == nil {
			w.askAround(t)
			w.collect(firstGrace)
			// Start waits for the buckets too, so that the first statements can be routed, but not for long.
			late := w.clock.AfterFunc(firstGrace, func() { w.announceAttempt(outcome{}) })
			defer late.Stop()
		}
		if in, ok := t.Instance(w.loop.connTo.InstanceUUID); ok {
			t.ReadFrom = in.Name
			if in.State != metadata.Online {
				w.leaveNode() // it is on its way out: ask another one next time
			}
		}
		out.changed = w.publish(t)
		w.noteSuccess()
		out.switching = switching(t)
		if w.loop.conn != nil && !t.Static {
			w.refreshBuckets()
		}
		if w.loop.conn != nil {
			w.refreshTables()
		}
		return out
	}
	out.err = errs
	w.noteFailure(out.err)
	return out
}

// errOlder: the node that answered knows less than the snapshot in force.
var errOlder = errors.New("its system tables lag behind what another node told")

// lagsBehind tells whether t is older than the snapshot in force. System tables are read
// locally, so a node that is cut off tells of the past without an error. Three in a row are believed: a
// cluster may have been set back.
func (w *Watcher) lagsBehind(t *metadata.Topology) bool {
	const believed = 3
	if old := w.Topology(); old == nil || !olderThan(t, old) {
		w.loop.older = 0
		return false
	}
	w.mu.Lock()
	w.stats.Stale++
	w.mu.Unlock()
	if w.loop.older++; w.loop.older >= believed {
		w.loop.older = 0
		return false
	}
	return true
}

// olderThan tells whether some counters of t that never go back are behind those of old and none is ahead.
func olderThan(t, old *metadata.Topology) bool {
	behind := false
	for i := range t.Instances {
		n := &t.Instances[i]
		o, ok := old.Instance(n.UUID)
		switch {
		case !ok || n.Incarnation > o.Incarnation:
			return false
		case n.Incarnation < o.Incarnation:
			behind = true
		}
	}
	for i := range t.Replicasets {
		n := &t.Replicasets[i]
		o, ok := old.Replicaset(n.UUID)
		switch {
		case !ok:
			return false
		case n.ConfigVersion == 0 || o.ConfigVersion == 0: // not read
		case n.ConfigVersion > o.ConfigVersion:
			return false
		case n.ConfigVersion < o.ConfigVersion:
			behind = true
		}
	}
	return behind
}

// switching tells whether a replicaset is between two leaders.
func switching(t *metadata.Topology) bool {
	for i := range t.Replicasets {
		if t.Replicasets[i].Switching {
			return true
		}
	}
	return false
}

// publish puts t in force and tells who wants to know. It reports whether t says anything new.
func (w *Watcher) publish(t *metadata.Topology) (changed bool) {
	old := w.Topology()
	t.Seeds = w.seedList(t)
	w.forgetAddresses(t)
	if t.Static && old != nil && !old.Static {
		// The right was taken away: the nodes that are known stay in use.
		keep := *old
		keep.Denied = t.Denied
		t = &keep
	}
	if old != nil && old.Equal(t) {
		t.Version = old.Version
		w.topology.Store(t)
		w.noteSnapshot(t)
		return false
	}
	t.Version = 1
	if old != nil {
		t.Version = old.Version + 1
	}
	w.topology.Store(t)
	w.noteSnapshot(t)
	w.logChanges(old, t)
	w.noteUnreachable(t)
	if w.config.OnTopology != nil {
		w.config.OnTopology(old, t)
	}
	return true
}

// noteSnapshot keeps in Stats what the snapshot says of the driver's own lacks.
func (w *Watcher) noteSnapshot(t *metadata.Topology) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.SkippedRows = t.Skipped
	w.stats.WithoutReplica = nil
	if w.options.ReadPreference == options.ReadPreferenceReplica {
		w.stats.WithoutReplica = metadata.ReplicasetsWithoutReplica(t)
	}
}

func (w *Watcher) noteSuccess() {
	w.mu.Lock()
	w.stats.Refreshes++
	w.mu.Unlock()
	if w.loop.failing {
		w.loop.failing = false
		w.log.Info("picodata: topology is fresh again", "address", w.loop.connTo.Address)
	}
}

func (w *Watcher) noteFailure(err error) {
	if w.ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	w.stats.Failures++
	w.stats.LastError = err.Error()
	w.stats.LastErrorAt = w.clock.Now()
	w.lastError = err
	w.mu.Unlock()
	if !w.loop.failing { // once for a whole outage
		w.loop.failing = true
		w.log.Warn("picodata: topology can't be refreshed, the last one stays in force", "error", err)
	}
}

// querier gives each query of a refresh its own deadline.
func (w *Watcher) querier() Querier { return bounded{w} }

type bounded struct{ w *Watcher }

func (b bounded) Query(ctx context.Context, sql string) (*Result, error) {
	ctx, stop := within(ctx, b.w.clock, b.w.config.QueryTimeout)
	defer stop()
	res, err := b.w.loop.conn.Query(ctx, sql)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // an answer that came too late is no reason to trust the connection
	}
	return res, err
}

// pace says how long to wait after a refresh. It holds no clock and no randomness.
type pace struct {
	failures int
	settling int // refreshes in a row that found a replicaset switching
	barren   int // hinted refreshes in a row that brought nothing new
}

// Waits of the pace.
const (
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 2 * time.Second  // so that the end of an outage is noticed soon
	fatalRetry  = 10 * time.Second // a wrong password: four of them lock the user on a server
	firstSettle = 100 * time.Millisecond
	firstGap    = 50 * time.Millisecond
	lastGap     = time.Second
)

// next returns the wait until the regular refresh, and the least wait until one that a hint asks for.
func (p *pace) next(out outcome, hinted bool, interval time.Duration, jitter func(time.Duration) time.Duration) (regular, gap time.Duration) {
	if hinted && !out.changed {
		p.barren++
	} else {
		p.barren = 0
	}
	gap = doubled(firstGap, p.barren, lastGap)
	switch {
	case out.fatal != nil:
		p.failures++
		regular = jitter(max(interval, fatalRetry))
		return regular, regular
	case out.err != nil:
		p.failures++
		regular = jitter(doubled(firstRetry, p.failures-1, min(interval, lastRetry)))
		return regular, min(gap, regular)
	}
	p.failures = 0
	switch {
	case out.switching:
		if out.changed {
			p.settling = 0
		}
		regular = jitter(doubled(firstSettle, p.settling, interval))
		p.settling++
	default:
		p.settling = 0
		regular = jitter(interval)
	}
	return regular, gap
}

// doubled is d doubled n times, but no more than most.
func doubled(d time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	return min(d, most)
}

// jitter spreads d over ±20 %, so that clients that began together don't ask together.
func (w *Watcher) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*w.config.Rand.Float64()))
}
