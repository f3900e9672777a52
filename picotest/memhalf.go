package picotest

// CloseWrite ends the direction to the other side, which reads EOF after what was written before; it can
// still be read from, as with TCP.
func (c *memConn) CloseWrite() error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.eof = true
	c.out.changed.Broadcast()
	return nil
}
