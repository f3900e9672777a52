package picotel_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/picotel"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a cluster with a client whose spans and metrics are kept.
type scene struct {
	t         *testing.T
	cluster   *picotest.Cluster
	connector *picodata.Connector
	db        *sql.DB
	spans     *tracetest.SpanRecorder
	provider  *sdktrace.TracerProvider
	reader    *metric.ManualReader
}

func start(t *testing.T, one picotest.Config, opts ...picotel.Option) *scene {
	t.Helper()
	s := &scene{t: t, cluster: picotest.Start(t, one), spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	s.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	meters := metric.NewMeterProvider(metric.WithReader(s.reader))
	opts = append(opts, picotel.WithTracerProvider(s.provider), picotel.WithMeterProvider(meters))
	tracer, err := picotel.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := picodata.ParseDSN(s.cluster.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	if s.connector, err = picodata.NewConnector(cfg, options.WithTracers(tracer), options.WithMaxConnsPerInstance(7), options.WithMaxRetries(0)); err != nil {
		t.Fatal(err)
	}
	registration, err := picotel.Observe(s.connector, opts...)
	if err != nil {
		t.Fatal(err)
	}
	s.db = sql.OpenDB(s.connector)
	t.Cleanup(func() {
		s.db.Close()
		if err := errors.Join(registration.Unregister(), meters.Shutdown(context.Background()), s.provider.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return s
}

var oneNode = picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}}

func (s *scene) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query, args...); err != nil {
		s.t.Fatal(err)
	}
}

// last is the span that ended last.
func (s *scene) last() sdktrace.ReadOnlySpan {
	all := s.spans.Ended()
	return all[len(all)-1]
}

// attributesOf is attributes as text, without those of the server's port, which is different every time.
func attributesOf(kvs []attribute.KeyValue) []string {
	var out []string
	for _, kv := range kvs {
		if kv.Key != "server.port" {
			out = append(out, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
		}
	}
	slices.Sort(out)
	return out
}

func TestSpans(t *testing.T) {
	s := start(t, oneNode, picotel.WithAttributes(attribute.String("cluster", "orders")))
	s.exec("create table t (id int primary key, s text) distributed by (id)")
	ctx, parent := s.provider.Tracer("app").Start(t.Context(), "request")
	defer parent.End()

	rows, err := s.db.QueryContext(ctx, "select s from t where id = 1 or s = 'secret'")
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.spans.Ended())
	for rows.Next() {
	}
	rows.Close()
	if n := len(s.spans.Ended()); n != before+1 {
		t.Fatalf("%d spans ended with the rows, want 1", n-before)
	}
	span := s.last()
	want := []string{
		"cluster=orders", "db.collection.name=t", "db.operation.name=SELECT", "db.query.summary=SELECT t",
		"db.query.text=select s from t where id = ? or s = ?", "db.response.returned_rows=0", "db.system.name=picodata",
		"picodata.node=i1", "picodata.route.reason=balance", "server.address=127.0.0.1",
	}
	if got := attributesOf(span.Attributes()); !slices.Equal(got, want) {
		t.Errorf("attributes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if span.Name() != "SELECT t" || span.SpanKind() != trace.SpanKindClient || span.Parent().SpanID() != parent.SpanContext().SpanID() {
		t.Errorf("%s, %v, child of %v", span.Name(), span.SpanKind(), span.Parent().SpanID())
	}
	if len(span.Events()) != 1 || span.Events()[0].Name != "connection leased" {
		t.Errorf("events %v", span.Events())
	}

	s.exec("insert into t values ($1, $2)", 1, "x")
	if s.last().Name() != "INSERT t" || s.last().Status().Code == codes.Error {
		t.Errorf("%s, %v", s.last().Name(), s.last().Status())
	}
}

func TestErrorsInSpans(t *testing.T) {
	s := start(t, oneNode)
	s.exec("create table t (id int primary key, s text) distributed by (id)")
	s.exec("insert into t values (4711, 'x')")
	for _, c := range []struct {
		kind, code string
		run        func(ctx context.Context) error
	}{
		{"unique_violation", "XX000", func(ctx context.Context) error {
			_, err := s.db.ExecContext(ctx, "insert into t values (4711, 'x')")
			return err
		}},
		{"outcome_unknown", "", func(ctx context.Context) error {
			s.cluster.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("insert into t"))
			_, err := s.db.ExecContext(ctx, "insert into t values ($1, 'y')", 2)
			return err
		}},
		{"cancelled", "", func(ctx context.Context) error {
			hold := s.cluster.Hold(picotest.SQL("select 7"))
			defer hold.ReleaseAll()
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				_ = hold.Wait(ctx, 1)
				cancel()
			}()
			return s.db.QueryRowContext(ctx, "select 7").Scan(new(int))
		}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if c.run(t.Context()) == nil {
				t.Fatal("no error")
			}
			span := s.last()
			attrs := attribute.NewSet(span.Attributes()...)
			kind, _ := attrs.Value("error.type")
			code, _ := attrs.Value("db.response.status_code")
			if kind.AsString() != c.kind || code.AsString() != c.code {
				t.Errorf("%s %s", kind.AsString(), code.AsString())
			}
			if st := span.Status(); st.Code != codes.Error || st.Description != c.kind {
				t.Errorf("status %v", st) // the server's words hold the key 4711
			}
		})
	}
}

