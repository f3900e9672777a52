package picodata

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/watch"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// build wires the parts together. Nothing runs yet.
func (c *Connector) build() {
	c.routing.init(c)
	c.notices.handler = c.cfg.NoticeHandler
	password := passwordOf(c.cfg)
	c.wire = &wire.Config{
		Options:        c.cfg,
		StartupOptions: c.cfg.StartupOptions(c.routing.wantNotice(), c.cfg.StatementCacheSize > 0 && !c.plain()),
		Password:       password,
		OnNotice:       c.notice,
		Allowed:        c.allowed(),
	}
	c.control = &wire.Config{Options: c.controlOptions(), Password: password, Allowed: c.allowed()}
	c.gate = pool.New(pool.Config{
		Dial:       c.tracedDial,
		Classify:   classifyDial,
		Credential: credentialOf(password),
		Fresh:      c.fresh,
		Options:    c.cfg,
		Clock:      c.cfg.Clock,
		OnEvent:    c.poolEvent,
	})
	c.watcher = watch.New(watch.Config{
		Config:     c.cfg,
		Dial:       c.dialControl,
		Fatal:      fatalDial,
		OnTopology: c.apply,
		OnBuckets:  c.routing.bucketsChanged,
		OnTables:   c.routing.tablesChanged,
		Logger:     c.cfg.Logger,
		Clock:      c.cfg.Clock,
	})
}

// allowed is what allowed_networks says of an address behind a name; nil without it. The user's own DSN
// isn't judged.
func (c *Connector) allowed() func(address string, ip netip.Addr) bool {
	networks := c.cfg.AllowedNetworks
	if len(networks) == 0 {
		return nil
	}
	own := make(map[string]bool, len(c.cfg.Hosts))
	for _, h := range c.cfg.Hosts {
		own[h.Address()] = true
	}
	return func(address string, ip netip.Addr) bool {
		return own[address] || metadata.NetworkAllowed(networks, ip)
	}
}

// plain reports whether nothing of Picodata's own may go over the wire, so that the driver runs
// on plain PostgreSQL, which has no system tables and refuses startup options that it doesn't know.
func (c *Connector) plain() bool { return plain(c.cfg) }

func plain(o *options.Config) bool {
	return o.Mode == options.Bootstrap && !o.Topology && o.Routing == options.RoutingOff &&
		o.InstanceRole == options.RoleAny && len(o.AllowedTiers) == 0 && len(o.ForbiddenTiers) == 0 &&
		o.NoShard.Behavior == options.NoShardBalance
}

// startPlain makes the nodes of the DSN the node set, for good, without asking anybody.
func (c *Connector) startPlain() {
	c.plainOnce.Do(func() {
		t := metadata.Topology{Version: 1, ReadAt: c.clock.Now(), Static: true}
		for _, h := range c.cfg.Hosts {
			t.Seeds = append(t.Seeds, metadata.Seed{Address: h.Address()})
		}
		topo := metadata.Build(t)
		c.fixed.Store(topo)
		c.apply(nil, topo)
	})
}

// controlOptions are those of the topology's connection: its statements read system tables only, so
// that the user's limits and preferences must not reach them.
func (c *Connector) controlOptions() *options.Config {
	o := c.cfg.Clone()
	o.ServerOptions, o.ReadPreference, o.Forward = nil, options.ReadPreferenceUnset, options.ForwardUnset
	o.StatementCacheSize = 0
	return o
}

// passwordOf returns the function that is asked per dial, or nil if the password is a constant.
func passwordOf(o *options.Config) func(context.Context) (string, error) {
	switch {
	case o.PasswordFunc != nil:
		return o.PasswordFunc
	case o.Password != "" || o.PassFile == "":
		return nil
	}
	return func(context.Context) (string, error) {
		for _, h := range o.Hosts {
			p, ok, err := o.ReadPassFile(os.ReadFile, h.Name, h.Port)
			if err != nil || ok {
				return p, err
			}
		}
		return "", nil
	}
}

// start makes sure that the node set is known. The first caller starts the cluster; all wait for it.
func (c *Connector) start(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	default:
	}
	return c.startSlowly(ctx)
}

