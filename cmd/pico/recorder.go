package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
)

// maxCells bounds the intervals of a run: beyond, two neighbours become one.
const maxCells = 240

// maxFaults bounds what is remembered of a run with trouble all along.
const maxFaults = 200

// cell is what happened in one interval.
type cell struct {
	hist   histogram
	errors int
	nodes  map[string]int // answers, by node
}

func (c *cell) merge(o *cell) {
	c.hist.merge(&o.hist)
	c.errors += o.errors
	for n, k := range o.nodes {
		c.count(n, k)
	}
}

func (c *cell) count(node string, k int) {
	if c.nodes == nil {
		c.nodes = map[string]int{}
	}
	c.nodes[node] += k
}

// group is what one kind of statement, or one node, did.
type group struct {
	hist   histogram
	errors int
	gaps   gaps
}

// offset is a time since the run began, in JSON in seconds.
type offset time.Duration

// Seconds is time.Duration's.
func (o offset) Seconds() float64 { return time.Duration(o).Seconds() }

// MarshalJSON writes seconds.
func (o offset) MarshalJSON() ([]byte, error) { return json.Marshal(o.Seconds()) }

// UnmarshalJSON reads seconds.
func (o *offset) UnmarshalJSON(text []byte) error {
	var s float64
	err := json.Unmarshal(text, &s)
	*o = offset(s * float64(time.Second))
	return err
}

// failure is one kind of error.
type failure struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	First offset `json:"first_seconds"`
	Text  string `json:"text"` // of the first
}

// fault is an event in the cluster during a run: a change of the topology, an ejection, a failed dial.
type fault struct {
	At   offset `json:"at_seconds"`
	What string `json:"what"`
}

// recorder gathers the outcome of every statement. One lock for all workers costs nothing beside a round trip.
type recorder struct {
	mu     sync.Mutex
	began  time.Time
	width  time.Duration
	cells  []cell
	all    group
	kinds  map[string]*group
	nodes  map[string]*group
	failed map[string]*failure
	dials  map[string]time.Time // the last failed one, by address
	faults []fault
	more   int // faults beyond maxFaults
}

func newRecorder(began time.Time, width time.Duration) *recorder {
	return &recorder{began: began, width: width, kinds: map[string]*group{}, nodes: map[string]*group{}, failed: map[string]*failure{}, dials: map[string]time.Time{}}
}

// nobody is the node of statements that no node ran.
const nobody = "none"

// done records a statement that is over. due is when it began, or should have.
func (r *recorder) done(kind, node string, due, now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if node == "" {
		node = nobody
	}
	took := now.Sub(due)
	groups := [...]*group{&r.all, groupOf(r.kinds, kind), groupOf(r.nodes, node)}
	c := r.cellAt(now)
	if err != nil {
		c.errors++
		for _, g := range groups {
			g.errors++
		}
		name := errorKind(err)
		f := r.failed[name]
		if f == nil {
			f = &failure{Kind: name, First: offset(now.Sub(r.began)), Text: strings.TrimPrefix(err.Error(), "picodata: ")}
			r.failed[name] = f
		}
		f.Count++
		return
	}
	c.hist.add(took)
	c.count(node, 1)
	for _, g := range groups {
		g.hist.add(took)
		g.gaps.answered(now.Sub(r.began))
	}
}

func groupOf(m map[string]*group, name string) *group {
	g := m[name]
	if g == nil {
		g = &group{}
		m[name] = g
	}
	return g
}

// cellAt is the interval of a time. The lock is held.
func (r *recorder) cellAt(now time.Time) *cell {
	since := max(now.Sub(r.began), 0)
	for since/r.width >= maxCells {
		r.width *= 2
		half := make([]cell, (len(r.cells)+1)/2)
		for i := range r.cells {
			half[i/2].merge(&r.cells[i])
		}
		r.cells = half
	}
	at := int(since / r.width)
	for len(r.cells) <= at {
		r.cells = append(r.cells, cell{})
	}
	return &r.cells[at]
}

// event records what happened in the cluster.
func (r *recorder) event(now time.Time, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) == maxFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, fault{offset(max(now.Sub(r.began), 0)), what})
}

// progress is what the bar shows.
func (r *recorder) progress() (succeeded uint64, failed int, p99 time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.hist.total, r.all.errors, r.all.hist.quantile(0.99)
}

// sample is where the driver's tracer notes which node ran a statement.
type sample struct{ node string }

type sampleKey struct{}

// benchTracer hears from the driver where statements ran and what happens in the cluster.
type benchTracer struct{ rec func() *recorder }

// StatementStart is picodata.StatementTracer's.
func (benchTracer) StatementStart(ctx context.Context, _ picodata.StatementStart) context.Context {
	return ctx
}

// StatementEnd is picodata.StatementTracer's. It runs on the worker's goroutine.
func (benchTracer) StatementEnd(ctx context.Context, e picodata.StatementEnd) {
	if s, ok := ctx.Value(sampleKey{}).(*sample); ok {
		s.node = e.Node.String()
	}
}

// TopologyChanged is picodata.TopologyTracer's.
func (b benchTracer) TopologyChanged(c picodata.TopologyChange) {
	rec := b.rec()
	if rec == nil || c.Old == nil {
		return
	}
	for _, e := range c.Events {
		if e.Kind == metadata.SeedIdentified || e.Kind == metadata.RightsChanged {
			continue // what the client learnt, not an event of the cluster
		}
		text := e.Kind.String() + ": " + e.Name
		if e.From != "" || e.To != "" {
			text += ", " + orNone(nameIn(c, e.From)) + " → " + orNone(nameIn(c, e.To))
		}
		rec.event(time.Now(), text)
	}
}

// nameIn turns an instance's uuid into its name, and leaves everything else.
func nameIn(c picodata.TopologyChange, text string) string {
	for _, t := range []*metadata.Topology{c.New, c.Old} {
		if in, ok := t.Instance(text); ok {
			return in.Name
		}
	}
	return text
}

// heard records what the driver's log said of a node: ejections, and of failed dials the first.
func (r *recorder) heard(e nodeEvent) {
	switch e.What {
	case "node ejected", "node readmitted", "node full":
	case "dial failed":
		r.mu.Lock()
		before, known := r.dials[e.Address]
		r.dials[e.Address] = e.At
		r.mu.Unlock()
		if known && e.At.Sub(before) < again {
			return
		}
	default:
		return
	}
	what := e.What
	e.What, e.Err = picodata.Node{Name: e.Node, Address: e.Address}.String(), brief(e.Err)
	r.event(e.At, what+": "+e.String())
}
