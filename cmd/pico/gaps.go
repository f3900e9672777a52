package main

import (
	"slices"
	"time"
)

// gaps watches how long a kind of statement or a node went without a successful answer. Percentiles hide it: eight
// workers that wait for ten seconds are eight slow statements among a hundred thousand.
type gaps struct {
	last    time.Duration // of the last answer, since the run began
	longest time.Duration
	from    time.Duration // when the longest began
}

// answered notes an answer at a time since the run began. Answers of several workers may come in a slightly wrong order.
func (g *gaps) answered(at time.Duration) {
	if d := at - g.last; d > g.longest {
		g.longest, g.from = d, g.last
	}
	g.last = max(g.last, at)
}

// A gap is a stall from stallAfter on if it is also stallTimes as long as the group's answers lie apart on average: what is
// asked for rarely doesn't stall.
const (
	stallAfter = 250 * time.Millisecond
	stallTimes = 10
)

// stall is a gap that is worth a line.
type stall struct {
	Of      string  `json:"of"` // "all", "statement" or "node"
	Name    string  `json:"name"`
	At      float64 `json:"at_seconds"`
	Seconds float64 `json:"seconds"`
}

// What names the group that stalled.
func (s stall) What() string {
	if s.Of == "all" {
		return "all statements"
	}
	return s.Of + " " + s.Name
}

// stallOf is the group's longest gap if it is a stall. It ends with the run at the latest.
func (g *group) stallOf(of, name string, took time.Duration) (stall, bool) {
	seen := g.gaps
	seen.answered(took)
	usual := took / time.Duration(g.hist.total+1)
	if g.hist.total == 0 || seen.longest < max(stallAfter, stallTimes*usual) {
		return stall{}, false
	}
	return stall{of, name, seen.from.Seconds(), seen.longest.Seconds()}, true
}

// stalls are those of all groups, by when they began.
func (r *recorder) stalls(took time.Duration) []stall {
	var list []stall
	add := func(g *group, of, name string) {
		if s, ok := g.stallOf(of, name, took); ok {
			list = append(list, s)
		}
	}
	add(&r.all, "all", "total")
	for name, g := range r.kinds {
		add(g, "statement", name)
	}
	for name, g := range r.nodes {
		add(g, "node", name)
	}
	slices.SortFunc(list, func(a, b stall) int {
		switch {
		case a.At < b.At, a.At == b.At && a.Of+a.Name < b.Of+b.Name:
			return -1
		}
		return 1
	})
	return list
}
