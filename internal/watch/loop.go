package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// loop is the only goroutine that reads, so there is one query at a time.
type loop struct {
	config  *Config
	options *options.Config
	source  Source
	clock   options.Clock
	log     *slog.Logger
	state   *state

	pace    *pace
	control *control
	seeds   *seeds
	buckets *bucketReader
	tables  *tableReader
	report  *reporter

	have     *Reading  // the one in force
	distrust bool      // read everything: the connection was lost, and who knows since when nothing was heard
	stale    time.Time // since when every node that answers lags behind the snapshot in force; zero: none does
	patience int       // hinted refreshes that may bring nothing new before another node is asked
	idle     int       // hinted refreshes in a row that brought nothing new
	failing  bool
	done     chan struct{} // closed when the loop has ended
}

func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	defer l.seeds.beside.Wait()
	defer l.control.drop()
	hinted := false
	for ctx.Err() == nil {
		l.move(ctx)
		out := l.refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if out.err == nil && !l.options.Topology {
			l.state.announceAttempt(out.fatal) // the list is fixed from here on
			return
		}
		t := l.state.topology.Load()
		l.seeds.askAround(ctx, t)
		l.noteHint(hinted, out)
		l.state.announceAttempt(out.fatal)
		l.control.settle(t)
		if out.err == nil && l.config.Urgent != nil && l.config.Urgent() {
			out.calm = leaderless
		}
		regular, gap := l.pace.next(out, hinted)
		hinted = l.pause(ctx, regular, gap)
	}
}

// move moves the connection to the node that this client is to ask, if it is time.
func (l *loop) move(ctx context.Context) {
	before := l.control.conn
	l.control.moveHome(ctx)
	if l.control.conn != before {
		l.seeds.met(l.control.to)
	}
}

// pause waits for the next refresh: regular, or earlier on a hint but not before gap, or when a move is
// due. It reports whether a hint ended it. Meanwhile it takes in identities of seeds.
func (l *loop) pause(ctx context.Context, regular, gap time.Duration) (hinted bool) {
	wake := make(chan struct{}, 1)
	ring := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	start := l.clock.Now()
	if at := l.control.moveAt; !at.IsZero() {
		regular = max(min(regular, at.Sub(start)), 0)
	}
	timer, ends := l.clock.AfterFunc(regular, ring), regular
	defer func() { timer.Stop() }()
	heard := func() (now bool) {
		hinted = true
		at := gap
		if l.state.tablesWanted() {
			at = min(gap, firstGap) // a statement waits for its table, whatever other hints were in vain
		}
		passed := l.clock.Now().Sub(start)
		if at <= passed {
			return true
		}
		if at < ends {
			timer.Stop()
			timer, ends = l.clock.AfterFunc(at-passed, ring), at
		}
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case s := <-l.seeds.found:
			l.learn(ctx, s)
		case <-wake:
			return hinted
		case <-l.state.hints:
			if heard() {
				return true
			}
		case <-l.source.News():
			if heard() {
				return true
			}
		}
	}
}

// learn takes in who answers at an address and, if it changes what is known of the DSN's nodes, publishes it.
func (l *loop) learn(ctx context.Context, found metadata.Seed) {
	l.seeds.learn(found)
	old := l.state.topology.Load()
	if old == nil {
		return // on its way: the first snapshot takes it along
	}
	next := *old
	if next.Seeds = l.seeds.known(old); !slices.Equal(next.Seeds, old.Seeds) {
		l.publish(ctx, &next)
	}
	l.seeds.noteUnreachable(l.state.topology.Load())
}

// noteHint leaves a control node that answers hint after hint with nothing new: it may be
// cut off from the cluster and not know it.
func (l *loop) noteHint(hinted bool, out outcome) {
	const first, most = 4, 64 // if every node says the same, ask around less and less
	if out.err != nil || out.changed || l.patience == 0 {
		l.idle, l.patience = 0, first
	}
	if !hinted {
		return
	}
	if l.idle++; l.idle >= l.patience {
		l.idle, l.patience = 0, min(2*l.patience, most)
		l.control.leave() // the next one's mark tells whether this one has missed something
	}
}

// leave closes the connection to a node in trouble.
func (l *loop) leave() {
	l.control.leave()
	l.distrust = true
}

// refresh reads a snapshot, over the control connection if there is one, else or if that
// fails over others, and puts it in force.
func (l *loop) refresh(ctx context.Context) (out outcome) {
	const tries = 3 // the old connection, one to a node that may turn out frozen, one more
	var errs attempts
	for range tries {
		if ctx.Err() != nil {
			return outcome{err: ErrClosed}
		}
		if l.control.conn != nil && l.clock.Now().After(l.control.ends) {
			l.control.drop()
		}
		if l.control.conn == nil {
			err, fatal := l.control.connect(ctx, l.control.targets(l.state.topology.Load(), l.seeds.targets()))
			if err != nil {
				errs = append(errs, err)
				out.fatal = fatal
				break
			}
			l.seeds.met(l.control.to)
		}
		have := l.have
		// An address changes no mark: who can't be connected to may have moved.
		if l.distrust || have != nil && l.clock.Now().Sub(have.Whole) >= l.pace.interval && l.state.takeLost() {
			have = nil
		}
		at := l.control.to
		now, err := l.source.Read(ctx, l.control, at, have)
		if err == nil && l.lagsBehind(now.Topology) {
			err = errOlder
		}
		if err != nil {
			errs = append(errs, &metadata.NodeError{Node: at.Address, Err: err})
			l.leave()
			continue
		}
		out.changed = l.take(ctx, now)
		out.calm = calmOf(l.state.topology.Load())
		return out
	}
	out.err = errs
	l.noteFailure(ctx, out.err)
	return out
}

