package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
)

// latencies are the figures of one group, in milliseconds.
type latencies struct {
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	P9999 float64 `json:"p9999"`
	Max   float64 `json:"max"`
}

// figures are what one kind of statement, one node, or the whole run did.
type figures struct {
	Name    string    `json:"name"`
	Role    string    `json:"role,omitempty"` // of a node, at the end
	Count   uint64    `json:"count"`          // that succeeded
	Errors  int       `json:"errors"`
	PerS    float64   `json:"per_second"`
	Share   float64   `json:"share"` // of all that succeeded, 0 to 1
	Latency latencies `json:"latency_ms"`
	Gap     float64   `json:"longest_gap_ms"` // without a successful answer
}

// point is one interval of a run.
type point struct {
	At     float64        `json:"at"` // seconds since the run began, of the interval's begin
	Count  uint64         `json:"count"`
	Errors int            `json:"errors"`
	P50    float64        `json:"p50_ms"`
	P99    float64        `json:"p99_ms"`
	Max    float64        `json:"max_ms"`
	Nodes  map[string]int `json:"nodes,omitempty"`
}

// result is all that a run has to tell.
type result struct {
	DSN       string            `json:"dsn"` // without secrets
	Servers   string            `json:"servers"`
	Began     time.Time         `json:"began"`
	Seconds   float64           `json:"seconds"`
	Workers   int               `json:"workers"`
	Rate      float64           `json:"rate"` // asked for; 0 = as fast as they can
	Width     float64           `json:"interval_seconds"`
	Total     figures           `json:"total"`
	Kinds     []figures         `json:"kinds"`
	Nodes     []figures         `json:"nodes"`
	Errors    []failure         `json:"errors"`
	Stalls    []stall           `json:"stalls"`
	Faults    []fault           `json:"faults"`
	Forgotten int               `json:"faults_beyond,omitempty"`
	Routing   map[string]uint64 `json:"routing"`
	Retries   uint64            `json:"retries"` // unseen by the caller
	Points    []point           `json:"points"`
}

// result sums a recorder up.
func (r *recorder) result(b *bench, c *client, list []statement, before picodata.Stats, took time.Duration) *result {
	after := c.Stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	res := &result{
		DSN: b.cfg.RedactedDSN(), Servers: servers(c.Topology()), Began: r.began, Seconds: took.Seconds(), Workers: b.load.workers,
		Rate: b.load.rate, Width: r.width.Seconds(), Faults: r.faults, Forgotten: r.more, Routing: map[string]uint64{},
		Retries: after.Statements.Retries - before.Statements.Retries, Stalls: r.stalls(took),
	}
	all := r.all.hist.total
	res.Total = r.all.figures("total", all, took)
	for i := range list {
		if g := r.kinds[list[i].name]; g != nil {
			res.Kinds = append(res.Kinds, g.figures(list[i].name, all, took))
		}
	}
	roles := rolesOf(c.Topology())
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		f := r.nodes[name].figures(name, all, took)
		f.Role = roles[name]
		res.Nodes = append(res.Nodes, f)
	}
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		res.Errors = append(res.Errors, *r.failed[name])
	}
	for reason, n := range after.Routing {
		if d := n - before.Routing[reason]; d > 0 {
			res.Routing[reason] = d
		}
	}
	for i := range r.cells {
		c := &r.cells[i]
		res.Points = append(res.Points, point{
			At: (time.Duration(i) * r.width).Seconds(), Count: c.hist.total, Errors: c.errors,
			P50: ms(c.hist.quantile(0.5)), P99: ms(c.hist.quantile(0.99)), Max: ms(c.hist.max), Nodes: c.nodes,
		})
	}
	return res
}

