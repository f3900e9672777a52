package picoprom_test

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/picoprom"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start opens a cluster whose client is registered.
func start(t *testing.T, one picotest.Config, more ...options.Option) (*picotest.Cluster, *sql.DB, *prometheus.Registry) {
	t.Helper()
	c := picotest.Start(t, one)
	cfg, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	labels := picoprom.WithLabels(prometheus.Labels{"cluster": "orders"})
	statements := picoprom.NewStatements(labels)
	connector, err := picodata.NewConnector(cfg, append(more, options.WithTracers(statements), options.WithMaxRetries(0))...)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(statements, picoprom.New(connector, labels))
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return c, db, registry
}

// scrape is every series as name{label=value,…} and its value; a histogram's is its count.
func scrape(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if l.GetName() != "cluster" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			slices.Sort(labels)
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch f.GetType() {
			case dto.MetricType_GAUGE:
				out[name] = m.Gauge.GetValue()
			case dto.MetricType_COUNTER:
				out[name] = m.Counter.GetValue()
			default:
				out[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return out
}

func check(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			t.Errorf("%s is %v (there: %v), want %v", name, g, ok, v)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(slices.Sorted(maps.Keys(got)), "\n"))
	}
}

func TestNumbers(t *testing.T) {
	one := picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}}
	c, db, registry := start(t, one, options.WithMaxConnsPerInstance(5))
	// Before the first statement nothing is known, and a scrape starts nothing.
	check(t, scrape(t, registry), map[string]float64{"picodata_client_waiters{}": 0, "picodata_client_statements_total{outcome=ok}": 0})
	if n := len(c.Node("i1").Conns()); n != 0 {
		t.Errorf("a scrape opened %d connections", n)
	}
	if _, err := db.ExecContext(t.Context(), "create table t (id int primary key) distributed by (id)"); err != nil {
		t.Fatal(err)
	}
	hold := c.Hold(picotest.SQL("select 5"))
	done := make(chan error, 1)
	go func() { done <- db.QueryRowContext(t.Context(), "select 5").Scan(new(int)) }()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	check(t, scrape(t, registry), map[string]float64{
		"picodata_client_connections{node=i1,state=used}":     1,
		"picodata_client_connections{node=i1,state=idle}":     0,
		"picodata_client_connections{node=i1,state=dialing}":  0,
		"picodata_client_connections{node=i1,state=draining}": 0,
		"picodata_client_connections_max{node=i1}":            5,
	})
	hold.ReleaseAll()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "selec"); err == nil {
		t.Fatal("no error")
	}
	c.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("insert into t"))
	if _, err := db.ExecContext(t.Context(), "insert into t values (7)"); !picodata.IsOutcomeUnknown(err) {
		t.Fatal(err)
	}
	check(t, scrape(t, registry), map[string]float64{
		"picodata_client_connections{node=i1,state=used}":                                            0,
		"picodata_client_leases_total{node=i1}":                                                      4,
		"picodata_client_dials_total{node=i1}":                                                       1,
		"picodata_client_dial_failures_total{node=i1}":                                               0,
		"picodata_client_connections_lost_total{node=i1}":                                            1,
		"picodata_client_connections_closed_total{node=i1,reason=lost}":                              1,
		"picodata_client_ejections_total{node=i1}":                                                   0,
		"picodata_client_node_ejected{node=i1}":                                                      0,
		"picodata_client_node_weight{node=i1}":                                                       10,
		"picodata_client_statements_total{outcome=ok}":                                               2,
		"picodata_client_statements_total{outcome=error}":                                            1,
		"picodata_client_statements_total{outcome=outcome_unknown}":                                  1,
		"picodata_client_retries_total{reason=retry}":                                                0,
		"picodata_client_routing_total{decision=balance}":                                            3,
		"picodata_client_buckets_missing{tier=default}":                                              0,
		"picodata_client_topology_missing_grants{}":                                                  0,
		"picodata_client_statement_duration_seconds{node=i1,operation=query,outcome=ok}":             1,
		"picodata_client_statement_duration_seconds{node=i1,operation=exec,outcome=error}":           1,
		"picodata_client_statement_duration_seconds{node=i1,operation=exec,outcome=outcome_unknown}": 1,
	})
}

// TestMetricsIsWhatIsExported: what a scrape gives is described by Metrics, by name, type and labels.
func TestMetricsIsWhatIsExported(t *testing.T) {
	_, db, registry := start(t, picotest.Config{})
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	known := map[string]picoprom.Metric{}
	for _, m := range picoprom.Metrics() {
		if known[m.Name].Name != "" || m.Help == "" {
			t.Errorf("%s is there twice, or has no help", m.Name)
		}
		known[m.Name] = m
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		m, ok := known[f.GetName()]
		if !ok || f.GetType().String() != strings.ToUpper(m.Type) {
			t.Errorf("%s, a %s, isn't in Metrics, or as a %s", f.GetName(), f.GetType(), m.Type)
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			if l.GetName() != "cluster" {
				labels = append(labels, l.GetName())
			}
		}
		want := slices.Sorted(slices.Values(m.Labels))
		if !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %q, Metrics says %q", f.GetName(), labels, want)
		}
		if m.Type == "counter" != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is a %s", m.Name, m.Type)
		}
	}
}

// TestNodesOfOneName: a node with a new address, and its former self that drains, are one series.
func TestNodesOfOneName(t *testing.T) {
	c, db, registry := start(t, picotest.Config{}, options.WithTopologyUpdateInterval(100*time.Millisecond))
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	connector, err := picodata.Unwrap(db)
	if err != nil {
		t.Fatal(err)
	}
	hold := c.Hold(picotest.SQL("select 5"))
	done := make(chan error, 1)
	go func() { done <- db.QueryRowContext(picodata.ToInstance(t.Context(), "i2"), "select 5").Scan(new(int)) }()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	connector.OnTopologyChange(func(topo *metadata.Topology) { changed <- struct{}{} })
	if err := c.Node("i2").Move(); err != nil {
		t.Fatal(err)
	}
	moved := make(chan error, 1) // who finds nobody at the old address has the topology read
	go func() { moved <- db.QueryRowContext(picodata.ToInstance(t.Context(), "i2"), "select 6").Scan(new(int)) }()
	defer func() { <-moved }()
	for named := 0; named != 2; {
		select {
		case <-changed:
		case <-time.After(3 * time.Second):
			t.Fatalf("%+v", connector.Stats().Nodes)
		}
		named = 0
		for _, n := range connector.Stats().Nodes {
			if n.Name == "i2" {
				named++
			}
		}
	}
	got := scrape(t, registry) // the pedantic registry refuses duplicates
	if v, ok := got["picodata_client_connections{node=i2,state=draining}"]; !ok || v != 0 {
		t.Errorf("draining %v %v: that is the old one's", v, ok)
	}
	hold.ReleaseAll()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
