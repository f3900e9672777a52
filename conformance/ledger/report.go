package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// head names the columns of every table.
var head = []string{"acknowledged", "definite failures", "unknown", "doubled", "lost", "lied", "slowest", "slowest elsewhere"}

func (l *line) cells() []string {
	cells := []string{}
	for _, n := range []int{l.acknowledged, l.refused, l.unknown, l.doubled, l.lost, l.lied} {
		cells = append(cells, fmt.Sprint(n))
	}
	cells = append(cells, l.slowest.Round(time.Millisecond).String())
	if l.elsewhere < 0 {
		return append(cells, "–")
	}
	return append(cells, l.elsewhere.Round(time.Millisecond).String())
}

// sum adds the lines of a result up.
func (r *result) sum() *line {
	total := &line{kind: r.event, causes: map[string]int{}, elsewhere: -1}
	for _, l := range r.lines {
		total.acknowledged += l.acknowledged
		total.refused += l.refused
		total.unknown += l.unknown
		total.late += l.late
		total.doubled += l.doubled
		total.lost += l.lost
		total.lied += l.lied
		total.slowest = max(total.slowest, l.slowest)
		total.elsewhere = max(total.elsewhere, l.elsewhere)
		for c, n := range l.causes {
			total.causes[c] += n
		}
	}
	return total
}

// table writes lines under a head, for a terminal or as Markdown.
func table(out io.Writer, first string, lines []*line, markdown bool) error {
	rows := [][]string{append([]string{first}, head...)}
	for _, l := range lines {
		rows = append(rows, append([]string{l.kind}, l.cells()...))
	}
	if markdown {
		for i, cells := range rows {
			fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintf(out, "|%s\n", strings.Repeat(" --- |", len(cells)))
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// print writes a result: each kind's line, then why statements failed, then what is wrong.
func (r *result) print(out io.Writer, markdown bool) error {
	fmt.Fprintf(out, "\n%s: %d statements under way when it struck; %d of unknown outcome began later\n\n", r.event, r.inFlight, r.sum().late)
	if err := table(out, "kind", r.lines, markdown); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, l := range r.lines {
		if why := l.reasons(); why != "" {
			fmt.Fprintf(out, "%s: %s\n", l.kind, why)
		}
	}
	for _, n := range r.notes {
		fmt.Fprintln(out, "wrong:", n)
	}
	return nil
}

// wrong is how much of a run must never be: lost counts what the cluster lost, too, if it may not.
func wrong(results []*result, lost bool) (n int) {
	for _, r := range results {
		s := r.sum()
		n += s.doubled + s.lied
		if lost {
			n += s.lost
		}
	}
	return n
}
