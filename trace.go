package picodata

import (
	"context"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// The tracers are hooks for spans, metrics and logs, one interface per kind of event. A value given to
// options.WithTracer may implement any of them. Those that nobody implements cost a nil check. The
// methods run on the caller's goroutine, in the order in which the tracers were given; they must not block.
type (
	// StatementTracer hears of users' statements and pings. The context that StatementStart returns goes
	// with the statement, and to StatementEnd. A query ends when its rows are closed.
	StatementTracer interface {
		StatementStart(ctx context.Context, s StatementStart) context.Context
		StatementEnd(ctx context.Context, s StatementEnd)
	}
	// LeaseTracer hears of waits for a connection: once per attempt of a statement that has no connection yet.
	LeaseTracer interface {
		LeaseStart(ctx context.Context, l LeaseStart) context.Context
		LeaseEnd(ctx context.Context, l LeaseEnd)
	}
	// DialTracer hears of physical connections being made. A dial belongs to no statement: its context isn't a caller's.
	DialTracer interface {
		DialStart(ctx context.Context, d DialStart) context.Context
		DialEnd(ctx context.Context, d DialEnd)
	}
	// RouteTracer hears where a statement is to run and why, before it waits for a connection.
	RouteTracer interface {
		RouteDecided(ctx context.Context, p Plan)
	}
	// TopologyTracer hears of changes of the topology, on the goroutine that reads it.
	TopologyTracer interface {
		TopologyChanged(t TopologyChange)
	}
	// MirrorTracer hears of statements that the mirror was sent, when they are over there, on a goroutine of
	// the mirror's. What was dropped is counted in Stats.Mirror alone.
	MirrorTracer interface {
		MirrorEnd(m MirrorEnd)
	}
)

// StatementStart describes a statement that begins.
type StatementStart struct {
	Operation   string        // query, exec, ping or prepare
	SQL         string        // as it is sent
	Fingerprint func() string // the text with its literals left out, shortened
	Table       string        // the one table that it is about; empty if there are several or none, or the text isn't understood
	Args        int
}

// StatementEnd describes a statement that is over.
type StatementEnd struct {
	Node     Node   // the node that ran it last; zero if none did
	Reason   string // why there, see Plan.Reason; empty on a checkout that was tied to its node before
	Attempts int    // how often it was handed to a node
	Rows     int64  // rows delivered, or touched
	Err      error
}

// LeaseStart describes a wait that begins.
type LeaseStart struct{ Reason string }

// LeaseEnd describes its end.
type LeaseEnd struct {
	Node Node
	Err  error
}

// DialStart describes a dial that begins.
type DialStart struct{ Node Node }

// DialEnd describes its end.
type DialEnd struct {
	Node Node
	Err  error
}

// TopologyChange is a change of the topology. Old is nil at first.
type TopologyChange struct {
	Old, New *metadata.Topology
	Events   []metadata.Event
}

// MirrorEnd describes a statement that is over on the mirror.
type MirrorEnd struct {
	SQL         string        // as it was sent
	Fingerprint func() string // the text with its literals left out, shortened
	Waited      time.Duration // from when it was handed over until it was sent
	Took        time.Duration
	Err         error // the mirror's, unseen by the caller
}

// traces are the tracers by what they hear of.
type traces struct {
	statement []StatementTracer
	lease     []LeaseTracer
	dial      []DialTracer
	route     []RouteTracer
	topology  []TopologyTracer
	mirror    []MirrorTracer
}

func newTraces(tracers []any) (traces, error) {
	var t traces
	for _, x := range tracers {
		heard := hear(&t.statement, x)
		heard = hear(&t.lease, x) || heard
		heard = hear(&t.dial, x) || heard
		heard = hear(&t.route, x) || heard
		heard = hear(&t.topology, x) || heard
		heard = hear(&t.mirror, x) || heard
		if !heard {
			return t, &options.ConfigError{Key: "Tracers", Msg: fmt.Sprintf("%T implements none of StatementTracer, LeaseTracer, DialTracer, RouteTracer, TopologyTracer and MirrorTracer", x)}
		}
	}
	return t, nil
}

// hear adds x to the tracers of one kind if it is of that kind.
func hear[T any](list *[]T, x any) bool {
	t, ok := x.(T)
	if ok {
		*list = append(*list, t)
	}
	return ok
}

// span is a statement under way, as its tracers know it. The zero span is nobody's.
type span struct {
	ctxs []context.Context // one per tracer
}

var operationNames = [...]string{opQuery: "query", opExec: "exec", opPing: "ping", opPrepare: "prepare"}

// startSpan tells the statement's tracers, and gives the context for the statement.
func (r *run) startSpan() (span, context.Context) {
	tracers := r.s.c.trace.statement
	if tracers == nil {
		return span{}, r.ctx
	}
	s := StatementStart{Operation: operationNames[r.op], SQL: r.text.sql, Fingerprint: r.text.fingerprint, Table: r.text.info.Table, Args: len(r.args)}
	sp := span{ctxs: make([]context.Context, len(tracers))}
	ctx := r.ctx
	for i, t := range tracers {
		ctx = t.StatementStart(ctx, s)
		sp.ctxs[i] = ctx
	}
	return sp, ctx
}

// endSpan tells them that it is over.
func (r *run) endSpan(sp span, rows int64, err error) {
	if sp.ctxs == nil {
		return
	}
	e := StatementEnd{Attempts: r.attempts, Rows: rows, Err: err, Node: r.lastNode}
	if r.planned {
		e.Reason = r.plan.Counter()
	}
	for i, t := range r.s.c.trace.statement {
		t.StatementEnd(sp.ctxs[i], e)
	}
}

// tracedLease is gate.Lease with its tracers told.
func (c *Connector) tracedLease(ctx context.Context, req pool.Request, reason func() string) (pool.Lease, error) {
	tracers := c.trace.lease
	if tracers == nil {
		return c.gate.Lease(ctx, req)
	}
	s := LeaseStart{Reason: reason()}
	ctxs := make([]context.Context, len(tracers))
	inner := ctx
	for i, t := range tracers {
		inner = t.LeaseStart(inner, s)
		ctxs[i] = inner
	}
	l, err := c.gate.Lease(inner, req)
	e := LeaseEnd{Err: err}
	if err == nil {
		e.Node = nodeOf(l.Node())
	}
	for i, t := range tracers {
		t.LeaseEnd(ctxs[i], e)
	}
	return l, err
}

// tracedRoute tells where a statement is to run.
func (r *run) tracedRoute() {
	tracers := r.s.c.trace.route
	if tracers == nil {
		return
	}
	p := r.s.c.planOf(r.plan)
	for _, t := range tracers {
		t.RouteDecided(r.ctx, p)
	}
}

// tracedDial makes a connection with its tracers told.
func (c *Connector) tracedDial(ctx context.Context, n pool.NodeSpec) (pool.Conn, error) {
	tracers := c.trace.dial
	if tracers == nil {
		return c.dial(ctx, n)
	}
	node := Node{Name: n.Name, Address: n.Address}
	ctxs := make([]context.Context, len(tracers))
	inner := ctx
	for i, t := range tracers {
		inner = t.DialStart(inner, DialStart{Node: node})
		ctxs[i] = inner
	}
	conn, err := c.dial(inner, n)
	for i, t := range tracers {
		t.DialEnd(ctxs[i], DialEnd{Node: node, Err: err})
	}
	return conn, err
}

// tracedTopology tells of a change.
func (c *Connector) tracedTopology(old, topo *metadata.Topology) {
	if c.trace.topology == nil {
		return
	}
	change := TopologyChange{Old: old, New: topo, Events: metadata.Diff(old, topo)}
	for _, t := range c.trace.topology {
		t.TopologyChanged(change)
	}
}

// tracedMirror is what the mirror calls for its tracers; nil if there are none.
func (c *Connector) tracedMirror() func(mirror.Executed) {
	tracers := c.trace.mirror
	if tracers == nil {
		return nil
	}
	return func(x mirror.Executed) {
		fingerprint := func() string { return fingerprintOf(x.SQL) }
		for _, t := range tracers {
			t.MirrorEnd(MirrorEnd{SQL: x.SQL, Fingerprint: fingerprint, Waited: x.Waited, Took: x.Took, Err: x.Err})
		}
	}
}

// planOf makes the public form of a decision.
func (c *Connector) planOf(p route.Plan) Plan {
	out := Plan{
		Replicaset: p.Replicaset, Tier: p.Tier, Reason: p.Counter(), Words: route.Describe(p),
		Node: Node{Name: p.Instance},
	}
	if p.BucketKnown {
		out.Bucket = p.Bucket
	}
	if out.Replicaset == "" {
		out.Replicaset = p.ReplicasetUUID
	}
	if p.InstanceUUID != "" {
		if in, ok := c.Topology().Instance(p.InstanceUUID); ok {
			out.Node = Node{Name: in.Name, Address: in.Address}
		}
	}
	return out
}
