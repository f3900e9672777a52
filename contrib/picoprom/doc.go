// Package picoprom shows a picodata connector to Prometheus.
//
//	connector, err := picodata.NewConnector(cfg)
//	prometheus.MustRegister(picoprom.New(connector))
//
// New reads Connector.Stats at every scrape, which holds up no statement. Statements is a tracer beside it, for a
// histogram of how long statements take:
//
//	statements := picoprom.NewStatements()
//	connector, err := picodata.NewConnector(cfg, options.WithTracers(statements))
//	prometheus.MustRegister(statements, picoprom.New(connector))
//
// A process with several connectors gives each a label of its own, WithLabels(prometheus.Labels{"cluster": "orders"}).
//
// Metrics lists the names with their labels. Counters of a node that has left the node set end with it. The dashboard beside this
// package, dashboard.json, shows them in Grafana.
package picoprom
