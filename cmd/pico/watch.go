package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/metadata"
)

// watch are the settings of pico topology --watch.
type watch struct {
	on, asJSON bool
	interval   time.Duration
}

// remembered is how many changes stand under the table on a terminal.
const remembered = 8

// watchTopology draws the topology until ctx ends: at every change that the driver tells of, and every interval, for
// an instance that falls silent tells nothing.
func (t *tool) watchTopology(ctx context.Context, out io.Writer, c *client, w *watch, probe time.Duration) error {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // the next look sees this change too
		}
	}
	c.OnTopologyChange(func(*metadata.Topology) { wake() })
	defer c.OnTopologyChange(nil)
	c.log.onEvent(func(e nodeEvent) {
		if e.What != "dial failed" { // the ejection that may follow is what counts
			wake()
		}
	})
	defer c.log.onEvent(nil)
	width, terminal := t.terminal(out)
	var tick <-chan time.Time
	if w.interval > 0 {
		ticker := time.NewTicker(w.interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	var (
		before *picture
		recent []string
	)
	for {
		p := look(ctx, c, probe)
		if ctx.Err() != nil {
			return nil // an interrupt is how it ends; what was cut short by it says nothing
		}
		marks, lines := compare(before, &p)
		p.Changes = lines
		recent = append(recent, lines...)
		recent = recent[max(0, len(recent)-remembered):]
		if err := w.draw(out, p, marks, recent, width, terminal, before == nil); err != nil {
			return err
		}
		before = &p
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick:
		}
	}
}

// draw prints one picture: over the last one on a terminal, below it elsewhere, and there only what is new.
func (w *watch) draw(out io.Writer, p picture, marks changes, recent []string, width int, terminal, first bool) error {
	var text string
	switch {
	case !first && !terminal && len(p.Changes) == 0:
		return nil
	case w.asJSON:
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	case terminal:
		// Home, the new lines each erasing the rest of an old one, then whatever is below: no flicker.
		text = fmt.Sprintf("%s  topology %d, read from %s %s ago   (Ctrl-C ends)\n\n", p.At.Format(time.TimeOnly), p.Version, p.ReadFrom, time.Duration(p.Age*float64(time.Second)).Round(time.Second))
		text += tableOf(p, marks, style{color: true, width: width})
		if len(recent) > 0 {
			text += "\n" + strings.Join(recent, "\n") + "\n"
		}
		text = "\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J"
	default:
		text = tableOf(p, marks, style{})
		for _, line := range p.Changes {
			text += line + "\n"
		}
		text += "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

// compare marks the rows of now that differ from the picture before, and says in words what changed. Latency
// and the tool's own connections don't count.
func compare(before, now *picture) (changes, []string) {
	marks := changes{}
	if before == nil {
		return marks, nil
	}
	at := now.At.Format(time.TimeOnly)
	var lines []string
	say := func(format string, args ...any) {
		lines = append(lines, at+"  "+fmt.Sprintf(format, args...))
	}
	old := make(map[string]*instanceRow, len(before.Instances))
	for i := range before.Instances {
		old[before.Instances[i].key()] = &before.Instances[i]
	}
	for i := range now.Instances {
		r := &now.Instances[i]
		was, known := old[r.key()]
		delete(old, r.key())
		if !known {
			marks[r.key()] = '+'
			say("+ %s joined %s as %s, %s", r.Instance, r.Replicaset, r.Role, r.State)
			continue
		}
		for _, f := range [...]struct{ name, was, is string }{
			{"name", was.Instance, r.Instance}, {"tier", was.Tier, r.Tier}, {"replicaset", was.Replicaset, r.Replicaset},
			{"role", was.Role, r.Role}, {"state", was.State, r.State}, {"address", was.Address, r.Address},
			{"version", was.Version, r.Version}, {"note", was.Note, r.Note},
		} {
			if f.was != f.is {
				marks[r.key()] = '*'
				say("* %s: %s %s → %s", r.Instance, f.name, orNone(f.was), orNone(f.is))
			}
		}
	}
	gone := make([]*instanceRow, 0, len(old))
	for _, r := range old {
		gone = append(gone, r)
	}
	slices.SortFunc(gone, func(a, b *instanceRow) int { return strings.Compare(a.Instance, b.Instance) })
	for _, r := range gone {
		say("- %s left %s", r.Instance, r.Replicaset)
	}
	if before.Trouble != now.Trouble && now.Trouble != "" {
		say("! %s", now.Trouble)
	}
	return marks, lines
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
