package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// screen is the state of pico topology --watch on a terminal: what keys change. It knows no terminal, so that tests can press keys.
type screen struct {
	sort    int // an index of sortings
	reverse bool
	paused  bool
	help    bool
	top     int    // the first row that is shown
	escape  []byte // of a key that is several bytes, so far

	events []string // the newest last
	last   picture
	marks  changes
}

// maxEvents bounds the log of events; the screen shows as many as fit.
const maxEvents = 200

// sortings are the orders of the rows that s goes through; the first is the driver's own, by tier, replicaset and name.
var sortings = []struct {
	name    string
	compare func(a, b instanceRow) int
}{
	{"place", func(a, b instanceRow) int { return 0 }},
	{"latency", func(a, b instanceRow) int { return cmp.Compare(b.LatencyMS, a.LatencyMS) }},
	{"rate", func(a, b instanceRow) int { return cmp.Compare(b.Rate, a.Rate) }},
	{"in use", func(a, b instanceRow) int { return cmp.Compare(b.InUse, a.InUse) }},
	{"ejections", func(a, b instanceRow) int { return cmp.Compare(b.Ejections, a.Ejections) }},
	{"state", func(a, b instanceRow) int { return cmp.Compare(a.State, b.State) }},
}

// screenHelp is what ? shows.
const screenHelp = `
  q, Ctrl-C    quit              s    sort by the next column
  p, space     pause, go on      r    reverse the order
  j k, arrows  scroll            ?    hide this help
`

// press takes one byte of the keyboard. Arrow keys are three of them.
func (s *screen) press(b byte) (quit bool) {
	if b == 0x1b || len(s.escape) > 0 {
		if s.escape = append(s.escape, b); len(s.escape) < 3 {
			return false
		}
		b = map[string]byte{"\x1b[A": 'k', "\x1b[B": 'j'}[string(s.escape)]
		s.escape = nil
	}
	switch b {
	case 'q', 'Q', 3, 4: // Ctrl-C and Ctrl-D are bytes like others on a raw terminal
		return true
	case 's':
		s.sort = (s.sort + 1) % len(sortings)
	case 'r':
		s.reverse = !s.reverse
	case 'p', ' ':
		s.paused = !s.paused
	case '?', 'h':
		s.help = !s.help
	case 'j':
		s.top = min(s.top+1, max(0, len(s.last.Instances)-1))
	case 'k':
		s.top = max(s.top-1, 0)
	}
	return false
}

// show takes a new picture.
func (s *screen) show(p picture, marks changes) {
	s.last, s.marks = p, marks
	s.events = append(s.events, p.Changes...)
	s.events = s.events[max(0, len(s.events)-maxEvents):]
	s.top = min(s.top, max(0, len(p.Instances)-1))
}

// draw is the whole screen of at most height lines (0 = any): the cluster, its rows, the events, the keys.
func (s *screen) draw(width, height int) string {
	p := s.last
	p.Instances = slices.Clone(p.Instances)
	slices.SortStableFunc(p.Instances, sortings[s.sort].compare)
	if s.reverse {
		slices.Reverse(p.Instances)
	}
	all := len(p.Instances)
	p.Instances = p.Instances[min(s.top, all):]
	head := []string{fmt.Sprintf("%s  %s; topology %d from %s, %s ago", p.At.Format(time.TimeOnly), plural(all, "instance", "instances"), p.Version, orNone(p.ReadFrom),
		time.Duration(p.Age*float64(time.Second)).Round(time.Second)), ""}
	for _, a := range p.Alerts {
		head = append(head, red+a+plainText)
	}
	foot := []string{"", s.keys()}
	if s.help {
		foot = append(strings.Split(strings.TrimRight(screenHelp, "\n"), "\n"), foot...)
	}
	if height > 0 {
		// The table gives way to neither the keys nor three events.
		room := height - len(head) - len(foot) - 2 - min(len(s.events), 3)
		if room = max(room, 1); len(p.Instances) > room {
			p.Instances = p.Instances[:room]
		}
	}
	body := strings.Split(strings.TrimRight(tableOf(p, s.marks, style{color: true, width: width}), "\n"), "\n")
	events := s.events
	if height > 0 {
		events = events[max(0, len(events)-max(0, height-len(head)-len(body)-len(foot)-1)):]
	} else {
		events = events[max(0, len(events)-remembered):]
	}
	lines := append(head, body...)
	if len(events) > 0 {
		lines = append(append(lines, ""), events...)
	}
	lines = append(lines, foot...)
	for i, l := range lines {
		if !strings.Contains(l, "\x1b") {
			lines[i] = cut(l, width)
		}
	}
	// Home, the new lines each erasing the rest of an old one, then whatever is below: no flicker. A raw terminal wants \r.
	return "\x1b[H" + strings.Join(lines, "\x1b[K\r\n") + "\x1b[K\x1b[J"
}

// keys is the last line.
func (s *screen) keys() string {
	order := sortings[s.sort].name
	if s.reverse {
		order += ", reversed"
	}
	text := fmt.Sprintf("q quit  p pause  s sort: %s  r reverse  ? help", order)
	if s.paused {
		text = "PAUSED  " + text
	}
	return text
}