func (g *group) figures(name string, all uint64, took time.Duration) figures {
	h := &g.hist
	f := figures{Name: name, Count: h.total, Errors: g.errors, Latency: latencies{
		Mean: ms(h.mean()), Min: ms(h.min), P50: ms(h.quantile(0.5)), P90: ms(h.quantile(0.9)), P95: ms(h.quantile(0.95)),
		P99: ms(h.quantile(0.99)), P999: ms(h.quantile(0.999)), P9999: ms(h.quantile(0.9999)), Max: ms(h.max),
	}}
	if seen := g.gaps; h.total > 0 {
		seen.answered(took)
		f.Gap = ms(seen.longest)
	}
	if took > 0 {
		f.PerS = float64(h.total) / took.Seconds()
	}
	if all > 0 {
		f.Share = float64(h.total) / float64(all)
	}
	return f
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// servers lists the versions of the cluster.
func servers(topo *metadata.Topology) string {
	if topo == nil {
		return ""
	}
	seen := map[string]bool{}
	for i := range topo.Instances {
		if in := &topo.Instances[i]; in.State != metadata.Expelled && in.Version != "" {
			v, _, _ := strings.Cut(in.Version, "-")
			seen[v] = true
		}
	}
	return fmt.Sprintf("Picodata %s, %d instances", strings.Join(slices.Sorted(maps.Keys(seen)), " and "), len(topo.Instances))
}

// rolesOf gives the role by a node's name as the tracer writes it.
func rolesOf(topo *metadata.Topology) map[string]string {
	m := map[string]string{}
	if topo == nil {
		return m
	}
	for i := range topo.Instances {
		in := &topo.Instances[i]
		m[picodata.Node{Name: in.Name, Address: in.Address}.String()] = in.Role.String()
	}
	return m
}

// report prints the result, writes the page, and turns failed statements into an exit code.
func (b *bench) report(res *result) error {
	text := res.text()
	if b.json {
		var err error
		if text, err = asJSON(res); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(b.out, text); err != nil {
		return err
	}
	if b.html != "" {
		page, err := res.page()
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.html, page, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(b.diag, "Report:", b.html)
	}
	if res.Total.Errors > 0 {
		return verdict(exitFaults)
	}
	return nil
}

// text is the result for a terminal.
func (res *result) text() string {
	var out strings.Builder
	rate := "as fast as they can"
	if res.Rate > 0 {
		rate = fmt.Sprintf("%g a second asked for", res.Rate)
	}
	fmt.Fprintf(&out, "%s\n%s; %.1f s, %d workers, %s\n\n", res.DSN, res.Servers, res.Seconds, res.Workers, rate)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(f *figures) {
		l := f.Latency
		fmt.Fprintf(w, "%s\t%d\t%.1f%%\t%.0f\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.Name, f.Count, f.Share*100, f.PerS, f.Errors,
			millis(l.P50), millis(l.P90), millis(l.P95), millis(l.P99), millis(l.P999), millis(l.P9999), millis(l.Max), millis(f.Gap))
	}
	fmt.Fprintln(w, "STATEMENT\tCOUNT\tSHARE\tPER SECOND\tERRORS\tP50\tP90\tP95\tP99\tP99.9\tP99.99\tMAX\tGAP\t")
	for i := range res.Kinds {
		row(&res.Kinds[i])
	}
	row(&res.Total)
	fmt.Fprintln(w, "\t\t\t\t\t\t\t\t\t\t\t\t\t")
	fmt.Fprintln(w, "NODE\tCOUNT\tSHARE\tPER SECOND\tERRORS\tP50\tP90\tP95\tP99\tP99.9\tP99.99\tMAX\tGAP\t")
	for i := range res.Nodes {
		row(&res.Nodes[i])
	}
	_ = w.Flush() // a strings.Builder takes everything
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(res.Routing)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, res.Routing[reason]))
	}
	fmt.Fprintf(&out, "\nRouting: %s; retries unseen by the caller: %d\n", orNone(strings.Join(parts, ", ")), res.Retries)
	if len(res.Stalls) > 0 {
		out.WriteString("\nStalls, the longest time without a successful answer:\n")
		for _, s := range res.Stalls {
			fmt.Fprintf(&out, "  %6.1f s  %s for %.2f s\n", s.At, s.What(), s.Seconds)
		}
	}
	if len(res.Errors) > 0 {
		out.WriteString("\nErrors:\n")
		for _, f := range res.Errors {
			fmt.Fprintf(&out, "  %d × %s, first after %.1f s: %s\n", f.Count, f.Kind, f.First.Seconds(), f.Text)
		}
	}
	if len(res.Faults) > 0 {
		out.WriteString("\nEvents in the cluster:\n")
		for _, f := range res.Faults {
			fmt.Fprintf(&out, "  %6.1f s  %s\n", f.At.Seconds(), f.What)
		}
		if res.Forgotten > 0 {
			fmt.Fprintf(&out, "  and %d more\n", res.Forgotten)
		}
	}
	return out.String()
}

func millis(v float64) string { return short(time.Duration(v * float64(time.Millisecond))) }
