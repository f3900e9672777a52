package picodata

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/picodata/go-picodata/internal/route"
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
		if err := c.checkArgument(&values[i]); err != nil {
			return Plan{}, fmt.Errorf("picodata: argument %d: %w", i+1, err)
		}
	}
	p, err := c.exec.Plan(ctx, query, values)
	if err != nil {
		return Plan{}, err
	}
	out := c.planOf(&p)
	if p.Kind == route.Invalid {
		return out, faults{}.Plan(p.Err)
	}
	return out, nil
}

// planOf makes the public form of a decision.
func (c *Connector) planOf(p *route.Plan) Plan {
	out := Plan{
		Replicaset: p.Replicaset, Tier: p.Tier, Reason: p.Counter(), Words: route.Describe(*p),
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
