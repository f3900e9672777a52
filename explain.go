package picodata

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/wire"
)

// Plan says where a statement would go and why.
type Plan struct {
	// Node is the instance that the statement would be handed to. It is zero where the balancing policy chooses
	// among several when the time comes.
	Node       Node
	Replicaset string // name, or uuid while the name isn't known
	Tier       string
	Bucket     uint64 // counted from 1; 0 = not known
	// Reason is the name under which the decision is counted in Stats.Routing: "routed", "hint", "balance", a
	// value of no_shard_specified_behavior, or why a statement that could have been routed wasn't.
	Reason string
	// Words is the whole decision in a sentence or two.
	Words string
}

// String is Words.
func (p Plan) String() string { return p.Words }

// Explain says where a statement with these arguments would go now, and why, without running it. The context's
// hints count. It starts the cluster if no statement has, and has a node parse a text whose sharding key nobody
// has told yet, once per text.
func (c *Connector) Explain(ctx context.Context, query string, args ...any) (Plan, error) {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
		if err := wire.CheckNamedValue(&values[i]); err != nil {
			return Plan{}, fmt.Errorf("picodata: argument %d: %w", i+1, err)
		}
	}
	if err := c.start(ctx); err != nil {
		return Plan{}, c.waitFailed(ctx, err)
	}
	t := c.texts.get(query)
	h := hintOf(ctx)
	p := c.routing.plan(t, values, h)
	if p.Kind == route.Learn || p.Reason == route.MetaMiss && c.routing.answer(t) == nil && c.routing.wantNotice() {
		r := run{s: &session{c: c}, op: opQuery, ctx: ctx, text: t, args: values}
		if err := r.learn(); err != nil {
			return Plan{}, err
		}
		p = c.routing.plan(t, values, h)
	}
	out := c.planOf(p)
	if p.Kind == route.Invalid {
		return out, p.Err
	}
	return out, nil
}
