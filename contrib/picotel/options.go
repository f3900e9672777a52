package picotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option sets something of New or Observe.
type Option func(*config)

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	attributes []attribute.KeyValue
	queryText  bool
	errorText  bool
}

func newConfig(opts []Option) config {
	c := config{queryText: true}
	for _, o := range opts {
		o(&c)
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	return c
}

// WithTracerProvider sets who makes spans. Default: OpenTelemetry's global provider at the time of the call.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) { c.tracers = p }
}

// WithMeterProvider sets who makes instruments. Default: OpenTelemetry's global provider at the time of the call.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.meters = p }
}

// WithAttributes adds attributes to every span and measurement, as attribute.String("cluster", "orders") where a
// process talks to several clusters whose nodes have the same names.
func WithAttributes(attrs ...attribute.KeyValue) Option {
	return func(c *config) { c.attributes = append(c.attributes, attrs...) }
}

// WithoutQueryText leaves db.query.text out of spans. Without this option the text is there with its literals left out.
func WithoutQueryText() Option {
	return func(c *config) { c.queryText = false }
}

// WithErrorText puts the words of an error into the description of its span. Servers quote keys and values of rows in them.
// Without this option the description is the kind of error, as error.type is.
func WithErrorText() Option {
	return func(c *config) { c.errorText = true }
}
