package picodata

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/watch"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// cluster is what the connector knows of the servers: it starts the watcher with the first statement, and has
// connections made.
type cluster struct {
	cfg     *options.Config
	clock   options.Clock
	watcher *watch.Watcher
	users   *wire.Config // how users' connections are made
	control *wire.Config // how the topology's are
	// admit says whether a password may be tried on a node, which may have refused it just now.
	admit func(address, credential string) error
	// onTopology hears of a new snapshot, on the watcher's goroutine; old is nil at first.
	onTopology func(old, topo *metadata.Topology)

	ready      chan struct{} // closed once the pool knows nodes
	readyOnce  sync.Once
	applied    atomic.Uint64 // version of the snapshot that the pool has
	staticOnce sync.Once
	fixed      atomic.Pointer[metadata.Topology] // the snapshot of a plain PostgreSQL, which never changes
	kin        kin
	done       context.Context // ends with the connector
}

// allowedBy is what allowed_networks says of an address behind a name; nil without it. The user's own DSN
// isn't judged.
func allowedBy(o *options.Config) func(address string, ip netip.Addr) bool {
	if len(o.AllowedNetworks) == 0 {
		return nil
	}
	own := make(map[string]bool, len(o.Hosts))
	for _, h := range o.Hosts {
		own[h.Address()] = true
	}
	return func(address string, ip netip.Addr) bool {
		return own[address] || metadata.NetworkAllowed(o.AllowedNetworks, ip)
	}
}

// postgresOnly reports whether nothing of Picodata's own may go over the wire, so that the driver runs
// on plain PostgreSQL, which has no system tables and refuses startup options that it doesn't know.
func postgresOnly(o *options.Config) bool {
	return o.Mode == options.Bootstrap && !o.Topology && o.Routing == options.RoutingOff &&
		o.InstanceRole == options.RoleAny && len(o.AllowedTiers) == 0 && len(o.ForbiddenTiers) == 0 &&
		o.NoShard.Behavior == options.NoShardBalance
}

// startStatic makes the nodes of the DSN the node set, for good, without asking anybody.
func (k *cluster) startStatic() {
	k.staticOnce.Do(func() {
		t := metadata.Topology{Version: 1, ReadAt: k.clock.Now(), Static: true}
		for _, h := range k.cfg.Hosts {
			t.Seeds = append(t.Seeds, metadata.Seed{Address: h.Address()})
		}
		topo := metadata.Build(t)
		k.fixed.Store(topo)
		k.apply(nil, topo)
	})
}

// Start makes sure that the node set is known. The first caller starts the watcher; all wait for it.
func (k *cluster) Start(ctx context.Context) error {
	select {
	case <-k.ready:
		return nil
	default:
		return k.startSlowly(ctx)
	}
}

func (k *cluster) startSlowly(ctx context.Context) error {
	if postgresOnly(k.cfg) {
		k.startStatic()
		return nil
	}
	if d := k.cfg.AcquireTimeout; d > 0 {
		// context.WithTimeoutCause, on the connector's clock.
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		t := k.clock.AfterFunc(d, func() { cancel(errStartTimeout) })
		defer func() {
			t.Stop()
			cancel(context.Canceled)
		}()
	}
	if err := k.watcher.Start(ctx); err != nil {
		return startError(ctx, err)
	}
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-k.done.Done():
		return ErrClosed
	}
}

// errStartTimeout is the cause when acquire_timeout ended the wait for the first snapshot.
var errStartTimeout = errors.New("acquire_timeout passed")

func startError(ctx context.Context, err error) error {
	if errors.Is(err, watch.ErrClosed) {
		return ErrClosed
	}
	var w *wire.Error
	if errors.As(err, &w) && w.LoginRefused() && ctx.Err() == nil {
		return &AuthError{Node: w.Node, Address: w.Address, Err: w.Cause}
	}
	return err
}

// Topology is the snapshot in force; nil: none yet.
func (k *cluster) Topology() *metadata.Topology {
	if t := k.fixed.Load(); t != nil {
		return t
	}
	return k.watcher.Topology()
}

// Buckets is the bucket map in force.
func (k *cluster) Buckets() *metadata.BucketMap { return k.watcher.Buckets() }

// Probe asks a node over a connection of its own whether it answers.
func (k *cluster) Probe(ctx context.Context, n *pool.NodeInfo) error {
	return wire.Probe(ctx, k.users, wire.Target{Address: n.Address, NodeName: n.Name})
}

// Hint has the topology read again soon.
func (k *cluster) Hint(why schema.Reason) { k.watcher.Hint(why) }

// apply takes a new snapshot. It runs on the watcher's goroutine.
func (k *cluster) apply(old, topo *metadata.Topology) {
	k.onTopology(old, topo)
	k.readyOnce.Do(func() { close(k.ready) })
}

// controlOptions are those of the topology's connection: its statements read system tables only, so
// that the user's limits and preferences must not reach them.
func controlOptions(cfg *options.Config) *options.Config {
	o := cfg.Clone()
	o.ServerOptions, o.ReadPreference, o.Forward = nil, options.ReadPreferenceUnset, options.ForwardUnset
	o.VdbeOpcodeMax, o.MotionRowMax = options.LimitUnset, options.LimitUnset
	o.StatementCacheSize = 0
	return o
}

