package picotest

import (
	"context"
	"fmt"
	"sync"
)

// Hold is a barrier: statements that match stop at it, in order of arrival, until they are released.
type Hold struct {
	c    *Cluster
	k    *hook
	mu   sync.Mutex
	held []chan struct{}
	ever int
	open bool
	news chan struct{} // closed and renewed whenever held or ever changes
}

// Hold stops statements that match before they run.
func (n *Node) Hold(matches ...Match) *Hold { return n.c.hold(n, OnExecute(), matches) }

// HoldAt stops statements, or logins, at a point.
func (n *Node) HoldAt(p Point, matches ...Match) *Hold { return n.c.hold(n, p, matches) }

// Hold stops statements that match on every node before they run.
func (c *Cluster) Hold(matches ...Match) *Hold { return c.hold(nil, OnExecute(), matches) }

// HoldAt stops statements, or logins, on every node at a point.
func (c *Cluster) HoldAt(p Point, matches ...Match) *Hold { return c.hold(nil, p, matches) }

func (c *Cluster) hold(n *Node, p Point, matches []Match) *Hold {
	h := &Hold{c: c, news: make(chan struct{})}
	h.k = &hook{node: n, point: p, matches: matches, once: -1, hold: h, act: h.stop}
	c.hooks.add(h.k)
	c.hooks.onClose(h.ReleaseAll)
	return h
}

// stop is what a held statement does.
func (h *Hold) stop(s *session, _ *Statement) outcome {
	h.mu.Lock()
	if h.open {
		h.mu.Unlock()
		return outcome{}
	}
	free := make(chan struct{})
	h.held = append(h.held, free)
	h.ever++
	h.changedLocked()
	h.mu.Unlock()
	switch h.k.point.kind {
	case pointBytes: // there the receiver is held, which has nothing to send
	case pointRow, pointInside, pointReady:
		s.c.flush()
	default:
		s.c.flushDue()
	}
	select {
	case <-free:
		return outcome{}
	case <-s.c.done:
		h.forget(free)
		return outcome{blocked: true}
	}
}

func (h *Hold) forget(free chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, have := range h.held {
		if have == free {
			h.held = append(h.held[:i:i], h.held[i+1:]...)
			h.changedLocked()
			return
		}
	}
}

func (h *Hold) changedLocked() {
	close(h.news)
	h.news = make(chan struct{})
}

// Held returns how many statements are held now. A client that left doesn't free its
// statement: a server doesn't notice either.
func (h *Hold) Held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// Ever returns how many statements were held so far.
func (h *Hold) Ever() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ever
}

// Wait returns when at least n statements are held at the same time.
func (h *Hold) Wait(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		held, news := len(h.held), h.news
		h.mu.Unlock()
		if held >= n {
			return nil
		}
		if err := h.c.wait(ctx, news, fmt.Sprintf("%d statements are held (%d are)", n, held)); err != nil {
			return err
		}
	}
}

// WaitEver returns when n statements have been held since the hold was set, released ones included.
func (h *Hold) WaitEver(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		ever, news := h.ever, h.news
		h.mu.Unlock()
		if ever >= n {
			return nil
		}
		if err := h.c.wait(ctx, news, fmt.Sprintf("%d statements have been held (%d have)", n, ever)); err != nil {
			return err
		}
	}
}

// Release lets the n statements go on that have been held longest; it returns how many there were.
func (h *Hold) Release(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = min(n, len(h.held))
	for _, free := range h.held[:n] {
		close(free)
	}
	h.held = h.held[n:]
	if n > 0 {
		h.changedLocked()
	}
	return n
}

// ReleaseAll lets all statements go on and ends the hold.
func (h *Hold) ReleaseAll() {
	h.c.hooks.remove(h.k)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	for _, free := range h.held {
		close(free)
	}
	h.held = nil
	h.changedLocked()
}

// Release ends every hold of the node that was set by Node.Hold and Node.HoldAt.
func (n *Node) Release() {
	n.c.hooks.mu.Lock()
	var mine []*Hold
	for _, k := range n.c.hooks.list {
		if k.node == n && k.hold != nil {
			mine = append(mine, k.hold)
		}
	}
	n.c.hooks.mu.Unlock()
	for _, h := range mine {
		h.ReleaseAll()
	}
}
