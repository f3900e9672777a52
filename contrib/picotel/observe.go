package picotel

import (
	"context"
	"errors"

	picodata "github.com/picodata/go-picodata"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
)

// States of a connection beside the conventions' idle and used. With them db.client.connection.count is
// everything that counts toward the node's cap.
const (
	stateDialing  dbconv.ClientConnectionStateAttr = "dialing"
	stateDraining dbconv.ClientConnectionStateAttr = "draining"
)

// Observe has the connector's Stats read whenever metrics are collected. Call Unregister of the result when the connector is
// closed. Reading takes no lock that a statement waits for.
func Observe(c *picodata.Connector, opts ...Option) (metric.Registration, error) {
	o := observer{config: newConfig(opts), connector: c, minIdle: int64(c.Config().MinIdleConnsPerInstance)}
	m := o.meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	instruments, err := o.build(m)
	if err != nil {
		return nil, err
	}
	return m.RegisterCallback(o.observe, instruments...)
}

type observer struct {
	config
	connector *picodata.Connector
	minIdle   int64

	count    dbconv.ClientConnectionCountObservable
	max      dbconv.ClientConnectionMaxObservable
	idleMin  dbconv.ClientConnectionIdleMinObservable
	pending  dbconv.ClientConnectionPendingRequestsObservable
	timeouts dbconv.ClientConnectionTimeoutsObservable

	leases, dials, dialFailures, closed, ejections, overflow metric.Int64ObservableCounter
	routing, statements, retries, refreshes, refreshFailures metric.Int64ObservableCounter
	mirror, mirrorDropped                                    metric.Int64ObservableCounter
	ejected, weight                                          metric.Int64ObservableGauge
	age                                                      metric.Float64ObservableGauge
}

// build makes the instruments and lists them.
func (o *observer) build(m metric.Meter) ([]metric.Observable, error) {
	var (
		all  []metric.Observable
		errs []error
	)
	note := func(i metric.Observable, err error) {
		all, errs = append(all, i), append(errs, err)
	}
	var err error
	o.count, err = dbconv.NewClientConnectionCountObservable(m)
	note(o.count.Inst(), err)
	o.max, err = dbconv.NewClientConnectionMaxObservable(m)
	note(o.max.Inst(), err)
	o.idleMin, err = dbconv.NewClientConnectionIdleMinObservable(m)
	note(o.idleMin.Inst(), err)
	o.pending, err = dbconv.NewClientConnectionPendingRequestsObservable(m)
	note(o.pending.Inst(), err)
	o.timeouts, err = dbconv.NewClientConnectionTimeoutsObservable(m)
	note(o.timeouts.Inst(), err)
	for _, c := range []struct {
		to                      *metric.Int64ObservableCounter
		name, unit, description string
	}{
		{&o.leases, "leases", "{lease}", "Times a connection was handed out."},
		{&o.dials, "dials", "{dial}", "Dials that began."},
		{&o.dialFailures, "dial_failures", "{dial}", "Dials that failed."},
		{&o.closed, "closed", "{connection}", "Connections that were closed, by reason."},
		{&o.ejections, "ejections", "{ejection}", "Times a node was left out after connection failures."},
		{&o.overflow, "overflow", "{lease}", "Leases of nodes of weight 0, and of lower priorities, by reason."},
		{&o.routing, "routing", "{statement}", "Routing decisions: routed, hint, balance, or why a statement that could have been routed wasn't."},
		{&o.statements, "statements", "{statement}", "Statements by how they ended: ok, error or outcome_unknown."},
		{&o.retries, "retries", "{attempt}", "Attempts after a statement's first, unseen by its caller."},
		{&o.refreshes, "topology.refreshes", "{refresh}", "Readings of the topology that succeeded."},
		{&o.refreshFailures, "topology.refresh_failures", "{refresh}", "Readings of the topology that no node answered."},
		{&o.mirror, "mirror.statements", "{statement}", "Statements that the mirror was sent."},
		{&o.mirrorDropped, "mirror.dropped", "{statement}", "Statements that the mirror was not sent, by reason."},
	} {
		i, err := m.Int64ObservableCounter("picodata.client."+c.name, metric.WithUnit(c.unit), metric.WithDescription(c.description))
		*c.to = i
		note(i, err)
	}
	o.ejected, err = m.Int64ObservableGauge("picodata.client.ejected", metric.WithDescription("1 while the node is left out after connection failures."))
	note(o.ejected, err)
	o.weight, err = m.Int64ObservableGauge("picodata.client.weight", metric.WithDescription("The node's share of the work, as configured; 0 is overflow only."))
	note(o.weight, err)
	o.age, err = m.Float64ObservableGauge("picodata.client.topology.age", metric.WithUnit("s"), metric.WithDescription("Time since the topology was last confirmed."))
	note(o.age, err)
	return all, errors.Join(errs...)
}

