package fleet

import (
	"fmt"
	"math"
	"strings"
)

// Chart draws how the queries per second of each scenario grow with the number of clients, both axes logarithmic, as an
// SVG picture.
func Chart(loads []Load) string {
	const width, height, left, top, right, bottom = 760, 420, 70, 30, 230, 50
	var names []string
	lines := map[string][]Load{}
	mostX, mostY, leastY := 1.0, 0.01, math.Inf(1)
	for _, l := range loads {
		if l.Queries <= 0 {
			continue
		}
		if lines[l.Scenario] == nil {
			names = append(names, l.Scenario)
		}
		lines[l.Scenario] = append(lines[l.Scenario], l)
		mostX, mostY, leastY = max(mostX, float64(l.Clients)), max(mostY, l.Queries), min(leastY, l.Queries)
	}
	topY, lowY := math.Ceil(math.Log10(mostY)), math.Floor(math.Log10(min(leastY, mostY)))
	topX := max(math.Ceil(math.Log10(mostX)), 1)
	x := func(clients float64) float64 {
		return left + math.Log10(max(clients, 1))/topX*(width-left-right)
	}
	y := func(queries float64) float64 {
		return height - bottom - (math.Log10(queries)-lowY)/max(topY-lowY, 1)*(height-top-bottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	line := func(x1, y1, x2, y2 float64, colour string) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
	}
	text := func(x, y float64, anchor, colour, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, colour, s)
	}
	for e := 0.0; e <= topX; e++ {
		v := math.Pow(10, e)
		line(x(v), top, x(v), height-bottom, "#ddd")
		text(x(v), height-bottom+18, "middle", "#333", fmt.Sprint(v))
	}
	for e := lowY; e <= topY; e++ {
		v := math.Pow(10, e)
		line(left, y(v), width-right, y(v), "#ddd")
		text(left-8, y(v)+4, "end", "#333", fmt.Sprint(v))
	}
	text(x(math.Pow(10, topX/2)), height-12, "middle", "#333", "clients")
	text(left, top-12, "start", "#333", "queries per second, all clients, their own statements left out")
	colours := []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"}
	for i, name := range names {
		colour := colours[i%len(colours)]
		var points []string
		for _, l := range lines[name] {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(float64(l.Clients)), y(l.Queries)))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(float64(l.Clients)), y(l.Queries), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		ly := float64(top + 10 + 22*i)
		line(width-right+15, ly-4, width-right+35, ly-4, colour)
		text(width-right+42, ly, "start", "#333", name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
