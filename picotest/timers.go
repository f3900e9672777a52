package picotest

import "time"

// timer is a pending step of the cluster: a governor's timeout, a window that ends.
type timer struct {
	c    *Cluster
	t    Timer
	done bool
}

// afterLocked has f run, with c.mu held, after d of the cluster's clock unless the cluster
// closes first or the timer is stopped. c.mu is held.
func (c *Cluster) afterLocked(d time.Duration, f func()) *timer {
	t := &timer{c: c}
	if !c.begin() {
		t.done = true
		return t
	}
	c.timers[t] = struct{}{}
	t.t = c.clock.AfterFunc(d, func() {
		defer c.work.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.done {
			return
		}
		t.done = true
		delete(c.timers, t)
		f()
	})
	return t
}

// stopLocked takes the step back. c.mu is held.
func (t *timer) stopLocked() {
	if t == nil || t.done {
		return
	}
	t.done = true
	delete(t.c.timers, t)
	if t.t.Stop() {
		t.c.work.Done()
	}
}