// metrics is every data point as one line: name{attributes} value.
func (s *scene) metrics() map[string]float64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.t.Context(), &all); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[line(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					out[line(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					out[line(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[line(m.Name, p.Attributes)] = float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					out[line(m.Name, p.Attributes)] = float64(p.Count)
				}
			default:
				s.t.Errorf("%s: %T", m.Name, data)
			}
		}
	}
	return out
}

func line(name string, attrs attribute.Set) string {
	return name + "{" + strings.Join(attributesOf(attrs.ToSlice()), ",") + "}"
}

func TestMetrics(t *testing.T) {
	s := start(t, oneNode)
	s.exec("create table t (id int primary key, s text) distributed by (id)")
	hold := s.cluster.Hold(picotest.SQL("select 5"))
	done := make(chan error, 1)
	go func() {
		done <- s.db.QueryRowContext(t.Context(), "select 5").Scan(new(int))
	}()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	const node = "db.client.connection.pool.name=i1"
	const server = "server.address=127.0.0.1"
	during := s.metrics()
	check := func(got map[string]float64, want map[string]float64) {
		t.Helper()
		for name, n := range want {
			if v, ok := got[name]; !ok || v != n {
				t.Errorf("%s is %v (there: %v), want %v", name, v, ok, n)
			}
		}
	}
	check(during, map[string]float64{
		"db.client.connection.count{" + node + ",db.client.connection.state=used," + server + "}":     1,
		"db.client.connection.count{" + node + ",db.client.connection.state=idle," + server + "}":     0,
		"db.client.connection.count{" + node + ",db.client.connection.state=dialing," + server + "}":  0,
		"db.client.connection.count{" + node + ",db.client.connection.state=draining," + server + "}": 0,
		"db.client.connection.max{" + node + "," + server + "}":                                       7,
		"db.client.connection.idle.min{" + node + "," + server + "}":                                  0,
		"db.client.connection.pending_requests{" + node + "," + server + "}":                          0,
		"db.client.connection.pending_requests{db.client.connection.pool.name=cluster}":               0,
		"db.client.connection.timeouts{db.client.connection.pool.name=cluster}":                       0,
	})
	hold.ReleaseAll()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "selec 'secret'"); err == nil {
		t.Fatal("no error")
	}
	after := s.metrics()
	check(after, map[string]float64{
		"db.client.connection.count{" + node + ",db.client.connection.state=idle," + server + "}":                                                                                  1,
		"db.client.operation.duration{db.operation.name=SELECT,db.query.summary=SELECT,db.system.name=picodata," + server + "}":                                                    1,
		"db.client.operation.duration{db.operation.name=OTHER,db.query.summary=OTHER,db.response.status_code=XX000,db.system.name=picodata,error.type=query_error," + server + "}": 1,
		"db.client.response.returned_rows{db.operation.name=SELECT,db.query.summary=SELECT,db.system.name=picodata," + server + "}":                                                1,
		"db.client.connection.create_time{" + node + "," + server + "}":                                                                                                            1,
		"db.client.connection.wait_time{" + node + "," + server + "}":                                                                                                              3,
		"picodata.client.leases{" + node + "," + server + "}":                                                                                                                      3,
		"picodata.client.dials{" + node + "," + server + "}":                                                                                                                       1,
		"picodata.client.dial_failures{" + node + "," + server + "}":                                                                                                               0,
		"picodata.client.ejections{" + node + "," + server + "}":                                                                                                                   0,
		"picodata.client.ejected{" + node + "," + server + "}":                                                                                                                     0,
		"picodata.client.weight{" + node + "," + server + "}":                                                                                                                      10,
		"picodata.client.statements{outcome=ok}":                                                                                                                                   2,
		"picodata.client.statements{outcome=error}":                                                                                                                                1,
		"picodata.client.statements{outcome=outcome_unknown}":                                                                                                                      0,
		"picodata.client.retries{}":                                                                                                                                                0,
		"picodata.client.routing{decision=balance}":                                                                                                                                3,
		"picodata.client.topology.refresh_failures{}":                                                                                                                              0,
	})
	if n := after["picodata.client.topology.refreshes{}"]; n < 1 {
		t.Errorf("%v refreshes", n)
	}
	for name := range after {
		if strings.Contains(name, "secret") || strings.Contains(name, "selec'") {
			t.Errorf("a text shows in %s", name)
		}
	}
}
