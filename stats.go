package picodata

import (
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/metadata"
)

type (
	// NodeStats describes the connections of one node, or of all nodes together.
	NodeStats = pool.NodeStats
	// TopologyStats tells how well the cluster is known.
	TopologyStats = metadata.TopologyStats
)

// Stats is a snapshot of what the connector does. (*sql.DB).Stats counts sessions, which are cheap; this
// counts what is real. Taking it holds no lock that a statement waits for.
type Stats struct {
	Pool       pool.Stats // waits and timeouts
	Total      NodeStats
	Nodes      []NodeStats
	Routing    map[string]uint64 // decisions by name: "routed", "balance", "hint", or why a statement that could have been routed wasn't
	Overflow   map[string]uint64 // leases of nodes of weight 0, by reason
	Statements StatementStats
	Topology   TopologyStats
	Texts      int  // SQL texts remembered
	Eager      bool // a wrapper hides driver.Validator: leases are per statement
}

// StatementStats counts statements by how they ended. A statement that was run again counts once.
type StatementStats struct {
	Succeeded      uint64
	Failed         uint64
	OutcomeUnknown uint64 // of Failed
	Retries        uint64 // attempts after the first, unseen by the caller
	Reroutes       uint64 // of Retries: refused under forward=off, then sent to its owner
	BudgetSpent    uint64 // retries left out because too many were needed lately
}

// Stats returns a snapshot.
func (c *Connector) Stats() Stats {
	p := c.gate.Stats()
	return Stats{
		Pool:       p,
		Total:      p.Total,
		Nodes:      p.Nodes,
		Routing:    c.routing.snapshot(),
		Overflow:   p.Overflow,
		Statements: c.count.stats(),
		Topology:   c.watcher.Stats(),
		Texts:      c.texts.len(),
		Eager:      c.eager.Load(),
	}
}

// counters count statements and hold the retry budget.
type counters struct {
	ok, bad, unknown, retries, reroutes, spent atomic.Uint64
	// budget is in thousandths of a retry and starts full: see mayRetry. Kept as what is missing.
	missing atomic.Int64
}

// A retry takes budgetRetry from a budget of budgetFull, a statement that succeeds puts budgetGain back: in
// the long run one statement in ten may be run again, and a storm of failures can't multiply the load.
const (
	budgetFull  = 100_000
	budgetRetry = 1_000
	budgetGain  = 100
)

func (n *counters) succeeded() {
	n.ok.Add(1)
	if n.missing.Load() > 0 {
		n.missing.Add(-budgetGain)
	}
}

func (n *counters) failed(err error) {
	n.bad.Add(1)
	if IsOutcomeUnknown(err) {
		n.unknown.Add(1)
	}
}

func (n *counters) mayRetry() bool {
	if n.missing.Load() <= budgetFull-budgetRetry {
		return true
	}
	n.spent.Add(1)
	return false
}

func (n *counters) retried(a action) {
	n.retries.Add(1)
	if a == reroute {
		n.reroutes.Add(1)
	}
	n.missing.Add(budgetRetry)
}

func (n *counters) stats() StatementStats {
	return StatementStats{
		Succeeded: n.ok.Load(), Failed: n.bad.Load(), OutcomeUnknown: n.unknown.Load(),
		Retries: n.retries.Load(), Reroutes: n.reroutes.Load(), BudgetSpent: n.spent.Load(),
	}
}
