package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// nodeEvent is what the driver said about a node's connections.
type nodeEvent struct {
	At      time.Time
	What    string // the log message without "picodata: "
	Node    string
	Address string
	Reason  string
	For     time.Duration
	Err     string
}

// String is one line.
func (e nodeEvent) String() string {
	text := e.What
	for _, part := range []string{e.Reason, e.Err} {
		if part != "" {
			text += ": " + strings.TrimPrefix(part, "picodata: ")
		}
	}
	if e.For > 0 {
		text += ", for " + e.For.Round(time.Millisecond).String()
	}
	return text
}

// again is how long one trouble of a node explains the next.
const again = 5 * time.Second

// eventLog hears the driver's log: why a node was ejected is told there and nowhere else.
type eventLog struct {
	next slog.Handler // nil = none

	mu     sync.Mutex
	last   map[string]nodeEvent // by address, of ejections and failed dials
	listen func(nodeEvent)
}

func newEventLog(next *slog.Logger) *eventLog {
	l := &eventLog{last: map[string]nodeEvent{}}
	if next != nil {
		l.next = next.Handler()
	}
	return l
}

func (l *eventLog) logger() *slog.Logger { return slog.New(l) }

// onEvent has f hear of ejections, readmissions and failed dials from now on. f must not block.
func (l *eventLog) onEvent(f func(nodeEvent)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen = f
}

// why returns the last trouble with the node at an address, nothing if it is over.
func (l *eventLog) why(address string) (nodeEvent, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.last[address]
	return e, ok
}

// Enabled is a slog.Handler's.
func (l *eventLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || l.next != nil && l.next.Enabled(ctx, level)
}

// Handle is a slog.Handler's.
func (l *eventLog) Handle(ctx context.Context, r slog.Record) error {
	e := nodeEvent{At: r.Time, What: strings.TrimPrefix(r.Message, "picodata: ")}
	switch e.What {
	case "node ejected", "probe failed", "dial failed", "node readmitted", "node full":
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "node":
				e.Node = a.Value.String()
			case "address":
				e.Address = a.Value.String()
			case "reason":
				e.Reason = a.Value.String()
			case "for":
				e.For = a.Value.Duration()
			case "error":
				e.Err = a.Value.String()
			}
			return true
		})
		l.note(e)
	}
	if l.next != nil && l.next.Enabled(ctx, r.Level) {
		return l.next.Handle(ctx, r)
	}
	return nil
}

func (l *eventLog) note(e nodeEvent) {
	l.mu.Lock()
	if e.What == "node readmitted" {
		delete(l.last, e.Address)
	} else {
		if e.What != "node full" && e.Err == "" {
			e.Err = "its connections failed"
			if before, ok := l.last[e.Address]; ok && e.At.Sub(before.At) < again {
				e.Err = before.Err // the dial before the ejection said it
			}
		}
		l.last[e.Address] = e
	}
	f := l.listen
	l.mu.Unlock()
	if f != nil {
		f(e)
	}
}

// WithAttrs is a slog.Handler's. The driver's own loggers have none that matter here.
func (l *eventLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is a slog.Handler's.
func (l *eventLog) WithGroup(string) slog.Handler { return l }
