package main

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// colors is how many nodes have a color of their own; page.html has c0 to c7.
const colors = 8

// The measures of a chart, in units of its view box.
const (
	chartWidth  = 1000.0
	plotLeft    = 64.0
	plotRight   = chartWidth - 8
	plotTop     = 26.0 // room for the faults' flags
	plotHeight  = 200.0
	plotBottom  = plotTop + plotHeight
	chartHeight = plotBottom + 24
)

// chart draws one SVG picture with time from left to right.
type chart struct {
	strings.Builder
	seconds float64 // the whole width
}

func (res *result) newChart(title string) *chart {
	c := &chart{seconds: max(res.Seconds, float64(len(res.Points))*res.Width, 1e-9)}
	fmt.Fprintf(c, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(title))
	step := niceStep(c.seconds / 8)
	for i := 0; float64(i)*step <= c.seconds; i++ {
		t := float64(i) * step
		fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s">%s s</text>`, c.x(t), plotBottom+18, anchor(c.x(t)), number(t))
	}
	return c
}

func (c *chart) x(seconds float64) float64 {
	return plotLeft + (plotRight-plotLeft)*seconds/c.seconds
}

func anchor(x float64) string {
	if x > plotRight-30 {
		return "end"
	}
	return "middle"
}

// scale draws a horizontal line with its label.
func (c *chart) scale(y float64, label string) {
	fmt.Fprintf(c, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
		plotLeft, plotRight, y, y, plotLeft-8, y+4, label)
}

func (c *chart) end() template.HTML {
	c.WriteString("</svg>")
	return template.HTML(c.String()) // made of numbers, and of names that were escaped
}

// faults draws a numbered flag for each fault.
func (c *chart) faults(list []fault) {
	last := math.Inf(-1)
	for i, f := range list {
		x := c.x(min(f.At.Seconds(), c.seconds))
		fmt.Fprintf(c, `<g><title>%s</title><line class="fault" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/>`, html.EscapeString(f.What), x, x, plotTop-4, plotBottom)
		if x-last >= 18 { // one flag stands for those that would cover each other
			last = x
			fmt.Fprintf(c, `<circle class="flag" cx="%.1f" cy="12" r="9"/><text class="num" x="%.1f" y="16" text-anchor="middle">%d</text>`, x, x, i+1)
		}
		c.WriteString("</g>")
	}
}

// stalls shades the time in which all statements, a kind or a node stood still.
func (c *chart) stalls(list []stall) {
	for _, s := range list {
		left, right := c.x(min(s.At, c.seconds)), c.x(min(s.At+s.Seconds, c.seconds))
		fmt.Fprintf(c, `<rect class="stall" x="%.2f" y="%g" width="%.2f" height="%g"><title>%s: no successful answer for %.2f s</title></rect>`,
			left, plotTop, max(right-left, 0.6), plotHeight, html.EscapeString(s.What()), s.Seconds)
	}
}

// latencyChart has a logarithmic scale: a fault is a hundred times slower than a good second.
func (res *result) latencyChart() template.HTML {
	c := res.newChart("latency over time")
	low, high := math.Inf(1), 0.0
	for _, p := range res.Points {
		if p.Count > 0 {
			low, high = min(low, p.P50), max(high, p.Max)
		}
	}
	if high <= 0 {
		low, high = 0.1, 1
	}
	bottom, top := math.Floor(math.Log10(max(low, 1e-3))), math.Ceil(math.Log10(max(high, 2e-3)))
	if top <= bottom {
		top = bottom + 1
	}
	y := func(v float64) float64 {
		return plotBottom - plotHeight*(math.Log10(max(v, math.Pow(10, bottom)))-bottom)/(top-bottom)
	}
	for e := bottom; e <= top; e++ {
		c.scale(y(math.Pow(10, e)), milliLabel(math.Pow(10, e)))
	}
	for _, l := range []struct {
		class string
		of    func(*point) float64
	}{
		{"max", func(p *point) float64 { return p.Max }},
		{"p99", func(p *point) float64 { return p.P99 }},
		{"p50", func(p *point) float64 { return p.P50 }},
	} {
		c.line(res, l.class, func(p *point) float64 { return y(l.of(p)) })
	}
	c.stalls(res.Stalls)
	c.faults(res.Faults)
	return c.end()
}

