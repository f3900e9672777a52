package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
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

	cluster  cluster
	gate     *pool.Gate
	exec     *exec.Executor
	trace    traces
	notices  notices
	onChange atomic.Pointer[func(*metadata.Topology)]

	closed atomic.Bool
	done   context.Context // ends with Close
	end    context.CancelFunc
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
	if own.Logger == nil && own.Log == options.LogStderr {
		own.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	c := &Connector{cfg: own, log: own.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.trace, err = newTraces(c, own.Tracers); err != nil {
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

// build wires the parts together. Nothing runs yet.
func (c *Connector) build() {
	clock := c.cfg.Clock
	if clock == nil {
		clock = options.SystemClock{}
	}
	k := &c.cluster
	k.cfg, k.clock, k.done, k.ready = c.cfg, clock, c.done, make(chan struct{})
	k.onTopology = c.topologyChanged
	c.gate = pool.New(pool.Config{
		Dial:            c.dial,
		Classify:        classifyDial,
		PasswordChanges: wire.PasswordChanges(c.cfg),
		Fresh:           c.fresh,
		Options:         c.cfg,
		Clock:           c.cfg.Clock,
		OnEvent:         c.poolEvent,
	})
	k.admit = c.gate.Admit
	c.exec = exec.New(exec.Parts{
		Options: c.cfg, Clock: clock, Logger: c.log, Pool: c.gate, Cluster: k, Faults: faults{}, Tracer: c.trace.ofStatements(),
	})
	c.notices.handler = c.cfg.NoticeHandler
	k.users = &wire.Config{
		Options:        c.cfg,
		StartupOptions: c.cfg.StartupOptions(c.exec.WantsKeys(), c.cfg.StatementCacheSize > 0 && !postgresOnly(c.cfg)),
		OnNotice:       c.notice,
		Allowed:        allowedBy(c.cfg),
	}
	k.control = &wire.Config{Options: controlOptions(c.cfg), Allowed: allowedBy(c.cfg)}
	k.watcher = watch.New(watch.Config{
		Config:     c.cfg,
		Dial:       k.dialControl,
		Fatal:      fatalDial,
		OnTopology: k.apply,
		OnBuckets:  c.exec.BucketsChanged,
		OnTables:   c.exec.TablesChanged,
		Urgent:     func() bool { return c.exec.Hurt() || c.gate.LeaderEjected() },
		Logger:     c.cfg.Logger,
		Clock:      c.cfg.Clock,
	})
}

// buildMirror makes the mirror if one is configured. How sockets are opened, the clock and the log are the
// connector's; without a DSN of its own the login is, too.
func (c *Connector) buildMirror() error {
	if c.cfg.Mirror == "" && len(c.cfg.MirrorMap) == 0 {
		return nil
	}
	o := c.cfg.Clone()
	var hosts []string
	if c.cfg.Mirror != "" {
		var err error
		if o, err = options.ParseDSN(c.cfg.Mirror); err != nil {
			return err
		}
		if o.DialFunc == nil {
			o.DialFunc = c.cfg.DialFunc
		}
		o.Clock, o.Logger = c.cfg.Clock, c.cfg.Logger
		if err = o.Normalize(); err != nil {
			return err
		}
		for _, h := range o.Hosts {
			hosts = append(hosts, h.Address())
		}
	}
	c.exec.StartMirror(&wire.Config{
		Options:        o,
		StartupOptions: o.StartupOptions(false, o.StatementCacheSize > 0 && !postgresOnly(o)),
	}, hosts, c.trace.ofMirror())
	return nil
}

// topologyChanged hands a new snapshot on. It runs on the watcher's goroutine.
func (c *Connector) topologyChanged(old, topo *metadata.Topology) {
	c.exec.Apply(old, topo)
	c.cluster.applied.Store(topo.Version)
	c.gate.Settled()
	c.trace.topologyChanged(old, topo)
	if f := c.onChange.Load(); f != nil {
		(*f)(topo)
	}
}

// fresh reports whether the gate has the newest snapshot, and it isn't known to be behind.
func (c *Connector) fresh() bool {
	t := c.Topology()
	return t != nil && c.cluster.applied.Load() == t.Version && !c.exec.Unsettled(t)
}

// dial makes a connection for the gate.
func (c *Connector) dial(ctx context.Context, n pool.NodeSpec) (pool.Conn, error) {
	ctx, end := c.trace.dialing(ctx, n)
	w, err := wire.Dial(ctx, c.cluster.users, wire.Target{Address: n.Address, NodeName: n.Name,
		Admit: func(credential string) error { return pool.Admit(ctx, credential) }, Identify: c.cluster.identify(n)})
	if end != nil {
		end(err)
	}
	c.exec.Dialled(n.Info(), err)
	if err != nil {
		return nil, err
	}
	return c.exec.WithMirror(w, n), nil
}

// notice takes what servers say beside their answers.
func (c *Connector) notice(_ *wire.Conn, n options.Notice) {
	if !c.exec.Learn(n.Message) {
		c.notices.put(n)
	}
}

// Connect makes a session. It does no I/O: the session's first statement leases a connection of
// the node chosen for that statement.
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	return &session{c: c, checkout: c.exec.NewCheckout()}, nil
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
	c.exec.Close()
	c.cluster.watcher.Close()
	return c.gate.Close()
}

// Topology returns the snapshot in force: an immutable picture of the cluster. It is nil before the
// first statement or Ping.
func (c *Connector) Topology() *metadata.Topology { return c.cluster.Topology() }

// Buckets returns the bucket map in force: which replicaset holds which bucket. It is immutable, and
// knows nothing before the first statement, without routing, and on servers before 25.5.
func (c *Connector) Buckets() *metadata.BucketMap { return c.cluster.Buckets() }

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

// A Connector holds a Config with a password, and package fmt prints what lies behind unexported pointers for some
// verbs. So a Connector, too, shows nothing but the redacted DSN, whatever the verb.

// String is the redacted DSN.
func (c *Connector) String() string {
	if c == nil {
		return "picodata.Connector(nil)"
	}
	return "picodata.Connector(" + c.cfg.RedactedDSN() + ")"
}

// Format prints String.
func (c *Connector) Format(f fmt.State, _ rune) {
	// A fmt.State that can't be written to has no other way to say so.
	_, _ = io.WriteString(f, c.String())
}

// LogValue is String for log/slog.
func (c *Connector) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Unwrap returns the Connector beneath an *sql.DB, for its Stats, Topology and Explain. It sees through
// wrappers whose driver.Conn has a method Raw() driver.Conn, as otelsql's has.
func Unwrap(db *sql.DB) (*Connector, error) {
	if d, ok := db.Driver().(*Driver); ok && d.of != nil {
		return d.of, nil
	}
	// A wrapper has its own driver.Driver; its sessions lead to ours. Connecting does no I/O.
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, fmt.Errorf("picodata: Unwrap: %w", err)
	}
	var c *Connector
	err = errors.Join(conn.Raw(func(dc any) error {
		c, err = connectorOf(dc)
		return err
	}), conn.Close())
	return c, err
}

func connectorOf(dc any) (*Connector, error) {
	// Each turn looks through one wrapper.
	for range 8 {
		switch v := dc.(type) {
		case Conn:
			return v.Connector(), nil
		case interface{ Raw() driver.Conn }:
			dc = v.Raw()
		default:
			return nil, fmt.Errorf("picodata: Unwrap: %T is no session of this driver and has no method Raw() driver.Conn", dc)
		}
	}
	return nil, errors.New("picodata: Unwrap: too many wrappers")
}

// poolEvent logs what happens in the gate, and has the topology read again where that may explain it.
func (c *Connector) poolEvent(e pool.Event) {
	switch e.Kind {
	case pool.DialFailed, pool.NodeEjected:
		c.cluster.Hint(schema.HintConnectionLost)
	}
	logEvent(c.done, c.log, e)
}