// classifyDial says what a failed dial means for its node.
func classifyDial(err error) pool.DialOutcome {
	var w *wire.Error
	if !errors.As(err, &w) {
		return pool.DialFailure
	}
	r, _ := servererr.Of(err)
	switch {
	case w.Config:
		return pool.DialFatal
	case w.LoginRefused():
		return pool.DialLogin
	case r.Kind == servererr.Capacity:
		return pool.DialCapacity
	}
	return pool.DialFailure
}

// fatalDial reports whether every other node would give the same error.
func fatalDial(err error) bool {
	switch classifyDial(err) {
	case pool.DialFatal, pool.DialLogin:
		return true
	case pool.DialFailure, pool.DialCapacity:
	}
	return false
}

// controlConn is the topology's connection: outside the pool and its caps.
type controlConn struct{ w *wire.Conn }

func (k *cluster) dialControl(ctx context.Context, t watch.Target) (watch.Conn, error) {
	w, err := wire.Dial(ctx, k.control, wire.Target{Address: t.Address,
		Admit: func(credential string) error { return k.admit(t.Address, credential) }})
	if err != nil {
		return nil, err
	}
	return controlConn{w}, nil
}

// Query runs one statement by the simple protocol and reads all of its answer.
func (c controlConn) Query(ctx context.Context, sql string) (*watch.Result, error) {
	rows, err := c.w.Query(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	res := &watch.Result{Columns: rows.Columns()}
	values := make([]driver.Value, len(res.Columns))
	for {
		err := rows.Next(values)
		if err == io.EOF {
			return res, rows.Close()
		}
		if err != nil {
			_ = rows.Close() // the first error tells more
			return nil, err
		}
		res.Rows = append(res.Rows, ownRow(values))
	}
}

// ownRow is a row that outlives its answer.
func ownRow(values []driver.Value) []any {
	row := make([]any, len(values))
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b) // valid until the next row only
		}
		row[i] = v
	}
	return row
}

// Ask runs statements in one flight.
func (c controlConn) Ask(ctx context.Context, texts []string) ([]watch.Answer, error) {
	pieces := make([]*wire.Piece, len(texts))
	for i, sql := range texts {
		pieces[i] = &wire.Piece{SQL: sql}
	}
	if err := c.w.Ask(ctx, pieces); err != nil {
		return nil, err
	}
	answers := make([]watch.Answer, len(texts))
	for i, p := range pieces {
		if answers[i].Err = p.Err; p.Err != nil {
			continue
		}
		res := &watch.Result{Columns: p.Columns}
		for _, values := range p.Rows {
			res.Rows = append(res.Rows, ownRow(values))
		}
		answers[i].Result = res
	}
	return answers, nil
}

// Close closes the socket.
func (c controlConn) Close() error { return c.w.Close() }

// identify judges who answered a login at the node's address. An instance of the cluster may serve statements, though
// the address was another's a moment ago; anybody else gets none. nil: nobody needs to be asked.
func (k *cluster) identify(n pool.NodeSpec) wire.Identify {
	t := k.Topology()
	switch {
	case t == nil:
		return nil
	case t.Static || len(t.Instances) == 0:
		return k.kin.identify(n.Address)
	}
	return func(uuid string, _ wire.Ask) error {
		if uuid == n.ID {
			return nil
		}
		k.Hint(schema.HintConnectionLost)
		if _, ok := k.Topology().Instance(uuid); ok && uuid != "" {
			return nil
		}
		return &metadata.IdentityError{Address: n.Address, Want: n.ID, Got: uuid}
	}
}

// kin is what tells the instances of one cluster from others where no snapshot does (mode=bootstrap with topology=off):
// those that the first server to answer a login knows, and those that know them. A first server that isn't Picodata is
// a plain PostgreSQL, and nobody is asked after that.
type kin struct {
	mu      sync.Mutex
	foreign bool     // the first to answer wasn't Picodata
	known   []string // uuids of instances that have answered, the first one's first
}

// mostKin bounds the instances of which a new one is asked whether it knows them.
const mostKin = 64

// isUUID: what a server says of itself is put into another one's query.
var isUUID = regexp.MustCompile(`^[0-9a-fA-F-]{36}$`).MatchString

func (k *kin) identify(address string) wire.Identify {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.foreign {
		return nil
	}
	return func(uuid string, ask wire.Ask) error {
		if uuid != "" && !isUUID(uuid) {
			return &metadata.IdentityError{Address: address, Got: uuid}
		}
		k.mu.Lock()
		known := slices.Clone(k.known)
		switch {
		case len(known) == 0 && uuid == "":
			k.foreign = true
		case len(known) == 0 && !k.foreign:
			k.known = append(k.known, uuid)
		}
		k.mu.Unlock()
		switch {
		case len(known) == 0 || slices.Contains(known, uuid):
			return nil
		case uuid == "":
			return &metadata.IdentityError{Address: address}
		}
		n, err := ask(fmt.Sprintf("SELECT count(*) FROM _pico_instance WHERE uuid IN ('%s')", strings.Join(known, "', '")))
		if _, refused := servererr.Of(err); err != nil && !refused {
			return err
		}
		if n == "0" {
			return &metadata.IdentityError{Address: address, Got: uuid}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.known = append(k.known, uuid); len(k.known) > mostKin {
			k.known = slices.Delete(k.known, 0, 1)
		}
		return nil
	}
}
