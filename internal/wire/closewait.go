package wire

import (
	"errors"
	"io"
	"os"
	"time"
)

// CloseWait is Close for a caller that counts connections: it returns true once the server has closed its end as well, and
// false after d. A server that is still at a statement which its caller gave up may take longer than any d: CloseWait may then be
// called again to wait on, and Close ends that. A statement that is under way here fails at once, and nothing is waited for.
func (c *Conn) CloseWait(d time.Duration) bool {
	sock := c.g.sock
	half, ok := sock.Conn.(interface{ CloseWrite() error })
	if !ok {
		_ = c.Close()
		return true
	}
	if !c.closed.Swap(true) {
		if c.active.Load() {
			_ = sock.Close()
			return true
		}
		_ = sock.SetDeadline(time.Now().Add(d))
		if c.g.ready() {
			_, _ = c.g.nc.Write([]byte{'X', 0, 0, 0, 4}) // the end of the stream says it too
		}
		if half.CloseWrite() != nil {
			_ = sock.Close()
			return true
		}
		c.lingers.Store(true)
	} else {
		if !c.lingers.Load() {
			return true
		}
		_ = sock.SetReadDeadline(time.Now().Add(d))
	}
	// What still comes is the end of an answer that nobody wants.
	if _, err := io.Copy(io.Discard, sock.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.lingers.Store(false)
	_ = sock.Close()
	return true
}

// hangUp tells the server that nothing more comes. The socket is closed by Close or CloseWait, so that
// a caller who counts connections can wait until the server has noticed.
func (s *socket) hangUp() {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		return
	}
	_ = s.Close()
}
