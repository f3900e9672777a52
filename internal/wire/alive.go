package wire

import (
	"errors"
	"io"
	"net"
	"time"
)

// Alive looks whether the idle connection still has a peer, without waiting: a closed
// socket is found before a statement is written to it. Notices that arrived meanwhile are
// handled. False: the connection is lost; the reason is in the log if the server gave one.
func (c *Conn) Alive() bool {
	if !c.Usable() {
		return false
	}
	if err := c.g.look(); err != nil {
		c.g.fail(err)
		if !errors.Is(err, io.EOF) {
			c.cfg.logger().Info("picodata: idle connection lost", "node", c.target.node(), "address", c.target.Address, "error", err)
		}
		_ = c.g.sock.Close()
		return false
	}
	return true
}

// look takes in what has arrived on an idle connection.
func (g *guard) look() error {
	n, err := g.sock.look()
	if n == 0 && err == nil && g.v == g.w {
		return nil
	}
	// Bytes that came before the end may say why.
	for first := true; first || len(g.sock.kept) > 0; first = false {
		if terr := g.take(); terr != nil {
			return terr
		}
	}
	return err
}

// take reads the kept bytes through TLS, if any, and looks at whole frames.
func (g *guard) take() error {
	g.sock.noBlock = true
	err := g.fill(frameHeader)
	g.sock.noBlock = false
	if errors.Is(err, errNothing) {
		g.err = nil
	} else if err != nil {
		return err
	}
	return g.leftover()
}

// leftover handles what came along with the end of the last answer, or after it. All but notices is an
// answer to nothing: it would be taken for that of the next statement.
func (g *guard) leftover() error {
	for g.v < g.w {
		need, err := g.scan()
		if err != nil {
			return err
		}
		if g.r < g.v {
			return errors.New("the server sent an answer to nothing")
		}
		if need > 0 {
			break // a frame whose end is still to come
		}
	}
	return nil
}

// look reads what has arrived, without waiting, and keeps it. io.EOF: the peer hung up.
func (s *socket) look() (n int, err error) {
	if s.looker != nil {
		return s.looker.look(s)
	}
	// Not a socket: a connection in memory, through a tunnel, or inside a wrapper.
	switch c := s.Conn.(type) {
	case interface {
		Buffered() int
		PeerClosed() bool
	}:
		if c.Buffered() == 0 && !c.PeerClosed() {
			return 0, nil
		}
	default:
		now := time.Now()
		if now.Sub(s.looked) < lookEvery {
			return 0, nil
		}
		s.looked = now
	}
	return s.lookBriefly()
}

const (
	// brief is how long a look waits where there is no way not to wait.
	brief = time.Millisecond
	// lookEvery is how often such a look is worth its wait.
	lookEvery = time.Second
)

// lookBriefly reads with a deadline that is almost now. A connection without deadlines, as
// tunnels have them, can't be looked at.
func (s *socket) lookBriefly() (int, error) {
	switch err := s.Conn.SetReadDeadline(time.Now().Add(brief)); {
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return 0, err
	case err != nil:
		return 0, nil
	}
	var b [512]byte
	n, err := s.Conn.Read(b[:])
	s.kept = append(s.kept, b[:n]...)
	if derr := s.Conn.SetReadDeadline(time.Time{}); derr != nil {
		return n, derr
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		err = nil
	}
	return n, err
}

// looker looks at a socket without waiting.
type looker interface {
	look(*socket) (int, error)
}