// with makes a measurement's attributes.
func (o *observer) with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(attrs, o.attributes...)...)
}

func (o *observer) observe(_ context.Context, x metric.Observer) error {
	s := o.connector.Stats()
	waiting := 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		waiting += n.Waiters
		o.observeNode(x, n)
	}
	cluster := o.with(semconv.DBClientConnectionPoolName(clusterPool))
	x.ObserveInt64(o.pending.Inst(), int64(max(s.Total.Waiters-waiting, 0)), cluster)
	x.ObserveInt64(o.timeouts.Inst(), int64(s.Pool.Timeouts), cluster)
	if s.Total.Max > 0 {
		x.ObserveInt64(o.max.Inst(), int64(s.Total.Max), cluster)
	}
	by := func(to metric.Int64Observable, key string, counts map[string]uint64) {
		for name, n := range counts {
			x.ObserveInt64(to, int64(n), o.with(attribute.String(key, name)))
		}
	}
	by(o.overflow, "reason", s.Overflow)
	by(o.routing, "decision", s.Routing)
	st := &s.Statements
	by(o.statements, "outcome", map[string]uint64{"ok": st.Succeeded, "error": st.Failed - st.OutcomeUnknown, "outcome_unknown": st.OutcomeUnknown})
	x.ObserveInt64(o.retries, int64(st.Retries), o.with())
	x.ObserveInt64(o.refreshes, int64(s.Topology.Refreshes), o.with())
	x.ObserveInt64(o.refreshFailures, int64(s.Topology.Failures), o.with())
	x.ObserveFloat64(o.age, s.Topology.Age.Seconds(), o.with())
	if s.Mirror.Offered > 0 {
		x.ObserveInt64(o.mirror, int64(s.Mirror.Sent), o.with())
		by(o.mirrorDropped, "reason", s.Mirror.Dropped)
	}
	return nil
}

func (o *observer) observeNode(x metric.Observer, n *picodata.NodeStats) {
	pool := serverAttributes([]attribute.KeyValue{semconv.DBClientConnectionPoolName(poolName(n.Name, n.Address))}, n.Address)
	pool = pool[:len(pool):len(pool)]
	for state, count := range map[dbconv.ClientConnectionStateAttr]int{
		dbconv.ClientConnectionStateIdle: n.Idle, dbconv.ClientConnectionStateUsed: n.InUse, stateDialing: n.Dialing, stateDraining: n.Draining,
	} {
		x.ObserveInt64(o.count.Inst(), int64(count), o.with(append(pool, o.count.AttrClientConnectionState(state))...))
	}
	here := o.with(pool...)
	if n.Max > 0 {
		x.ObserveInt64(o.max.Inst(), int64(n.Max), here)
	}
	x.ObserveInt64(o.idleMin.Inst(), o.minIdle, here)
	x.ObserveInt64(o.pending.Inst(), int64(n.Waiters), here)
	x.ObserveInt64(o.leases, int64(n.Leases), here)
	x.ObserveInt64(o.dials, int64(n.Dials), here)
	x.ObserveInt64(o.dialFailures, int64(n.DialFailures), here)
	x.ObserveInt64(o.ejections, int64(n.Ejections), here)
	for why, count := range n.ClosedBy {
		x.ObserveInt64(o.closed, int64(count), o.with(append(pool, attribute.String("reason", why))...))
	}
	x.ObserveInt64(o.weight, int64(n.Weight), here)
	ejected := int64(0)
	if n.Ejected {
		ejected = 1
	}
	x.ObserveInt64(o.ejected, ejected, here)
}
