package exec

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// routing keeps what decisions are made of: the view of the cluster, replaced whole at every
// change, and what servers said of texts.
type routing struct {
	x      *Executor
	view   atomic.Pointer[route.View]
	tables atomic.Pointer[route.Tables]
	known  atomic.Pointer[map[string]schema.Table] // what tables is made of; nil: not read
	health route.Health
	// epoch grows when what servers said of texts may have become wrong.
	epoch  atomic.Uint64
	counts sync.Map // counter's name → *atomic.Uint64, but for the two that nearly all statements count by:
	routed atomic.Uint64
	policy atomic.Uint64
}

// wantNotice reports whether servers are asked for the sharding keys of texts.
func (r *routing) wantNotice() bool {
	o := r.x.Options
	if o.NoShard.Behavior == options.NoShardFail {
		return true // nothing may run before the key is known
	}
	return o.QueryMetadataCacheSize > 0 && (o.Routing != options.RoutingOff || o.NoShard.Behavior != options.NoShardBalance)
}

// topologyChanged makes a new view. It runs on the watcher's goroutine, as the other two do.
func (r *routing) topologyChanged(old, topo *metadata.Topology) {
	if old != nil && old.MinVersion() != topo.MinVersion() {
		r.epoch.Add(1)
	}
	r.renew()
}

func (r *routing) tablesChanged(tables map[string]schema.Table) {
	var (
		t   *route.Tables
		now *map[string]schema.Table
	)
	if tables != nil { // nil: the user may not read them any more
		t, now = route.NewTables(tables), &tables
	}
	r.tables.Store(t)
	if old := r.known.Swap(now); old != nil && !reflect.DeepEqual(*old, tables) { // the first reading makes nothing wrong that servers said
		r.epoch.Add(1)
	}
	r.renew()
}

func (r *routing) renew() {
	v := route.NewView(r.x.Options, r.x.Cluster.Topology(), r.x.Cluster.Buckets(), r.tables.Load())
	if old := r.view.Load(); old != nil {
		v.Number = old.Number + 1
	}
	r.view.Store(v)
}

// Learn takes a server's notice if it tells a text's sharding key. False: the notice is about something else.
func (x *Executor) Learn(message string) bool { return x.routing.learn(message) }

// BucketsChanged is told that there is a new bucket map.
func (x *Executor) BucketsChanged(*metadata.BucketMap) { x.routing.renew() }

// TablesChanged is told what is known of the tables; nil: they may not be read any more.
func (x *Executor) TablesChanged(tables map[string]schema.Table) { x.routing.tablesChanged(tables) }

// WantsKeys reports whether servers are to be asked for the sharding keys of texts.
func (x *Executor) WantsKeys() bool { return x.routing.wantNotice() }

// Plan says where a statement would go. It has a node parse a text whose sharding key nobody has told yet.
func (x *Executor) Plan(ctx context.Context, query string, args []driver.NamedValue) (route.Plan, error) {
	if err := x.Cluster.Start(ctx); err != nil {
		return route.Plan{}, x.waitFailed(err)
	}
	t, h := x.texts.get(query), HintOf(ctx)
	p := x.routing.plan(t, args, h)
	if p.Kind == route.Learn || p.Reason == route.MetaMiss && x.routing.wants(t) {
		r := run{c: &Checkout{x: x}, x: x, op: opQuery, ctx: ctx, hint: h, text: t, args: args}
		if err := r.learn(); err != nil {
			return route.Plan{}, err
		}
		p = x.routing.plan(t, args, h)
	}
	return p, nil
}

// learn takes a notice about a text's sharding key. false: the notice is about something else.
func (r *routing) learn(message string) bool {
	sql, meta, err := schema.ParseNotice(message)
	switch err {
	case nil:
	case schema.ErrOtherNotice:
		return false
	default:
		r.x.Logger.Warn("picodata: a server's notice about a statement's sharding key can't be read", "error", err)
		return true
	}
	if t := r.x.texts.known(sql); t != nil {
		t.keys.Store(&keyAnswer{meta: meta, known: true, epoch: r.epoch.Load()})
	}
	return true
}

// asked notes that a text was parsed by a server that was asked for its key. If it said nothing,
// it won't the next time.
func (r *routing) asked(t *Text) {
	old, epoch := t.keys.Load(), r.epoch.Load()
	if (old == nil || old.epoch != epoch) && r.wantNotice() {
		t.keys.CompareAndSwap(old, &keyAnswer{epoch: epoch}) // another node may have said something meanwhile
	}
}

// wants reports whether a server should parse the text, and so tell its key, though it may know the text by
// name: what was told before is forgotten or doesn't count any more.
func (r *routing) wants(t *Text) bool { return r.answer(t) == nil && r.wantNotice() }

// outdated notes that the schema has changed since a server last said something of the text.
func (r *routing) outdated(t *Text) {
	t.keys.Store(nil)
	r.x.Cluster.Hint(schema.HintTables)
}

// dialFailed counts the replicasets whose nodes couldn't be connected to.
func (r *routing) dialFailed(err *pool.DialError) {
	t := r.x.Cluster.Topology()
	if t == nil {
		return
	}
	now := r.x.Clock.Now()
	for _, n := range err.Nodes {
		if in, ok := t.ByName(n.Node); ok {
			r.health.Error(in.ReplicasetUUID, now)
		}
	}
}

// checkoutFailed counts that no connection of the replicaset could be had in time.
func (r *routing) checkoutFailed(replicaset string) {
	if r.x.Options.NoShard.Behavior == options.NoShardRandomHealthy {
		r.health.Error(replicaset, r.x.Clock.Now())
	}
}

