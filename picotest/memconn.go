package picotest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memBuffer bounds what one direction of a connection in memory holds before its writer
// waits: as much as a TCP connection on loopback usually does.
const memBuffer = 256 << 10

// memConn is one end of a connection in memory.
type memConn struct {
	local, remote memAddr
	in, out       *memPipe // in: the other side writes, we read
	read, write   memDeadline
}

func newMemConnPair(client, server memAddr) (*memConn, *memConn) {
	up, down := newMemPipe(), newMemPipe()
	c := &memConn{local: client, remote: server, in: down, out: up}
	s := &memConn{local: server, remote: client, in: up, out: down}
	c.read.cond, c.write.cond = down.changed, up.changed
	s.read.cond, s.write.cond = up.changed, down.changed
	return c, s
}

// memPipe is one direction: bytes on their way, and how it ended.
type memPipe struct {
	mu      sync.Mutex
	changed *sync.Cond
	writes  [][]byte // as they were written: a Read gets no more than one of them, so that they can be counted
	size    int      // of all writes
	eof     bool     // the writer closed: what is left may be read
	gone    bool     // the reader closed: writes fail
	broken  bool     // reset: everything fails at once
}

func newMemPipe() *memPipe {
	p := &memPipe{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// drop forgets what is on its way.
func (p *memPipe) drop() { p.writes, p.size = nil, 0 }

// memDeadline is the deadline of one direction of one end. Its fields are guarded by the
// mutex of the direction's pipe.
type memDeadline struct {
	cond   *sync.Cond
	passed bool
	timer  *time.Timer
	epoch  int
}

func (d *memDeadline) set(t time.Time) {
	d.cond.L.Lock()
	defer d.cond.L.Unlock()
	d.epoch++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.passed = false
	if !t.IsZero() {
		wait := time.Until(t)
		if wait <= 0 {
			d.passed = true
		} else {
			epoch := d.epoch
			d.timer = time.AfterFunc(wait, func() {
				d.cond.L.Lock()
				defer d.cond.L.Unlock()
				if d.epoch == epoch {
					d.passed = true
					d.cond.Broadcast()
				}
			})
		}
	}
	d.cond.Broadcast()
}

// stop forgets the timer, for the end of the connection.
func (d *memDeadline) stop() {
	d.cond.L.Lock()
	defer d.cond.L.Unlock()
	d.epoch++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (c *memConn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Source: c.local, Addr: c.remote, Err: err}
}

// Read reads what the other side wrote.
func (c *memConn) Read(b []byte) (int, error) {
	p := c.in
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone:
			return 0, c.opError("read", net.ErrClosed)
		case p.broken:
			return 0, c.opError("read", syscall.ECONNRESET)
		case c.read.passed:
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case p.size > 0:
			n := copy(b, p.writes[0])
			p.size -= n
			if p.writes[0] = p.writes[0][n:]; len(p.writes[0]) == 0 {
				p.writes[0] = nil
				p.writes = p.writes[1:]
			}
			p.changed.Broadcast()
			return n, nil
		case p.eof:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

// Write hands b to the other side; it waits while the buffer is full.
func (c *memConn) Write(b []byte) (int, error) {
	p := c.out
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for {
		switch {
		case p.eof:
			return written, c.opError("write", net.ErrClosed)
		case p.broken:
			return written, c.opError("write", syscall.ECONNRESET)
		case p.gone:
			return written, c.opError("write", syscall.EPIPE)
		case c.write.passed:
			return written, c.opError("write", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return written, nil
		case p.size < memBuffer:
			n := min(len(b), memBuffer-p.size)
			p.writes = append(p.writes, append([]byte(nil), b[:n]...))
			p.size += n
			b, written = b[n:], written+n
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// Close ends both directions. The other side reads what was written before, then EOF;
// bytes that were not read here make it a reset, as with TCP.
func (c *memConn) Close() error {
	c.in.mu.Lock()
	already, unread := c.in.gone, c.in.size > 0
	c.in.gone = true
	c.in.drop()
	c.in.changed.Broadcast()
	c.in.mu.Unlock()
	if already {
		return c.opError("close", net.ErrClosed)
	}
	c.out.mu.Lock()
	c.out.eof = true
	if unread {
		c.out.broken = true
	}
	c.out.changed.Broadcast()
	c.out.mu.Unlock()
	c.read.stop()
	c.write.stop()
	return nil
}

// reset ends the connection so that the other side gets ECONNRESET.
func (c *memConn) reset() {
	for _, p := range []*memPipe{c.in, c.out} {
		p.mu.Lock()
		p.broken = true
		p.drop()
		p.changed.Broadcast()
		p.mu.Unlock()
	}
	_ = c.Close()
}

// LocalAddr is this end's address.
func (c *memConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's address.
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time removes them.
func (c *memConn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

// SetReadDeadline sets the deadline of Read.
func (c *memConn) SetReadDeadline(t time.Time) error {
	c.read.set(t)
	return nil
}

// SetWriteDeadline sets the deadline of Write.
func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.write.set(t)
	return nil
}
