package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pair is a package's benchmarks, compiled twice.
type pair struct {
	dir, pkg, slice string
	here, there     string // the binaries
	inHere, inThere string // the folders that they run in
}

// compare measures, and names the benchmarks that are slower in every round.
func (p *pair) compare(ctx context.Context, w io.Writer, pattern string, meant map[string]string) ([]string, error) {
	suspects := map[string][]float64{} // ratios, one for each round
	for round := range rounds {
		now, before, err := p.round(ctx, pattern, suspects, round > 0)
		if err != nil {
			return nil, err
		}
		next := map[string][]float64{}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			r, ok := ratio(now[name], before[name])
			if !ok {
				if round == 0 {
					fmt.Fprintf(w, "%s %s: only in one of both\n", p.pkg, name)
				}
				continue
			}
			if round > 0 && suspects[name] == nil {
				continue
			}
			fmt.Fprintf(w, "%s %s: %.2f of the base's time\n", p.pkg, name, r)
			if r >= limit {
				next[name] = append(suspects[name], r)
			}
		}
		if suspects = next; len(suspects) == 0 {
			return nil, nil
		}
	}
	var slower []string
	for _, name := range slices.Sorted(maps.Keys(suspects)) {
		if why := meant[name]; why != "" {
			fmt.Fprintf(w, "%s %s: meant to be slower: %s\n", p.pkg, name, why)
			continue
		}
		slower = append(slower, fmt.Sprintf("%s %s %.2f", p.pkg, name, suspects[name]))
	}
	return slower, nil
}

// round measures both in turn, slice by slice, and changes who begins with each of them.
func (p *pair) round(ctx context.Context, pattern string, suspects map[string][]float64, only bool) (now, before map[string][]float64, err error) {
	now, before = map[string][]float64{}, map[string][]float64{}
	if only {
		pattern = anyOf(suspects)
	}
	for i := range sliceCount {
		for j := range 2 {
			bin, dir, into := p.here, p.inHere, now
			if (i+j)%2 == 1 {
				bin, dir, into = p.there, p.inThere, before
			}
			out, err := output(ctx, dir, bin, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+p.slice, "-test.timeout=5m")
			if err != nil {
				return nil, nil, err
			}
			for name, ns := range parse(out) {
				into[name] = append(into[name], ns)
			}
		}
	}
	return now, before, nil
}

// anyOf is a pattern for the top-level benchmarks that suspects belong to.
func anyOf(suspects map[string][]float64) string {
	var tops []string
	for name := range suspects {
		top, _, _ := strings.Cut(name, "/")
		tops = append(tops, regexp.QuoteMeta(top))
	}
	slices.Sort(tops)
	return "^(" + strings.Join(slices.Compact(tops), "|") + ")$"
}

var line = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.e+]+) ns/op`)

// parse reads what benchmarks print: name and nanoseconds.
func parse(out string) map[string]float64 {
	found := map[string]float64{}
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		if ns, err := strconv.ParseFloat(m[2], 64); err == nil {
			found[m[1]] = ns
		}
	}
	return found
}

// ratio is the median of the slices' ratios; false if a side is missing.
func ratio(now, before []float64) (float64, bool) {
	n := min(len(now), len(before))
	if n == 0 {
		return 0, false
	}
	ratios := make([]float64, n)
	for i := range n {
		ratios[i] = now[i] / before[i]
	}
	slices.Sort(ratios)
	if n%2 == 1 {
		return ratios[n/2], true
	}
	return (ratios[n/2-1] + ratios[n/2]) / 2, true
}