// take puts a reading in force, and reads what else has changed with it.
func (l *loop) take(ctx context.Context, now *Reading) (changed bool) {
	t := now.Topology
	if l.state.topology.Load() == nil {
		l.seeds.askAround(ctx, t)
		l.seeds.collect(ctx, firstGrace)
		// Start waits for the buckets too, so that the first statements can be routed, but not for long.
		late := l.clock.AfterFunc(firstGrace, func() { l.state.announceAttempt(nil) })
		defer late.Stop()
	}
	alive := true
	if in, ok := t.Instance(l.control.to.InstanceUUID); ok {
		t.ReadFrom = in.Name
		alive = staying(in)
	}
	changed = l.publish(ctx, t)
	l.have, l.distrust = now, false
	l.noteSuccess(now.Rows)
	if !t.Static && !l.buckets.refresh(ctx, l.control, l.state.topology.Load()) {
		l.leave()
		return changed
	}
	if !l.tables.refresh(ctx, l.control, now) {
		l.leave()
		return changed
	}
	if !alive {
		l.control.avoid = l.control.to.Address // it is on its way out: ask another one next time
		l.control.drop()
	}
	return changed
}

// errOlder: the node that answered knows less than the snapshot in force.
var errOlder = errors.New("its system tables lag behind what another node told")

// setBack is how long nobody may know the snapshot in force, though nodes answer, until they are believed: then the cluster
// was set back, from a backup.
const setBack = 5 * time.Minute

// lagsBehind tells whether t is older than the snapshot in force.
func (l *loop) lagsBehind(t *metadata.Topology) bool {
	if !behind(t, l.state.topology.Load()) {
		l.stale = time.Time{}
		return false
	}
	l.state.count(func(s *metadata.TopologyStats) { s.Stale++ })
	now := l.clock.Now()
	if l.stale.IsZero() {
		l.stale = now
	}
	if now.Sub(l.stale) < setBack {
		return true
	}
	l.stale = time.Time{}
	l.log.Warn("picodata: cluster was set back, an older topology is taken", "address", l.control.to.Address, "help", "no node has known the newer one for "+setBack.String())
	return false
}

// publish puts t in force and tells who wants to know. It reports whether t says anything new.
func (l *loop) publish(ctx context.Context, t *metadata.Topology) (changed bool) {
	old := l.state.topology.Load()
	t.Seeds = l.seeds.known(t)
	l.seeds.forget(t)
	if t.Static && old != nil && !old.Static {
		// The right was taken away: the nodes that are known stay in use.
		keep := *old
		keep.Denied = t.Denied
		t = &keep
	}
	if old != nil && old.Equal(t) {
		t.Version = old.Version
		l.state.topology.Store(t)
		l.noteSnapshot(t)
		return false
	}
	t.Version = 1
	if old != nil {
		t.Version = old.Version + 1
	}
	l.state.topology.Store(t)
	l.noteSnapshot(t)
	l.report.changes(ctx, old, t)
	l.seeds.noteUnreachable(t)
	if l.config.OnTopology != nil {
		l.config.OnTopology(old, t)
	}
	return true
}

// noteSnapshot keeps in Stats what the snapshot says of the driver's own lacks.
func (l *loop) noteSnapshot(t *metadata.Topology) {
	l.state.count(func(s *metadata.TopologyStats) {
		s.SkippedRows = t.Skipped
		s.WithoutReplica = nil
		if l.options.ReadPreference == options.ReadPreferenceReplica {
			s.WithoutReplica = metadata.ReplicasetsWithoutReplica(t)
		}
	})
}

func (l *loop) noteSuccess(rows bool) {
	l.state.count(func(s *metadata.TopologyStats) {
		s.Refreshes++
		if rows {
			s.Readings++
		}
	})
	if l.failing {
		l.failing = false
		l.log.Info("picodata: topology is fresh again", "address", l.control.to.Address)
	}
}

func (l *loop) noteFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.state.mu.Lock()
	s := &l.state.stats
	s.Failures++
	s.LastError = err.Error()
	s.LastErrorAt = l.clock.Now()
	l.state.lastError = err
	l.state.failures++
	l.state.mu.Unlock()
	if !l.failing { // once for a whole outage
		l.failing = true
		l.log.Warn("picodata: topology can't be refreshed, the last one stays in force", "error", err)
	}
}
