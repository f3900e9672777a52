package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/picoprom"
	"github.com/picodata/go-picodata/contrib/picotel"
)

// telemetry is what the service tells of itself: metrics for Prometheus, traces for OpenTelemetry.
type telemetry struct {
	registry   *prometheus.Registry
	statements picoprom.Statements
	tracer     *picotel.Tracer
	provider   *sdktrace.TracerProvider
}

// startTelemetry sends traces to where OTEL_EXPORTER_OTLP_ENDPOINT says, http://localhost:4318 by default.
func startTelemetry() (*telemetry, error) {
	exporter, err := otlptracehttp.New(context.Background())
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		registry:   prometheus.NewRegistry(),
		statements: picoprom.NewStatements(),
		provider:   sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)),
	}
	otel.SetTracerProvider(t.provider)
	if t.tracer, err = picotel.New(picotel.WithTracerProvider(t.provider)); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, t.registry.Register(t.statements)
}

// observe has the registry show a connector's nodes and connections.
func (t *telemetry) observe(c *picodata.Connector) error { return t.registry.Register(picoprom.New(c)) }

func (t *telemetry) handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// close sends the last spans. A collector that isn't there must not keep the service from stopping.
func (t *telemetry) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = t.provider.Shutdown(ctx)
	return nil
}