func (c *Connector) startSlowly(ctx context.Context) error {
	if c.plain() {
		c.startPlain()
		return nil
	}
	if d := c.cfg.AcquireTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withTimeoutCause(ctx, c.clock, d, errStartTimeout)
		defer cancel()
	}
	if err := c.watcher.Start(ctx); err != nil {
		return c.startError(ctx, err)
	}
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done.Done():
		return ErrClosed
	}
}

// errStartTimeout is the cause when acquire_timeout ended the wait for the first snapshot.
var errStartTimeout = errors.New("acquire_timeout passed")

func (c *Connector) startError(ctx context.Context, err error) error {
	if errors.Is(err, watch.ErrClosed) {
		return ErrClosed
	}
	var w *wire.Error
	if errors.As(err, &w) && w.LoginRefused() && ctx.Err() == nil {
		return &AuthError{Node: w.Node, Address: w.Address, Err: w.Cause}
	}
	return err
}

// withTimeoutCause is context.WithTimeoutCause on the connector's clock.
func withTimeoutCause(ctx context.Context, clock options.Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := clock.AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

// apply gives a new snapshot to the gate. It runs on the watcher's goroutine.
func (c *Connector) apply(old, topo *metadata.Topology) {
	c.roles.mu.Lock()
	c.roles.forget(topo)
	c.applyNodes(topo)
	c.applied.Store(topo.Version)
	c.roles.mu.Unlock()
	c.routing.topologyChanged(old, topo)
	c.clusterChanged(old, topo)
	c.tracedTopology(old, topo)
	c.readyOnce.Do(func() { close(c.ready) })
	if f := c.onChange.Load(); f != nil {
		(*f)(topo)
	}
}

// applyNodes makes the node set of a snapshot the gate's. roles.mu is held.
func (c *Connector) applyNodes(topo *metadata.Topology) {
	views := metadata.Select(c.cfg, topo)
	nodes := make([]pool.NodeSpec, 0, len(views))
	for i := range views {
		v := &views[i]
		if v.Excluded.Unreachable() {
			continue
		}
		nodes = append(nodes, c.nodeSpec(topo, v))
	}
	c.gate.Apply(nodes)
}

// nodeSpec describes one node of the set to the gate.
func (c *Connector) nodeSpec(topo *metadata.Topology, v *metadata.NodeView) pool.NodeSpec {
	n := pool.NodeSpec{ID: v.ID, Name: v.Name(), Address: v.Address, Eligible: v.Excluded == metadata.Included}
	var few [4]string // on the stack: a snapshot may have a thousand nodes
	addresses := append(append(few[:0], v.Address), v.Alternates...)
	if in := v.Instance; in != nil {
		n.Tier, n.Replicaset, n.ReplicasetName, n.Role, n.Zone = in.Tier, in.ReplicasetUUID, in.ReplicasetName, in.Role, in.FailureDomain
		addresses = append(addresses, in.Advertised)
		if c.roles.isDemoted(in.UUID) {
			n.Role = metadata.RoleUnknown
			n.Eligible = n.Eligible && c.cfg.InstanceRole == options.RoleAny
		}
	}
	n.Weight, n.MaxConns, n.Priority = pool.Rules(c.cfg, n.Name, addresses, n.Tier)
	return n
}

// fresh reports whether the gate has the newest snapshot, and it isn't known to be behind.
func (c *Connector) fresh() bool {
	t := c.Topology()
	return t != nil && c.applied.Load() == t.Version && !c.unsettled(t)
}

func (c *Connector) dial(ctx context.Context, n pool.NodeSpec) (pool.Conn, error) {
	w, err := wire.Dial(ctx, c.wire, wire.Target{Address: n.Address, NodeName: n.Name})
	if err != nil {
		return nil, err
	}
	return c.withMirror(w, n), nil
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
	}
	return false
}

// notice takes what servers say beside their answers.
func (c *Connector) notice(_ *wire.Conn, n options.Notice) {
	if c.routing.learn(n.Message) {
		return
	}
	c.notices.put(n)
}
