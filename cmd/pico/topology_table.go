package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// showPicture prints a picture once.
func showPicture(out io.Writer, p picture, json bool) error {
	text := tableOf(p, nil, style{})
	if json {
		var err error
		if text, err = asJSON(p); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// style says what the output can show.
type style struct {
	color bool
	width int // of a line; 0 = any
}

// changes are the marks of the rows that differ from the picture before, by instance: + new, * changed.
type changes map[string]byte

// tableOf draws a picture.
func tableOf(p picture, marks changes, s style) string {
	head := []string{"TIER", "REPLICASET", "INSTANCE", "ROLE", "STATE", "ADDRESS", "VERSION", "LATENCY", "CONNS", "NOTE"}
	cells := [][]string{head}
	for i := range p.Instances {
		cells = append(cells, cellsOf(&p.Instances[i]))
	}
	widths := make([]int, len(head))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for i, row := range cells {
		mark := byte(0)
		if i > 0 {
			mark = marks[p.Instances[i-1].key()]
		}
		if marks != nil {
			b.WriteString(markText(mark))
		}
		var line strings.Builder
		for j, c := range row {
			line.WriteString(c)
			if j < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(c)+2))
			}
		}
		text := cut(strings.TrimRight(line.String(), " "), s.width-2)
		if s.color && mark != 0 {
			text = "\x1b[1;33m" + text + "\x1b[0m"
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	b.WriteString(foot(p))
	return b.String()
}

func markText(mark byte) string {
	if mark == 0 {
		return "  "
	}
	return string(mark) + " "
}

func cellsOf(r *instanceRow) []string {
	latency := "–"
	if r.LatencyMS > 0 {
		latency = strconv.FormatFloat(r.LatencyMS, 'f', 2, 64) + " ms"
	}
	conns := strconv.Itoa(r.Connections)
	if r.InUse > 0 {
		conns += fmt.Sprintf(" (%d in use)", r.InUse)
	}
	version, _, _ := strings.Cut(r.Version, "-")
	return []string{r.Tier, r.Replicaset, r.Instance, r.Role, r.State, r.Address, version, latency, conns, r.Note}
}

// foot says what is not about one instance.
func foot(p picture) string {
	var b strings.Builder
	for _, g := range p.Grants {
		fmt.Fprintf(&b, "\nThe user may not read all there is to know; as an administrator run: %s", g)
	}
	if p.Trouble != "" {
		fmt.Fprintf(&b, "\n%s", p.Trouble)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// key is what a row is known by from one picture to the next.
func (r *instanceRow) key() string {
	if r.UUID != "" {
		return r.UUID
	}
	return r.Address
}

// cut shortens a line to width runes, if there is a width.
func cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
