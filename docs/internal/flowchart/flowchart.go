// Package flowchart draws the pictures of the documentation from texts, so that a picture can be
// read, reviewed and translated like the page that it stands on.
//
// A source has one item a line; "#" begins a comment, "|" breaks a label into lines:
//
//	grid COLUMNWIDTH ROWHEIGHT
//	node ID COLUMN ROW SHAPE LABEL      shape: box, choice, end
//	edge FROM TO [LABEL]
//
// Columns and rows may be fractions. An edge leaves downwards if its ends share a column,
// sideways if they share a row, and otherwise sideways and then into the target's top, bottom or side.
package flowchart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Chart is a parsed source.
type Chart struct {
	column, row float64 // size of a grid cell in pixels
	nodes       []node
	edges       []edge
}

type node struct {
	id    string
	x, y  float64 // centre in grid cells
	shape string
	label []string
}

type edge struct {
	from, to *node
	label    string
}

// Parse reads a source.
func Parse(source string) (*Chart, error) {
	c := &Chart{column: 260, row: 80}
	var edges [][]string
	for n, line := range strings.Split(source, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch word {
		case "grid":
			_, err = fmt.Sscanf(rest, "%g %g", &c.column, &c.row)
		case "node":
			err = c.addNode(rest)
		case "edge":
			edges = append(edges, fields(rest, 3))
		default:
			err = fmt.Errorf("unknown item %q", word)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	for _, words := range edges {
		if err := c.addEdge(words); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// fields splits at runs of blanks into at most n parts; the last one keeps its blanks.
func fields(s string, n int) []string {
	var parts []string
	for s = strings.TrimSpace(s); s != "" && len(parts) < n-1; s = strings.TrimLeft(s, " ") {
		var word string
		word, s, _ = strings.Cut(s, " ")
		parts = append(parts, word)
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}

func (c *Chart) addNode(text string) error {
	words := fields(text, 5)
	if len(words) != 5 {
		return fmt.Errorf("node %q: want ID COLUMN ROW SHAPE LABEL", text)
	}
	x, err1 := strconv.ParseFloat(words[1], 64)
	y, err2 := strconv.ParseFloat(words[2], 64)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("node %s: column and row must be numbers", words[0])
	}
	switch words[3] {
	case "box", "choice", "end":
	default:
		return fmt.Errorf("node %s: unknown shape %q", words[0], words[3])
	}
	if c.node(words[0]) != nil {
		return fmt.Errorf("node %s: twice", words[0])
	}
	c.nodes = append(c.nodes, node{id: words[0], x: x, y: y, shape: words[3], label: strings.Split(words[4], "|")})
	return nil
}

func (c *Chart) node(id string) *node {
	for i := range c.nodes {
		if c.nodes[i].id == id {
			return &c.nodes[i]
		}
	}
	return nil
}

func (c *Chart) addEdge(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("edge %q: want FROM TO [LABEL]", strings.Join(words, " "))
	}
	e := edge{from: c.node(words[0]), to: c.node(words[1])}
	if e.from == nil || e.to == nil {
		return fmt.Errorf("edge %s %s: no such node", words[0], words[1])
	}
	if len(words) == 3 {
		e.label = words[2]
	}
	c.edges = append(c.edges, e)
	return nil
}

// Sizes in pixels.
const (
	lineHeight = 16
	charWidth  = 7.7
	padX       = 14
	padY       = 10
	margin     = 16
)

// size is the width and height of a node's shape.
func (n *node) size() (w, h float64) {
	for _, line := range n.label {
		w = math.Max(w, float64(utf8.RuneCountInString(line))*charWidth)
	}
	w, h = w+2*padX, float64(len(n.label)*lineHeight)+2*padY
	if n.shape == "choice" {
		w += 2 * padX // its ends are pointed
	}
	return w, h
}

func (c *Chart) at(n *node) (x, y float64) { return n.x * c.column, n.y * c.row }

// SVG draws the chart. The same source gives the same bytes.
func (c *Chart) SVG() string {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i := range c.nodes {
		x, y := c.at(&c.nodes[i])
		w, h := c.nodes[i].size()
		left, right = math.Min(left, x-w/2), math.Max(right, x+w/2)
		top, bottom = math.Min(top, y-h/2), math.Max(bottom, y+h/2)
	}
	left, top = left-margin, top-margin
	width, height := right-left+margin, bottom-top+margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%.0f %.0f %.0f %.0f" font-family="Helvetica, Arial, sans-serif" font-size="13">`+"\n",
		width, height, left, top, width, height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" fill="#445"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", left, top, width, height)
	for i := range c.edges {
		c.drawEdge(&b, &c.edges[i])
	}
	for i := range c.nodes {
		c.drawNode(&b, &c.nodes[i])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *Chart) drawNode(b *strings.Builder, n *node) {
	x, y := c.at(n)
	w, h := n.size()
	switch n.shape {
	case "choice":
		fmt.Fprintf(b, `<polygon points="%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="#fff6dd" stroke="#b08a2e"/>`+"\n",
			x-w/2, y, x-w/2+padX, y-h/2, x+w/2-padX, y-h/2, x+w/2, y, x+w/2-padX, y+h/2, x-w/2+padX, y+h/2)
	case "end":
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="#e2f2e4" stroke="#3f8a4a"/>`+"\n", x-w/2, y-h/2, w, h, math.Min(h/2, 18))
	default:
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="#e8eef9" stroke="#4a66a0"/>`+"\n", x-w/2, y-h/2, w, h)
	}
	first := y - float64(len(n.label)-1)*lineHeight/2 + 4.5
	for i, line := range n.label {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#223">%s</text>`+"\n", x, first+float64(i*lineHeight), escape(line))
	}
}

func (c *Chart) drawEdge(b *strings.Builder, e *edge) {
	x1, y1 := c.at(e.from)
	x2, y2 := c.at(e.to)
	w1, h1 := e.from.size()
	w2, h2 := e.to.size()
	side := func(w float64, right bool) float64 {
		if right {
			return w / 2
		}
		return -w / 2
	}
	var path string
	var lx, ly float64 // where the label begins
	switch {
	case e.from.x == e.to.x: // up or down
		from, to := y1+side(h1, y2 > y1), y2-side(h2, y2 > y1)
		path = fmt.Sprintf("M%.1f %.1fV%.1f", x1, from, to)
		lx, ly = x1+6, (from+to)/2+4.5
	case e.from.y == e.to.y: // sideways
		from, to := x1+side(w1, x2 > x1), x2-side(w2, x2 > x1)
		path = fmt.Sprintf("M%.1f %.1fH%.1f", from, y1, to)
		lx, ly = math.Min(from, to)+8, y1-6
	default: // sideways, then up or down into the target
		from, to := x1+side(w1, x2 > x1), y2-side(h2, y2 > y1)
		path = fmt.Sprintf("M%.1f %.1fH%.1fV%.1f", from, y1, x2, to)
		lx, ly = math.Min(from, x2)+8, y1-6
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#445" marker-end="url(#arrow)"/>`+"\n", path)
	if e.label == "" {
		return
	}
	lines := strings.Split(e.label, "|")
	for i, line := range lines { // the last one nearest to the edge
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-size="12" fill="#445">%s</text>`+"\n", lx, ly-float64((len(lines)-1-i)*(lineHeight-2)), escape(line))
	}
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
