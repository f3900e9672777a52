// Package picotel makes OpenTelemetry spans and metrics of what the picodata driver does, by the semantic
// conventions for database clients.
//
//	tracer, err := picotel.New()
//	connector, err := picodata.NewConnector(cfg, options.WithTracers(tracer))
//	registration, err := picotel.Observe(connector)
//	db := sql.OpenDB(connector)
//
// New is the half that hears of statements: a client span for each, which ends when its rows are closed, and the
// histograms db.client.operation.duration, db.client.response.returned_rows, db.client.connection.create_time and
// db.client.connection.wait_time. Observe is the half that reads Connector.Stats when metrics are collected:
// db.client.connection.count and the rest of that family per node, and the driver's own numbers under
// picodata.client. Either works without the other.
//
// A pool, in the conventions' sense, is what the driver holds of one node: db.client.connection.pool.name is the node's
// name, server.address and server.port are where it is. What belongs to no node in particular (those who wait for
// any node, waits that timed out) has the pool name "cluster", so that sums over all pools are right.
//
// No literal of a statement leaves the process: db.query.text is the driver's fingerprint, in which "?" stands for
// each value. Arguments are never recorded, the words of errors only WithErrorText.
package picotel
