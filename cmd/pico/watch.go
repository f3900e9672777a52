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

// remembered is how many events stand under the table where the height of the terminal isn't known.
const remembered = 8

// watchTopology draws the topology until ctx ends or q is pressed: at every change that the driver tells of, and every
// interval, for an instance that falls silent tells nothing.
func (t *tool) watchTopology(ctx context.Context, in io.Reader, out io.Writer, c *client, w *watch, probe time.Duration) error {
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
	var tick <-chan time.Time
	if w.interval > 0 {
		ticker := time.NewTicker(w.interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	var keys <-chan byte
	s := new(screen)
	_, terminal := t.terminal(out)
	if terminal && !w.asJSON {
		restore := t.raw(in)
		defer restore()
		if _, err := io.WriteString(out, "\x1b[?1049h\x1b[?25l"); err != nil { // the alternate screen, no cursor
			return err
		}
		defer func() { _, _ = io.WriteString(out, "\x1b[?25h\x1b[?1049l") }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		keys = keyboard(ctx, in)
	}
	var before *picture
	for due := true; ; {
		if due && !s.paused {
			p := look(ctx, c, probe)
			if ctx.Err() != nil {
				return nil // an interrupt is how it ends; what was cut short by it says nothing
			}
			marks, lines := compare(before, &p)
			p.Changes = lines
			s.show(p, marks)
			if !terminal || w.asJSON {
				if err := w.print(out, p, marks, before == nil); err != nil {
					return err
				}
			}
			before = &p
		}
		if terminal && !w.asJSON {
			width, _ := t.terminal(out)
			if _, err := io.WriteString(out, s.draw(width, t.height(out))); err != nil {
				return err
			}
		}
		due = true
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick:
		case key := <-keys:
			if s.press(key) {
				return nil
			}
			due = key == ' ' || key == 'p'
		}
	}
}

// keyboard gives the bytes of standard input. The reader can't be woken from a read; it ends with the process.
func keyboard(ctx context.Context, in io.Reader) <-chan byte {
	keys := make(chan byte)
	go func() {
		var b [1]byte
		for {
			if n, err := in.Read(b[:]); n == 0 || err != nil {
				return
			}
			select {
			case keys <- b[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return keys
}

// print prints one picture below the last one where there is no terminal, and only what is new.
func (w *watch) print(out io.Writer, p picture, marks changes, first bool) error {
	if !first && len(p.Changes) == 0 {
		return nil
	}
	text := ""
	if w.asJSON {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	} else {
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
	seconds := now.At.Sub(before.At).Seconds()
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
		if known && seconds > 0 && r.Leases >= was.Leases {
			r.Rate = float64(r.Leases-was.Leases) / seconds
		}
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
	for _, a := range now.Alerts {
		if !slices.Contains(before.Alerts, a) {
			say("! %s", a)
		}
	}
	for _, a := range before.Alerts {
		if !slices.Contains(now.Alerts, a) {
			say("✓ over: %s", a)
		}
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
