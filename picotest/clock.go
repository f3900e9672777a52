package picotest

import (
	"sync"
	"time"
)

// Clock is the time the cluster lives by: the governor's timeouts, delays, lags. Nothing
// that a client measures itself follows it.
type Clock interface {
	Now() time.Time
	// AfterFunc runs f in its own goroutine after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of Clock.AfterFunc.
type Timer interface {
	// Stop prevents the call and tells whether it was still to come.
	Stop() bool
}

// systemClock is package time's, and a testing/synctest bubble's inside of one.
type systemClock struct{}

func (systemClock) Now() time.Time                            { return time.Now() }
func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// ManualClock is a Clock that stands still until Advance moves it.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now returns the time the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc has f run by the Advance that reaches now + d; at once if d is not positive.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{clock: c, at: c.now.Add(d), run: f}
	if d <= 0 {
		t.run = nil
		go f()
		return t
	}
	c.timers = append(c.timers, t)
	return t
}

// Advance moves the clock by d and runs what became due, one after the other in the order
// of their times, in the caller's goroutine: when Advance returns, all of it has happened,
// what the calls themselves scheduled within d included.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for {
		var next *manualTimer
		for _, t := range c.timers {
			if !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			break
		}
		c.remove(next)
		if next.at.After(c.now) {
			c.now = next.at
		}
		run := next.run
		next.run = nil
		c.mu.Unlock()
		run()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// Pending returns how many calls are to come.
func (c *ManualClock) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

func (c *ManualClock) remove(t *manualTimer) {
	for i, have := range c.timers {
		if have == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

type manualTimer struct {
	clock *ManualClock
	at    time.Time
	run   func()
}

// Stop takes the call back if it is still to come.
func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	pending := t.run != nil
	t.run = nil
	t.clock.remove(t)
	return pending
}
