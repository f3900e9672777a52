package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/picodata/go-picodata"
)

// TestStalls: a node that was silent for two seconds among a thousand answers is named; one that is asked for rarely isn't, and
// a kind that other nodes went on answering isn't either.
func TestStalls(t *testing.T) {
	began := time.Unix(100, 0)
	rec := newRecorder(began, time.Second)
	for i := range 1000 {
		at := began.Add(time.Duration(i) * 10 * time.Millisecond)
		node := "a"
		if since := at.Sub(began); i%2 == 0 && (since <= 3*time.Second || since > 5*time.Second) {
			node = "b"
		}
		if i%400 == 399 {
			node = "rare"
		}
		rec.done("read", node, at, at, nil)
	}
	got := rec.stalls(10 * time.Second)
	if len(got) != 1 || got[0].Of != "node" || got[0].Name != "b" || got[0].At != 3 || got[0].Seconds < 2 || got[0].Seconds > 2.03 {
		t.Errorf("%+v", got)
	}
	// What never came back stalls until the end.
	rec = newRecorder(began, time.Second)
	for i := range 100 {
		at := began.Add(time.Duration(i) * 10 * time.Millisecond)
		rec.done("read", "a", at, at, nil)
		rec.done("read", "a", at, at, errors.New("an error is no answer"))
	}
	got = rec.stalls(4 * time.Second)
	if len(got) != 3 || got[0].Of != "all" || got[0].At != 0.99 || got[0].Seconds != 3.01 {
		t.Errorf("%+v", got)
	}
	if got = newRecorder(began, time.Second).stalls(time.Minute); len(got) != 0 {
		t.Errorf("a run without statements stalls: %+v", got)
	}
}

// TestErrorKinds: errors are grouped by what to do about them.
func TestErrorKinds(t *testing.T) {
	for want, err := range map[string]error{
		"timeout":                          fmt.Errorf("x: %w", context.DeadlineExceeded),
		"server: switchover":               &picodata.Error{Kind: picodata.KindSwitchover},
		"other":                            errors.New("x"),
		"outcome unknown: connection lost": &picodata.OutcomeUnknownError{},
	} {
		if got := errorKind(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