// line joins the intervals that have answers; one without neighbours is a dot.
func (c *chart) line(res *result, class string, y func(*point) float64) {
	var run []string
	flush := func() {
		switch {
		case len(run) == 1:
			x, y, _ := strings.Cut(run[0], ",")
			fmt.Fprintf(c, `<circle class="%s" cx="%s" cy="%s" r="2.5"/>`, class, x, y)
		case len(run) > 1:
			fmt.Fprintf(c, `<polyline class="%s" points="%s"/>`, class, strings.Join(run, " "))
		}
		run = run[:0]
	}
	for i := range res.Points {
		p := &res.Points[i]
		if p.Count == 0 {
			flush()
			continue
		}
		run = append(run, fmt.Sprintf("%.1f,%.1f", c.x(p.At+res.Width/2), y(p)))
	}
	flush()
}

// rateChart has a bar per interval, with the failed ones on top.
func (res *result) rateChart() template.HTML {
	c := res.newChart("statements per second over time")
	high := 0.0
	for i := range res.Points {
		p := &res.Points[i]
		high = max(high, float64(int(p.Count)+p.Errors)/res.span(p))
	}
	step := niceStep(max(high, 1) / 4)
	top := math.Ceil(max(high, 1)/step) * step
	y := func(v float64) float64 { return plotBottom - plotHeight*v/top }
	for v := 0.0; v <= top+step/2; v += step {
		c.scale(y(v), number(v))
	}
	for i := range res.Points {
		p := &res.Points[i]
		good := float64(p.Count) / res.span(p)
		bad := float64(p.Errors) / res.span(p)
		c.bar(res, p, "rate", y(good), plotBottom)
		if p.Errors > 0 {
			// A single failure among thousands must be seen too.
			c.bar(res, p, "err", min(y(good+bad), y(good)-3), y(good))
		}
	}
	c.stalls(res.Stalls)
	c.faults(res.Faults)
	return c.end()
}

// span is the length of an interval in seconds; the last one ends with the run.
func (res *result) span(p *point) float64 {
	if left := res.Seconds - p.At; left > 0 {
		return min(res.Width, max(left, res.Width/4))
	}
	return res.Width
}

func (c *chart) bar(res *result, p *point, class string, top, bottom float64) {
	if bottom-top < 0.05 {
		return
	}
	left, right := c.x(p.At), c.x(min(p.At+res.Width, c.seconds))
	fmt.Fprintf(c, `<rect class="%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, class, left, top, max(right-left, 0.6), bottom-top)
}

// shareChart stacks the nodes' shares of each interval's answers up to a whole.
func (res *result) shareChart() template.HTML {
	c := res.newChart("share of each node over time")
	for i := 0; i <= 4; i++ {
		c.scale(plotBottom-plotHeight*float64(i)/4, strconv.Itoa(25*i)+" %")
	}
	for i := range res.Points {
		p := &res.Points[i]
		bottom := plotBottom
		for j := range res.Nodes {
			n := p.Nodes[res.Nodes[j].Name]
			if n == 0 || p.Count == 0 {
				continue
			}
			top := bottom - plotHeight*float64(n)/float64(p.Count)
			c.bar(res, p, "c"+strconv.Itoa(j%colors), top, bottom)
			bottom = top
		}
	}
	c.stalls(res.Stalls)
	c.faults(res.Faults)
	return c.end()
}

// niceStep is the smallest of 1, 2 and 5 times a power of ten that isn't below v.
func niceStep(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*base >= v*(1-1e-9) {
			return f * base
		}
	}
	return 10 * base
}

func number(v float64) string {
	if v >= 10_000 {
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

func milliLabel(v float64) string {
	switch {
	case v >= 1000:
		return number(v/1000) + " s"
	case v < 1:
		return number(v*1000) + " µs"
	}
	return number(v) + " ms"
}
