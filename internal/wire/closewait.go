package wire

import (
	"io"
	"time"
)

// CloseWait is Close for a caller that counts connections: it returns once the server has closed its end as well,
// or after d. A server that is still at a statement which its caller gave up may take longer than any d. A
// statement that is under way here fails at once, and nothing is waited for.
func (c *Conn) CloseWait(d time.Duration) error {
	sock := c.g.sock
	half, ok := sock.Conn.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	if c.closed.Swap(true) {
		return nil
	}
	if c.active.Load() {
		return sock.Close()
	}
	_ = sock.SetDeadline(time.Now().Add(d))
	if c.g.ready() {
		_, _ = c.g.nc.Write([]byte{'X', 0, 0, 0, 4}) // the end of the stream says it too
	}
	if half.CloseWrite() == nil {
		// What still comes is the end of an answer that nobody wants.
		_, _ = io.Copy(io.Discard, sock.Conn)
	}
	return sock.Close()
}

// hangUp tells the server that nothing more comes. The socket is closed by Close or CloseWait, so that
// a caller who counts connections can wait until the server has noticed.
func (s *socket) hangUp() {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		return
	}
	_ = s.Close()
}
