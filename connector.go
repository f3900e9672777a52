package picodata

import (
	"context"
	"database/sql/driver"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/watch"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Connector is a client of one cluster: it owns the physical connections, which its sessions lease.
// Give it to sql.OpenDB; (*sql.DB).Close closes it. It is safe for concurrent use.
type Connector struct {
	driver *Driver
	cfg    *options.Config
	log    *slog.Logger
	clock  options.Clock

	gate    *pool.Gate
	watcher *watch.Watcher
	wire    *wire.Config // of users' connections
	control *wire.Config // of the topology's
	texts   *textCache
	routing routing
	mirror  *mirror.Mirror // nil: none
	roles   roles
	stuck   stuck
	count   counters
	trace   traces
	notices notices

	ready     chan struct{} // closed once the gate knows nodes
	readyOnce sync.Once
	applied   atomic.Uint64 // version of the snapshot that the gate has
	plainOnce sync.Once
	fixed     atomic.Pointer[metadata.Topology] // the snapshot of plain, which never changes
	onChange  atomic.Pointer[func(*metadata.Topology)]

	// eager: some middleware hides driver.Validator, through which database/sql says that a checkout
	// is over. Then a lease ends with its operation.
	eager atomic.Bool

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   atomic.Bool
	done     context.Context // ends with Close
	end      context.CancelFunc
}

var (
	_ driver.Connector = (*Connector)(nil)
	_ io.Closer        = (*Connector)(nil)
)

// NewConnector makes a connector of a Config and further options. The Config is copied and checked whole, wherever its
// values come from: each fault is a *ConfigError, joined if there are several. It does no I/O and starts no goroutine: the first statement does.
func NewConnector(cfg *Config, opts ...Option) (*Connector, error) {
	if cfg == nil {
		cfg = options.New()
	}
	own := cfg.Clone()
	if err := own.Apply(opts...); err != nil {
		return nil, err
	}
	if err := own.Validate(); err != nil {
		return nil, err
	}
	c := &Connector{
		cfg:      own,
		log:      own.Logger,
		clock:    own.Clock,
		ready:    make(chan struct{}),
		sessions: make(map[*session]struct{}),
		texts:    newTextCache(own.QueryMetadataCacheSize, own.StripComments),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.clock == nil {
		c.clock = options.SystemClock{}
	}
	var err error
	if c.trace, err = newTraces(own.Tracers); err != nil {
		return nil, err
	}
	c.driver = &Driver{of: c}
	c.done, c.end = context.WithCancel(context.Background())
	c.build()
	if err := c.buildMirror(); err != nil {
		return nil, err
	}
	for _, w := range own.Warnings() {
		c.log.Warn("picodata: questionable setting", "warning", w)
	}
	return c, nil
}

// Connect makes a session. It does no I/O: the session's first statement leases a connection of
// the node chosen for that statement.
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	s := &session{c: c}
	c.mu.Lock()
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	return s, nil
}

// Driver returns the driver that the connector belongs to.
func (c *Connector) Driver() driver.Driver { return c.driver }

// Close closes the idle connections at once, those in use when they are released or after
// drain_timeout, and ends everything that the connector has started. It returns within about a second.
// (*sql.DB).Close calls it. Closing again does nothing.
func (c *Connector) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.end()
	c.roles.stop()
	c.stuck.stop()
	c.watcher.Close()
	if c.mirror != nil {
		c.mirror.Close()
	}
	return c.gate.Close()
}

// Topology returns the snapshot in force: an immutable picture of the cluster. It is nil before the
// first statement or Ping.
func (c *Connector) Topology() *metadata.Topology {
	if t := c.fixed.Load(); t != nil {
		return t
	}
	return c.watcher.Topology()
}

// Buckets returns the bucket map in force: which replicaset holds which bucket. It is immutable, and
// knows nothing before the first statement, without routing, and on servers before 25.5.
func (c *Connector) Buckets() *metadata.BucketMap { return c.watcher.Buckets() }

// Config returns a copy of the configuration in force.
func (c *Connector) Config() *options.Config { return c.cfg.Clone() }

// OnTopologyChange has f called after every change of the topology, with the new snapshot. It replaces
// the function of an earlier call; nil ends it. f runs on the goroutine that reads the topology:
// it must not block, and must not run statements of this connector.
func (c *Connector) OnTopologyChange(f func(*metadata.Topology)) {
	if f == nil {
		c.onChange.Store(nil)
		return
	}
	c.onChange.Store(&f)
}

// forget drops a closed session.
func (c *Connector) forget(s *session) {
	c.mu.Lock()
	delete(c.sessions, s)
	c.mu.Unlock()
}

// goEager switches to a lease per operation, and takes back the leases that sessions hold idly.
func (c *Connector) goEager() {
	if c.eager.Swap(true) {
		return
	}
	c.log.Info("picodata: connections are leased per statement from here on", "reason", "a wrapper of the driver hides driver.Validator", "help", "a sql.Conn is no longer tied to one of them")
	c.mu.Lock()
	all := make([]*session, 0, len(c.sessions))
	for s := range c.sessions {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, s := range all {
		s.releaseIfIdle()
	}
}

// sleep waits for d of the connector's clock, or until ctx or the connector ends.
func (c *Connector) sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	t := c.clock.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done.Done():
		return ErrClosed
	}
}
