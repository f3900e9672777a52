package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/picodata/go-picodata/metadata"
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
	if s.color {
		head = []string{"TIER", "REPLICASET", "INSTANCE", "ROLE", "STATE", "ADDRESS", "VERSION", "LATENCY", "STMT/S", "IN USE/CAP", "EJECTIONS", "NOTE"}
	}
	cells := [][]string{head}
	for i := range p.Instances {
		cells = append(cells, cellsOf(&p.Instances[i], s.color))
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
		if color := s.colorOf(i, p.Instances, mark); color != "" {
			text = color + text + plainText
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	b.WriteString(foot(p))
	return b.String()
}

// The colours of a terminal.
const (
	plainText = "\x1b[0m"
	reversed  = "\x1b[7m"
	dim       = "\x1b[2m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[1;33m"
)

// colorOf is the colour of a line: the head, then what is wrong, what changed, what isn't used, who leads.
func (s style) colorOf(line int, rows []instanceRow, mark byte) string {
	if !s.color {
		return ""
	}
	if line == 0 {
		return reversed
	}
	switch r := &rows[line-1]; {
	case r.Ejected, r.State != "" && r.State != string(metadata.Online), r.silent():
		if mark != 0 {
			return "\x1b[1;31m"
		}
		return red
	case mark != 0:
		return yellow
	case !r.Used:
		return dim
	case r.Role == metadata.RoleLeader.String():
		return green
	}
	return ""
}

func markText(mark byte) string {
	if mark == 0 {
		return "  "
	}
	return string(mark) + " "
}

func cellsOf(r *instanceRow, watched bool) []string {
	latency := "–"
	if r.LatencyMS > 0 {
		latency = strconv.FormatFloat(r.LatencyMS, 'f', 2, 64) + " ms"
	}
	conns := strconv.Itoa(r.Connections)
	if r.InUse > 0 {
		conns += fmt.Sprintf(" (%d in use)", r.InUse)
	}
	version, _, _ := strings.Cut(r.Version, "-")
	if watched {
		use := fmt.Sprintf("%d/–", r.InUse)
		if r.Cap > 0 {
			use = fmt.Sprintf("%d/%d", r.InUse, r.Cap)
		}
		return []string{r.Tier, r.Replicaset, r.Instance, r.Role, r.State, r.Address, version, latency, strconv.FormatFloat(r.Rate, 'f', 1, 64), use, strconv.FormatUint(r.Ejections, 10), r.Note}
	}
	return []string{r.Tier, r.Replicaset, r.Instance, r.Role, r.State, r.Address, version, latency, conns, r.Note}
}

// foot says what is not about one instance.
func foot(p picture) string {
	var b strings.Builder
	for _, g := range p.Grants {
		fmt.Fprintf(&b, "\nThe user may not read all there is to know; as an administrator run: %s", g)
	}
	for _, a := range p.Alerts {
		fmt.Fprintf(&b, "\n%s", a)
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
