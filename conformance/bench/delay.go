package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// delayed adds a fixed time to every flight: the first read after a write gets its bytes no
// sooner than that after the write.
type delayed struct {
	net.Conn
	by    time.Duration
	mu    sync.Mutex
	until time.Time
}

// delayDial dials connections whose flights take longer by d. 0: plain ones.
func delayDial(d time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var nd net.Dialer
		c, err := nd.DialContext(ctx, network, address)
		if err != nil || d == 0 {
			return c, err
		}
		return &delayed{Conn: c, by: d}, nil
	}
}

func (c *delayed) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.until = time.Now().Add(c.by)
	c.mu.Unlock()
	return n, err
}

func (c *delayed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	wait := time.Until(c.until)
	c.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
	return n, err
}
