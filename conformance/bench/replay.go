package main

import (
	"context"
	"io"
	"net"
	"sync/atomic"
)

// replays makes connections that learn what a server answers to what is written, and once told so give the same answers
// themselves, without a system call and without another goroutine: what a statement takes then is the client's alone.
type replays struct {
	on   atomic.Bool
	dial func(context.Context, string, string) (net.Conn, error)
}

func (r *replays) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := r.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &replay{Conn: c, r: r, answers: map[string][]byte{}}, nil
}

// replay is one of the connections.
type replay struct {
	net.Conn
	r       *replays
	answers map[string][]byte
	asked   string // what was written last, while it learns
	left    []byte // of the answer under way
}

func (c *replay) Write(p []byte) (int, error) {
	if c.r.on.Load() {
		c.left = c.answers[string(p)]
		return len(p), nil
	}
	c.asked = string(p)
	c.answers[c.asked] = nil
	return c.Conn.Write(p)
}

func (c *replay) Read(p []byte) (int, error) {
	if c.r.on.Load() {
		if len(c.left) == 0 {
			return 0, io.ErrUnexpectedEOF // it was never asked that before
		}
		n := copy(p, c.left)
		c.left = c.left[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.answers[c.asked] = append(c.answers[c.asked], p[:n]...)
	return n, err
}

// Buffered and PeerClosed are for who looks at an idle connection.
func (c *replay) Buffered() int    { return 0 }
func (c *replay) PeerClosed() bool { return false }
