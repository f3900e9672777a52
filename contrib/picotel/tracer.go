package picotel

import (
	"context"
	"time"

	picodata "github.com/picodata/go-picodata"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes a span of every statement and measures statements, waits and dials. Give it to
// options.WithTracer; one Tracer may serve several connectors.
type Tracer struct {
	config
	spans    trace.Tracer
	duration dbconv.ClientOperationDuration
	rows     dbconv.ClientResponseReturnedRows
	create   dbconv.ClientConnectionCreateTime
	wait     dbconv.ClientConnectionWaitTime
}

var (
	_ picodata.StatementTracer = (*Tracer)(nil)
	_ picodata.LeaseTracer     = (*Tracer)(nil)
	_ picodata.DialTracer      = (*Tracer)(nil)
)

// seconds are the conventions' boundaries for db.client.operation.duration.
var seconds = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}

// New makes a Tracer. An error is the meter provider's.
func New(opts ...Option) (*Tracer, error) {
	t := &Tracer{config: newConfig(opts)}
	t.spans = t.tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	m := t.meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	bounds := metric.WithExplicitBucketBoundaries(seconds...)
	var err error
	if t.duration, err = dbconv.NewClientOperationDuration(m, bounds); err != nil {
		return nil, err
	}
	if t.rows, err = dbconv.NewClientResponseReturnedRows(m, metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)); err != nil {
		return nil, err
	}
	if t.create, err = dbconv.NewClientConnectionCreateTime(m, bounds); err != nil {
		return nil, err
	}
	if t.wait, err = dbconv.NewClientConnectionWaitTime(m, bounds); err != nil {
		return nil, err
	}
	return t, nil
}

// statement is one under way, kept in its context.
type statement struct {
	begun time.Time
	span  trace.Span
	attrs []attribute.KeyValue // of the span and of measurements
	query bool
}

type statementKey struct{}

// StatementStart begins the statement's span.
func (t *Tracer) StatementStart(ctx context.Context, s picodata.StatementStart) context.Context {
	text := s.Fingerprint()
	st := &statement{begun: time.Now(), query: s.Operation == "query"}
	verb := operationName(&s, text)
	name := verb
	st.attrs = append(make([]attribute.KeyValue, 0, 10+len(t.attributes)), t.attributes...)
	st.attrs = append(st.attrs, semconv.DBOperationName(verb))
	if s.Table != "" {
		st.attrs = append(st.attrs, semconv.DBCollectionName(s.Table))
		name += " " + s.Table
	}
	st.attrs = append(st.attrs, semconv.DBQuerySummary(name))
	start := append(st.attrs[:len(st.attrs):len(st.attrs)], semconv.DBSystemNameKey.String(system))
	if t.queryText && text != "" {
		start = append(start, semconv.DBQueryText(text))
	}
	ctx, st.span = t.spans.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(st.begun), trace.WithAttributes(start...))
	return context.WithValue(ctx, statementKey{}, st)
}

// StatementEnd ends the span and measures the statement.
func (t *Tracer) StatementEnd(ctx context.Context, s picodata.StatementEnd) {
	st, ok := ctx.Value(statementKey{}).(*statement)
	if !ok {
		return
	}
	now := time.Now()
	attrs := serverAttributes(st.attrs, s.Node.Address)
	if s.Err != nil {
		kind, code := errorType(s.Err)
		attrs = append(attrs, semconv.ErrorTypeKey.String(kind))
		if code != "" {
			attrs = append(attrs, semconv.DBResponseStatusCode(code))
		}
		st.span.SetStatus(codes.Error, t.describe(kind, s.Err))
	}
	t.duration.Record(ctx, now.Sub(st.begun).Seconds(), system, attrs...)
	if st.query && s.Err == nil {
		t.rows.Record(ctx, s.Rows, system, attrs...)
	}
	if st.span.IsRecording() {
		extra := attrs[len(st.attrs):len(attrs):len(attrs)]
		if s.Node.Name != "" {
			extra = append(extra, keyNode.String(s.Node.Name))
		}
		if s.Reason != "" {
			extra = append(extra, keyReason.String(s.Reason))
		}
		if s.Attempts > 1 {
			extra = append(extra, keyAttempts.Int(s.Attempts))
		}
		if st.query && s.Err == nil {
			extra = append(extra, semconv.DBResponseReturnedRows(int(s.Rows)))
		}
		st.span.SetAttributes(extra...)
	}
	st.span.End(trace.WithTimestamp(now))
}

// describe is the description of a span that failed.
func (t *Tracer) describe(kind string, err error) string {
	if t.errorText {
		return err.Error()
	}
	return kind
}

// timed is a wait or a dial under way.
type timed struct{}

// LeaseStart notes when a wait for a connection begins.
func (t *Tracer) LeaseStart(ctx context.Context, _ picodata.LeaseStart) context.Context {
	return context.WithValue(ctx, timed{}, time.Now())
}

// LeaseEnd measures the wait, and notes it in the statement's span.
func (t *Tracer) LeaseEnd(ctx context.Context, l picodata.LeaseEnd) {
	begun, ok := ctx.Value(timed{}).(time.Time)
	if !ok {
		return
	}
	d := time.Since(begun)
	attrs := append(make([]attribute.KeyValue, 0, 4+len(t.attributes)), t.attributes...)
	if l.Err == nil {
		attrs = serverAttributes(attrs, l.Node.Address)
		t.wait.Record(ctx, d.Seconds(), poolName(l.Node.Name, l.Node.Address), attrs...)
	} else {
		kind, _ := errorType(l.Err)
		attrs = append(attrs, semconv.ErrorTypeKey.String(kind))
		t.wait.Record(ctx, d.Seconds(), clusterPool, attrs...)
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		event := "connection leased"
		if l.Err != nil {
			event = "no connection"
		}
		span.AddEvent(event, trace.WithAttributes(keyNode.String(poolName(l.Node.Name, l.Node.Address)), attribute.Float64("picodata.wait_seconds", d.Seconds())))
	}
}

// DialStart notes when a dial begins.
func (t *Tracer) DialStart(ctx context.Context, _ picodata.DialStart) context.Context {
	return context.WithValue(ctx, timed{}, time.Now())
}

// DialEnd measures the dial, TLS and login included.
func (t *Tracer) DialEnd(ctx context.Context, d picodata.DialEnd) {
	begun, ok := ctx.Value(timed{}).(time.Time)
	if !ok {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 4+len(t.attributes)), t.attributes...)
	attrs = serverAttributes(attrs, d.Node.Address)
	if d.Err != nil {
		kind, code := errorType(d.Err)
		if kind == otherError {
			kind = "dial" // refused, no route, TLS: nothing else fails here
		}
		attrs = append(attrs, semconv.ErrorTypeKey.String(kind))
		if code != "" {
			attrs = append(attrs, semconv.DBResponseStatusCode(code))
		}
	}
	t.create.Record(ctx, time.Since(begun).Seconds(), poolName(d.Node.Name, d.Node.Address), attrs...)
}
