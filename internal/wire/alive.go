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
			c.cfg.logger().Info("idle connection lost", "node", c.target.node(), "address", c.target.Address, "reason", err)
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
	for {
		need, err := g.scan()
		if err != nil {
			return err
		}
		if need > 0 || g.r < g.v {
			break
		}
	}
	if g.r < g.v {
		return errors.New("the server sent an answer to nothing")
	}
	return nil
}

// look reads what has arrived, without waiting, and keeps it. io.EOF: the peer hung up.
func (s *socket) look() (n int, err error) {
	if s.looker != nil {
		return s.looker.look(s)
	}
	// A connection that isn't a socket, as tests have them.
	if b, ok := s.Conn.(interface{ Buffered() int }); ok && b.Buffered() == 0 {
		if c, ok := s.Conn.(interface{ PeerClosed() bool }); !ok || !c.PeerClosed() {
			return 0, nil
		}
	}
	return s.lookBriefly()
}

// brief is how long a look waits where there is no way not to wait.
const brief = time.Millisecond

// lookBriefly reads with a deadline that is almost now.
func (s *socket) lookBriefly() (int, error) {
	if err := s.Conn.SetReadDeadline(time.Now().Add(brief)); err != nil {
		return 0, err
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
