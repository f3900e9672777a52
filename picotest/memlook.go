package picotest

// Buffered returns how many bytes have arrived and wait to be read.
func (c *memConn) Buffered() int {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return c.in.size
}

// PeerClosed reports whether the other side has ended the connection. What it wrote before may
// still be read. A client can so look at an idle connection without waiting.
func (c *memConn) PeerClosed() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return c.in.eof || c.in.broken || c.in.gone
}
