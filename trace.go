package picodata

import (
	"context"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/internal/exec"
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
	Operation   string        // query, exec, ping, prepare; batch of a whole Batch, flight of its part for one node
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

// traces are the tracers by what they hear of. They are the exec.Tracer of the connector's statements.
type traces struct {
	c         *Connector
	statement []StatementTracer
	lease     []LeaseTracer
	dial      []DialTracer
	route     []RouteTracer
	topology  []TopologyTracer
	mirror    []MirrorTracer
}

func newTraces(c *Connector, tracers []any) (traces, error) {
	t := traces{c: c}
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

// ofStatements is what statements on their way tell; nil if nobody hears of them.
func (t *traces) ofStatements() exec.Tracer {
	if t.statement == nil && t.lease == nil && t.route == nil {
		return nil
	}
	return t
}

// Statement implements exec.Tracer.
func (t *traces) Statement(ctx context.Context, s *exec.Started) (context.Context, func(*exec.Ended)) {
	if t.statement == nil {
		return ctx, nil
	}
	start := StatementStart{Operation: s.Operation, SQL: s.Text.SQL, Fingerprint: s.Text.Fingerprint, Table: s.Text.Info.Table, Args: s.Args}
	ctxs := make([]context.Context, len(t.statement)) // one per tracer
	for i, x := range t.statement {
		ctx = x.StatementStart(ctx, start)
		ctxs[i] = ctx
	}
	return ctx, func(e *exec.Ended) {
		end := StatementEnd{Node: nodeOf(e.Node), Reason: e.Reason, Attempts: e.Attempts, Rows: e.Rows, Err: e.Err}
		for i, x := range t.statement {
			x.StatementEnd(ctxs[i], end)
		}
	}
}

// Lease implements exec.Tracer.
func (t *traces) Lease(ctx context.Context, reason string) (context.Context, func(*pool.NodeInfo, error)) {
	if t.lease == nil {
		return ctx, nil
	}
	ctxs := make([]context.Context, len(t.lease))
	for i, x := range t.lease {
		ctx = x.LeaseStart(ctx, LeaseStart{Reason: reason})
		ctxs[i] = ctx
	}
	return ctx, func(n *pool.NodeInfo, err error) {
		for i, x := range t.lease {
			x.LeaseEnd(ctxs[i], LeaseEnd{Node: nodeOf(n), Err: err})
		}
	}
}

// Routed implements exec.Tracer.
func (t *traces) Routed(ctx context.Context, p *route.Plan) {
	if t.route == nil {
		return
	}
	plan := t.c.planOf(p)
	for _, x := range t.route {
		x.RouteDecided(ctx, plan)
	}
}

// dialing tells of a dial; end, unless nil, is called when it is over.
func (t *traces) dialing(ctx context.Context, n pool.NodeSpec) (_ context.Context, end func(error)) {
	if t.dial == nil {
		return ctx, nil
	}
	node := Node{Name: n.Name, Address: n.Address}
	ctxs := make([]context.Context, len(t.dial))
	for i, x := range t.dial {
		ctx = x.DialStart(ctx, DialStart{Node: node})
		ctxs[i] = ctx
	}
	return ctx, func(err error) {
		for i, x := range t.dial {
			x.DialEnd(ctxs[i], DialEnd{Node: node, Err: err})
		}
	}
}

// topologyChanged tells of a change.
func (t *traces) topologyChanged(old, topo *metadata.Topology) {
	if t.topology == nil {
		return
	}
	change := TopologyChange{Old: old, New: topo, Events: metadata.Diff(old, topo)}
	for _, x := range t.topology {
		x.TopologyChanged(change)
	}
}

// ofMirror is what the mirror calls for its tracers; nil if there are none.
func (t *traces) ofMirror() func(mirror.Executed) {
	if t.mirror == nil {
		return nil
	}
	return func(e mirror.Executed) {
		fingerprint := func() string { return exec.Fingerprint(e.SQL) }
		for _, x := range t.mirror {
			x.MirrorEnd(MirrorEnd{SQL: e.SQL, Fingerprint: fingerprint, Waited: e.Waited, Took: e.Took, Err: e.Err})
		}
	}
}
