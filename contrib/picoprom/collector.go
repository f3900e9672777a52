package picoprom

import (
	picodata "github.com/picodata/go-picodata"
	"github.com/prometheus/client_golang/prometheus"
)

// Option sets something of New or NewStatements.
type Option func(*config)

type config struct{ labels prometheus.Labels }

// WithLabels adds labels to every metric, to tell several connectors of a process apart.
func WithLabels(labels prometheus.Labels) Option {
	return func(c *config) { c.labels = labels }
}

func newConfig(opts []Option) config {
	var c config
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Collector is a prometheus.Collector over Connector.Stats.
type Collector struct {
	connector *picodata.Connector
	families  []family
	descs     []*prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// New makes a Collector. It reads the connector at each scrape, and nothing before. Unregister it when the connector is closed.
func New(c *picodata.Connector, opts ...Option) *Collector {
	o := newConfig(opts)
	k := &Collector{connector: c, families: families()}
	for i := range k.families {
		f := &k.families[i]
		k.descs = append(k.descs, prometheus.NewDesc(prefix+f.name, f.help, f.allLabels(), o.labels))
	}
	return k
}

// Describe is a prometheus.Collector's.
func (k *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range k.descs {
		ch <- d
	}
}

// Collect is a prometheus.Collector's.
func (k *Collector) Collect(ch chan<- prometheus.Metric) {
	s := k.connector.Stats()
	names := make(map[string]bool, len(s.Nodes))
	nodes := s.Nodes[:0:0]
	for i := range s.Nodes {
		// A node that came back under its name while its former self still drains: the one that works counts.
		n := &s.Nodes[i]
		name := nodeName(n.Name, n.Address)
		if n.Leaving && hasWorking(s.Nodes, name) || names[name] {
			continue
		}
		names[name] = true
		nodes = append(nodes, *n)
	}
	for i := range k.families {
		f, desc := &k.families[i], k.descs[i]
		if f.cluster != nil {
			f.cluster(&s, func(v float64, labels ...string) {
				ch <- prometheus.MustNewConstMetric(desc, f.kind, v, labels...)
			})
			continue
		}
		for j := range nodes {
			n := &nodes[j]
			f.node(n, func(v float64, labels ...string) {
				ch <- prometheus.MustNewConstMetric(desc, f.kind, v, append([]string{nodeName(n.Name, n.Address)}, labels...)...)
			})
		}
	}
}

// hasWorking reports whether a node of this name is in the set, not just leaving it.
func hasWorking(nodes []picodata.NodeStats, name string) bool {
	for i := range nodes {
		if !nodes[i].Leaving && nodeName(nodes[i].Name, nodes[i].Address) == name {
			return true
		}
	}
	return false
}

// nodeName is the label node: the instance's name, or its address while the name isn't known.
func nodeName(name, address string) string {
	if name != "" {
		return name
	}
	return address
}
