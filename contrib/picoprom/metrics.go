package picoprom

import (
	picodata "github.com/picodata/go-picodata"
	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes a metric of this package.
type Metric struct {
	Name   string
	Type   string   // gauge, counter or histogram
	Labels []string // beside those of WithLabels
	Help   string
}

// prefix begins every name.
const prefix = "picodata_client_"

// family is a metric with where its values come from.
type family struct {
	name   string
	kind   prometheus.ValueType
	labels []string
	help   string
	// One of these is set.
	node    func(n *picodata.NodeStats, emit emit)
	cluster func(s *picodata.Stats, emit emit)
}

// emit takes one value with those of the family's labels; a node's own label comes before them.
type emit func(v float64, labels ...string)

// by emits a map of counts.
func by(counts map[string]uint64, e emit) {
	for name, n := range counts {
		e(float64(n), name)
	}
}

func byNode[T int | uint64](of func(n *picodata.NodeStats) T) func(*picodata.NodeStats, emit) {
	return func(n *picodata.NodeStats, e emit) { e(float64(of(n))) }
}

func of[T int | uint64](f func(s *picodata.Stats) T) func(*picodata.Stats, emit) {
	return func(s *picodata.Stats, e emit) { e(float64(f(s))) }
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// families are all that New exports, in the order of the documents.
func families() []family {
	type node = *picodata.NodeStats
	type stats = *picodata.Stats
	return []family{
		{"node_info", gauge, []string{"address", "tier", "replicaset", "role"}, "1 for every node of the node set; replicaset is its uuid.", func(n node, e emit) {
			e(1, n.Address, n.Tier, n.Replicaset, n.Role.String())
		}, nil},
		{"connections", gauge, []string{"state"}, "Connections of a node by state: idle, used, dialing or draining.", func(n node, e emit) {
			e(float64(n.Idle), "idle")
			e(float64(n.InUse), "used")
			e(float64(n.Dialing), "dialing")
			e(float64(n.Draining), "draining")
		}, nil},
		{"connections_max", gauge, nil, "The node's cap; absent if there is none.", func(n node, e emit) {
			if n.Max > 0 {
				e(float64(n.Max))
			}
		}, nil},
		{"cluster_connections_max", gauge, nil, "max_conns as it is in force; absent if there is none.", nil, func(s stats, e emit) {
			if s.Total.Max > 0 {
				e(float64(s.Total.Max))
			}
		}},
		{"node_weight", gauge, nil, "The node's share of the work, as configured; 0 is overflow only.", byNode(func(n node) int { return n.Weight }), nil},
		{"node_ejected", gauge, nil, "1 while the node is left out after connection failures.", func(n node, e emit) {
			if n.Ejected {
				e(1)
			} else {
				e(0)
			}
		}, nil},
		{"node_latency_seconds", gauge, nil, "Moving average of the node's round trips; absent while unknown.", func(n node, e emit) {
			if n.Latency > 0 {
				e(n.Latency.Seconds())
			}
		}, nil},
		{"leases_total", counter, nil, "Times a connection of the node was handed out.", byNode(func(n node) uint64 { return n.Leases }), nil},
		{"node_waits_total", counter, nil, "Of the node's leases, those that had to wait.", byNode(func(n node) uint64 { return n.Waits }), nil},
		{"node_wait_seconds_total", counter, nil, "How long they waited in all.", func(n node, e emit) { e(n.WaitTime.Seconds()) }, nil},
		{"node_overflow_total", counter, []string{"reason"}, "Of the node's leases, those of overflow and of lower priorities, by reason.", func(n node, e emit) { by(n.Overflow, e) }, nil},
		{"dials_total", counter, nil, "Dials of the node that began.", byNode(func(n node) uint64 { return n.Dials }), nil},
		{"dial_failures_total", counter, nil, "Dials of the node that failed.", byNode(func(n node) uint64 { return n.DialFailures }), nil},
		{"connections_lost_total", counter, nil, "Connections of the node that failed in use.", byNode(func(n node) uint64 { return n.Lost }), nil},
		{"connections_closed_total", counter, []string{"reason"}, "Connections of the node that were closed, by reason.", func(n node, e emit) { by(n.ClosedBy, e) }, nil},
		{"ejections_total", counter, nil, "Times the node was left out after connection failures.", byNode(func(n node) uint64 { return n.Ejections }), nil},
		{"waiters", gauge, nil, "Statements that wait for a connection now.", nil, of(func(s stats) int { return s.Total.Waiters })},
		{"waits_total", counter, nil, "Leases that had to wait.", nil, of(func(s stats) uint64 { return s.Pool.Waits })},
		{"wait_seconds_total", counter, nil, "How long they waited in all.", nil, func(s stats, e emit) { e(s.Pool.WaitTime.Seconds()) }},
		{"acquire_timeouts_total", counter, nil, "Waits that acquire_timeout ended.", nil, of(func(s stats) uint64 { return s.Pool.Timeouts })},
		{"overflow_total", counter, []string{"reason"}, "Leases of nodes of weight 0, and of lower priorities, by reason.", nil, func(s stats, e emit) { by(s.Overflow, e) }},
		{"routing_total", counter, []string{"decision"}, "Routing decisions: routed, hint, balance, or why a statement that could have been routed wasn't.", nil, func(s stats, e emit) { by(s.Routing, e) }},
		{"statements_total", counter, []string{"outcome"}, "Statements by how they ended: ok, error or outcome_unknown.", nil, func(s stats, e emit) {
			e(float64(s.Statements.Succeeded), "ok")
			e(float64(s.Statements.Failed-s.Statements.OutcomeUnknown), "error")
			e(float64(s.Statements.OutcomeUnknown), "outcome_unknown")
		}},
		{"retries_total", counter, []string{"reason"}, "Attempts after a statement's first, unseen by its caller: retry, reroute or leader_changed.", nil, func(s stats, e emit) {
			st := &s.Statements
			e(float64(st.Retries-st.Reroutes-st.Revived), "retry")
			e(float64(st.Reroutes), "reroute")
			e(float64(st.Revived), "leader_changed")
		}},
		{"retries_left_out_total", counter, nil, "Retries that the budget didn't allow.", nil, of(func(s stats) uint64 { return s.Statements.BudgetSpent })},
		{"texts", gauge, nil, "SQL texts remembered.", nil, of(func(s stats) int { return s.Texts })},
		{"topology_age_seconds", gauge, nil, "Time since the topology was last confirmed.", nil, func(s stats, e emit) { e(s.Topology.Age.Seconds()) }},
		{"topology_refreshes_total", counter, nil, "Readings of the topology that succeeded.", nil, of(func(s stats) uint64 { return s.Topology.Refreshes })},
		{"topology_refresh_failures_total", counter, nil, "Readings of the topology that no node answered.", nil, of(func(s stats) uint64 { return s.Topology.Failures })},
		{"topology_missing_grants", gauge, nil, "Rights on system tables that the user lacks; see Stats().Topology.DegradedGrants.", nil, of(func(s stats) int { return len(s.Topology.DegradedGrants) })},
		{"topology_unreachable_instances", gauge, nil, "Instances whose own address nobody answers at.", nil, of(func(s stats) int { return len(s.Topology.Unreachable) })},
		{"replicasets_without_replica", gauge, nil, "Replicasets on which reads hang, because read_preference=replica and no replica is Online.", nil, of(func(s stats) int { return len(s.Topology.WithoutReplica) })},
		{"buckets_missing", gauge, []string{"tier"}, "Buckets that nobody is known to own.", nil, func(s stats, e emit) {
			for _, t := range s.Topology.Buckets {
				e(float64(t.Missing), t.Tier)
			}
		}},
		{"mirror_statements_total", counter, []string{"outcome"}, "Statements that the mirror was sent, by how they ended: ok or error.", nil, func(s stats, e emit) {
			failed := uint64(0)
			for _, n := range s.Mirror.Errors {
				failed += n
			}
			e(float64(s.Mirror.OK), "ok")
			e(float64(failed), "error")
		}},
		{"mirror_dropped_total", counter, []string{"reason"}, "Statements that the mirror was not sent, by reason.", nil, func(s stats, e emit) { by(s.Mirror.Dropped, e) }},
		{"mirror_compared_total", counter, []string{"result"}, "Comparisons with the mirror: same, different or incomplete.", nil, func(s stats, e emit) {
			e(float64(s.Mirror.Same), "same")
			e(float64(s.Mirror.Different), "different")
			e(float64(s.Mirror.Incomplete), "incomplete")
		}},
		{"mirror_queued", gauge, nil, "Statements that wait for the mirror now.", nil, of(func(s stats) int { return s.Mirror.Queued })},
		{"mirror_lag_seconds", gauge, nil, "Age of the oldest statement that the mirror hasn't done yet.", nil, func(s stats, e emit) { e(s.Mirror.Lag.Seconds()) }},
	}
}

// Metrics lists everything that this package exports.
func Metrics() []Metric {
	var all []Metric
	for _, f := range families() {
		kind := "gauge"
		if f.kind == counter {
			kind = "counter"
		}
		all = append(all, Metric{Name: prefix + f.name, Type: kind, Labels: f.allLabels(), Help: f.help})
	}
	return append(all, Metric{Name: durationName, Type: "histogram", Labels: durationLabels, Help: durationHelp})
}

// allLabels are the family's labels, a node's before them.
func (f *family) allLabels() []string {
	if f.node == nil {
		return f.labels
	}
	return append([]string{"node"}, f.labels...)
}