// answer returns what a server said of the text, or nil.
func (r *routing) answer(t *Text) *keyAnswer {
	k := t.keys.Load()
	if k == nil || k.epoch != r.epoch.Load() {
		return nil
	}
	return k
}

// sharded reports whether a server named the tier whose buckets the text's table is spread over.
func (r *routing) sharded(t *Text) bool {
	k := r.answer(t)
	return k != nil && k.known && k.meta.Tier != ""
}

// plan decides where a statement may run.
func (r *routing) plan(t *Text, args []driver.NamedValue, h *Hint) route.Plan {
	in := route.Input{View: r.view.Load(), Info: &t.Info, Args: args}
	if h != nil && h.Placed {
		in.Hint = &h.Place
	}
	k := r.answer(t)
	if k != nil {
		in.Key, in.KeyKnown, in.KeyAsked = k.meta, k.known, !k.known
	}
	switch r.x.Options.NoShard.Behavior {
	case options.NoShardBalance, options.NoShardFail, options.NoShardN:
	case options.NoShardRandom, options.NoShardRandomHealthy:
		in.Random, in.Health, in.Now = rand.Uint64(), &r.health, r.x.Clock.Now()
	}
	in.Keys = r.x.dead.hurt.Load()
	c := t.route.Load()
	if c == nil || c.view != in.View.Number || c.answer != k || c.keys != in.Keys {
		c = &considered{view: in.View.Number, answer: k, keys: in.Keys, Candidate: route.Consider(&in)}
		t.route.Store(c)
	}
	in.Candidate = &c.Candidate
	p := route.Decide(&in)
	if p.Refresh != "" {
		r.x.Cluster.Hint(p.Refresh)
	}
	if p.Kind == route.Leader && r.x.roles.isDemoted(p.InstanceUUID) {
		p.Kind, p.Role, p.InstanceUUID, p.Instance = route.Balance, options.RoleAny, "", ""
		p.Reason, p.Detail = route.NoLeader, "it has shown to be read-only"
	}
	return p
}

// request says to the gate what a plan says.
func (r *routing) request(p *route.Plan) pool.Request {
	switch p.Kind {
	case route.Leader:
		return pool.Request{Node: p.InstanceUUID, Wait: r.x.Options.RoutingAcquireTimeout}
	case route.Filter:
		req := pool.Request{Node: p.InstanceUUID, Replicaset: p.ReplicasetUUID, Tier: p.Tier, Role: p.Role, Strict: p.Strict}
		if req.Replicaset != "" || req.Node != "" {
			req.Tier = "" // said by the replicaset, and a tier's name may be unknown
		}
		if !p.Strict {
			req.Wait = r.x.Options.RoutingAcquireTimeout
		}
		return req
	case route.Balance, route.Learn, route.NoShard, route.Invalid: // of which the last three lease nothing
	}
	return pool.Request{}
}

// tally counts a decision once a node is leased: a plan that the gate couldn't follow counts by the reason.
func (r *routing) tally(p *route.Plan, n *pool.NodeInfo) {
	name := p.Counter()
	if p.Kind != route.Balance && !p.Strict && !r.asPlanned(p, n) {
		name = string(route.LeaderBusy)
		if r.x.Pool.Ejected(p.InstanceUUID) {
			name = string(route.LeaderEjected)
		}
		r.checkoutFailed(p.ReplicasetUUID)
	}
	r.counter(name).Add(1)
}

// asPlanned reports whether the plan's preference was met.
func (r *routing) asPlanned(p *route.Plan, n *pool.NodeInfo) bool {
	if p.Kind == route.Leader {
		return n.ID == p.InstanceUUID
	}
	req := r.request(p)
	return req.Matches(n)
}

func (r *routing) counter(name string) *atomic.Uint64 {
	switch name {
	case "routed":
		return &r.routed
	case "balance":
		return &r.policy
	}
	if n, ok := r.counts.Load(name); ok {
		return n.(*atomic.Uint64)
	}
	n, _ := r.counts.LoadOrStore(name, new(atomic.Uint64))
	return n.(*atomic.Uint64)
}

func (r *routing) snapshot() map[string]uint64 {
	m := make(map[string]uint64)
	for name, n := range map[string]uint64{"routed": r.routed.Load(), "balance": r.policy.Load()} {
		if n > 0 {
			m[name] = n
		}
	}
	r.counts.Range(func(name, n any) bool {
		m[name.(string)] = n.(*atomic.Uint64).Load()
		return true
	})
	return m
}

// tiersOf are the tiers of the sharded tables that a statement reads or writes. What nobody has told is no such table.
func (r *routing) tiersOf(t *Text) (tiers []string) {
	v := r.view.Load()
	for _, name := range sqltext.Tables(t.SQL) {
		if tier, ok := v.TierOf(name); ok {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}

// Hint is what a caller's context says about where and how a statement may run.
type Hint struct {
	Place      route.Hint
	Placed     bool // Place asks for something
	Idempotent bool
	AnyTime    bool // idempotent, also after what came later
	NoRetry    bool
	Limits     Limits
}

type hintKey struct{}

// HintOf returns the context's hint, or nil.
func HintOf(ctx context.Context) *Hint {
	h, _ := ctx.Value(hintKey{}).(*Hint)
	return h
}

// WithHint returns a context whose hint is a changed copy of ctx's.
func WithHint(ctx context.Context, change func(*Hint)) context.Context {
	h := Hint{}
	if old := HintOf(ctx); old != nil {
		h = *old
	}
	change(&h)
	return context.WithValue(ctx, hintKey{}, &h)
}
