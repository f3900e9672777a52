package mirror

import (
	"context"
	"database/sql/driver"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/options"
)

// Conn is a connection to a mirror node. It belongs to one goroutine; only Close may come from another.
type Conn interface {
	Query(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error)
	Exec(ctx context.Context, sql string, args []driver.NamedValue) (driver.Result, error)
	Usable() bool // fit for another statement
	Alive() bool  // the idle socket still has a peer; looks without waiting
	Close() error // waits for nobody
}

// Config configures a Mirror.
type Config struct {
	// Hosts are the host:port that lines without a target of their own connect to, in turn.
	Hosts []string
	// Dial connects and logs in. It obeys its context, and bounds itself in time.
	Dial func(ctx context.Context, address string) (Conn, error)
	// Ours tells whether an instance, by its uuid, belongs to the cluster whose traffic is mirrored.
	Ours func(instanceUUID string) bool
	// Options gives MirrorRatio, MirrorQueue, MirrorQueueBytes and MirrorCompare.
	Options *options.Config
	// Clock is options.SystemClock if nil.
	Clock options.Clock
	// Logger may be nil.
	Logger *slog.Logger
	// OnExecuted hears of each statement that the mirror was sent, when it is over, on its connection's goroutine.
	// nil: nobody does.
	OnExecuted func(Executed)
	// Seed makes the choice of statements by MirrorRatio repeatable.
	Seed uint64
}

// Mirror is the shadow side of a connector. All methods are safe for concurrent use.
type Mirror struct {
	cfg    Config
	log    *slog.Logger
	clock  options.Clock
	sample sampler
	seed   maphash.Seed // of digests
	count  counters
	off    atomic.Pointer[string]
	next   atomic.Uint64 // whose turn it is among Hosts

	mu      sync.Mutex
	targets map[string]*target
	lines   map[*Line]struct{} // with a worker
	login   pause              // after a refused login, for all targets
	closed  bool
	work    sync.WaitGroup

	proven  atomic.Bool   // the user was let in since the last refusal, to another cluster
	alone   chan struct{} // the right to dial while unproven
	several chan struct{} // and after
}

// How many dials may be under way at a time. Four refused logins in a row lock a user, and a mirror that is the
// cluster itself wants no connection at all, so it is one until one has been let in and knows where it is.
const maxDials = 4

// closeWait is how long Close waits for the workers. They end at once unless a dial function of the user's
// ignores its context.
const closeWait = 250 * time.Millisecond

// New makes a Mirror. It does no I/O and starts nothing.
func New(cfg Config) *Mirror {
	m := &Mirror{
		cfg:     cfg,
		log:     cfg.Logger,
		clock:   cfg.Clock,
		seed:    maphash.MakeSeed(),
		targets: make(map[string]*target),
		lines:   make(map[*Line]struct{}),
		alone:   make(chan struct{}, 1),
		several: make(chan struct{}, maxDials),
	}
	m.sample.ratio, m.sample.seed = cfg.Options.MirrorRatio, cfg.Seed
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.clock == nil {
		m.clock = options.SystemClock{}
	}
	return m
}

// Line makes the mirror side of a physical connection. address is its one target; "": the hosts in turn. It is
// nil if there are none: nothing is mirrored then.
func (m *Mirror) Line(address string) *Line {
	addresses := []string{address}
	if address == "" {
		n := len(m.cfg.Hosts)
		if n == 0 {
			return nil
		}
		first := int(m.next.Add(1)-1) % n
		addresses = append(append(addresses[:0], m.cfg.Hosts[first:]...), m.cfg.Hosts[:first]...)
	}
	l := &Line{m: m, targets: make([]*target, len(addresses))}
	l.cond.L = &l.mu
	l.ctx, l.cancel = context.WithCancel(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range addresses {
		t := m.targets[a]
		if t == nil {
			t = &target{address: a}
			m.targets[a] = t
		}
		l.targets[i] = t
	}
	return l
}

// TurnOff ends mirroring for good. The first reason stays.
func (m *Mirror) TurnOff(err error) {
	why := err.Error()
	if m.off.CompareAndSwap(nil, &why) {
		m.log.Error("picodata: mirroring is off", slog.Any("error", err))
	}
}

// Stats takes a snapshot.
func (m *Mirror) Stats() Stats {
	var s Stats
	now := m.clock.Now()
	m.mu.Lock()
	for l := range m.lines {
		l.addTo(&s, now)
	}
	m.mu.Unlock()
	// After the lines, so that what they had done by then is counted.
	m.count.fill(&s)
	if off := m.off.Load(); off != nil {
		s.Off = *off
	}
	return s
}

// Close ends everything at once: what waits is dropped, what runs is given up. It takes a
// quarter of a second at most.
func (m *Mirror) Close() {
	m.mu.Lock()
	m.closed = true
	for l := range m.lines {
		l.stop()
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.work.Wait()
		close(done)
	}()
	limit := time.NewTimer(closeWait)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}

// background runs f unless the mirror is closed.
func (m *Mirror) background(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Go(f)
	return true
}

// drop counts a statement that won't be sent.
func (m *Mirror) drop(why Reason) { m.count.dropped[why].Add(1) }
