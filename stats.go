package picodata

import (
	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/metadata"
)

type (
	// NodeStats describes the connections of one node, or of all nodes together.
	NodeStats = pool.NodeStats
	// TopologyStats tells how well the cluster is known.
	TopologyStats = metadata.TopologyStats
	// MirrorStats tells what became of the statements for the mirror.
	MirrorStats = mirror.Stats
)

// Stats is a snapshot of what the connector does. (*sql.DB).Stats counts sessions, which are cheap; this
// counts what is real. Taking it holds no lock that a statement waits for.
type Stats struct {
	Pool           pool.Stats // waits and timeouts
	Total          NodeStats
	Nodes          []NodeStats
	Routing        map[string]uint64 // decisions by name: "routed", "balance", "hint", or why a statement that could have been routed wasn't
	Overflow       map[string]uint64 // leases of nodes of weight 0, by reason
	Statements     StatementStats
	Mirror         MirrorStats // zero without mirror
	Topology       TopologyStats
	NoticesDropped uint64 // notices that a slow NoticeHandler had no room for
	Texts          int    // SQL texts remembered
	Eager          bool   // a wrapper hides driver.Validator: leases are per statement
}

// StatementStats counts statements by how they ended. A statement that was run again counts once.
type StatementStats struct {
	Succeeded      uint64
	Failed         uint64
	OutcomeUnknown uint64 // of Failed
	Retries        uint64 // attempts after the first, unseen by the caller
	Revived        uint64 // of Retries: the statement had waited since before a leader changed
	Reroutes       uint64 // of Retries: refused under forward=off, then sent to its owner
	BudgetSpent    uint64 // retries left out because too many were needed lately
}

// Stats returns a snapshot.
func (c *Connector) Stats() Stats {
	p := c.gate.Stats()
	return Stats{
		Pool:           p,
		Total:          p.Total,
		Nodes:          p.Nodes,
		Routing:        c.routing.snapshot(),
		Overflow:       p.Overflow,
		Statements:     c.count.stats(),
		Mirror:         c.mirrorStats(),
		Topology:       c.watcher.Stats(),
		NoticesDropped: c.notices.dropped.Load(),
		Texts:          c.texts.len(),
		Eager:          c.eager.Load(),
	}
}
