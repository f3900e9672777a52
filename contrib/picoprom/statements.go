package picoprom

import (
	"context"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	durationName = prefix + "statement_duration_seconds"
	durationHelp = "How long statements take, retries and waits included; a query ends when its rows are closed."
)

var durationLabels = []string{"node", "operation", "outcome"}

// Statements measures how long statements take, by the node that ran them, the operation (query, exec, ping, prepare)
// and the outcome (ok, error, outcome_unknown). It is a tracer for options.WithTracer and a prometheus.Collector.
type Statements struct{ *prometheus.HistogramVec }

var _ picodata.StatementTracer = Statements{}

// NewStatements makes Statements.
func NewStatements(opts ...Option) Statements {
	return Statements{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: durationName, Help: durationHelp, ConstLabels: newConfig(opts).labels,
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, durationLabels)}
}

type statementKey struct{}

type statement struct {
	begun     time.Time
	operation string
}

// StatementStart is a picodata.StatementTracer's.
func (s Statements) StatementStart(ctx context.Context, st picodata.StatementStart) context.Context {
	return context.WithValue(ctx, statementKey{}, statement{time.Now(), st.Operation})
}

// StatementEnd is a picodata.StatementTracer's.
func (s Statements) StatementEnd(ctx context.Context, st picodata.StatementEnd) {
	began, ok := ctx.Value(statementKey{}).(statement)
	if !ok {
		return
	}
	outcome := "ok"
	switch {
	case picodata.IsOutcomeUnknown(st.Err):
		outcome = "outcome_unknown"
	case st.Err != nil:
		outcome = "error"
	}
	s.WithLabelValues(nodeName(st.Node.Name, st.Node.Address), began.operation, outcome).Observe(time.Since(began.begun).Seconds())
}
