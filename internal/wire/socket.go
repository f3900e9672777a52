package wire

import (
	"errors"
	"io"
	"net"
	"time"
)

const (
	// A peer that vanished without a word is found within 30 seconds.
	keepAliveIdle     = 15 * time.Second
	keepAliveInterval = 5 * time.Second
	keepAliveCount    = 3
	// userTimeout bounds how long written bytes may stay unacknowledged.
	userTimeout = 30 * time.Second
)

// socket is the connection beneath TLS. It can look for what has arrived without waiting,
// and keeps what it read for the next Read.
type socket struct {
	net.Conn
	kept    []byte
	noBlock bool // Read gives only what is kept
	looker  looker
	looked  time.Time // when it was looked at last, without a looker
}

func newSocket(nc net.Conn) *socket {
	s := &socket{Conn: nc, looker: newLooker(nc)}
	if s.looker == nil {
		s.looked = time.Now()
	}
	return s
}

// Read gives what a look has kept, then what the network brings.
func (s *socket) Read(p []byte) (int, error) {
	if len(s.kept) > 0 {
		n := copy(p, s.kept)
		s.kept = s.kept[n:]
		return n, nil
	}
	if s.noBlock {
		return 0, errNothing
	}
	return s.Conn.Read(p)
}

// errNothing is a timeout to crypto/tls, after which its connection is still good.
var errNothing net.Error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "nothing has arrived" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

// tuneSocket sets TCP keepalive and the user timeout where the connection has them. A
// connection without is used as it is.
func tuneSocket(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	})
	setUserTimeout(tcp, userTimeout)
}

// Alive looks whether the idle connection still has a peer, without waiting: a closed
// socket is found before a statement is written to it. Notices that arrived meanwhile are
// handled. False: the connection is lost; the reason is in the log if the server gave one.
func (c *Conn) Alive() bool {
	if c.busy {
		return false
	}
	// Close and CloseWait, which may come from elsewhere, leave the guard alone meanwhile.
	c.active.Store(true)
	defer c.active.Store(false)
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
	if terr := g.take(); terr != nil {
		return terr
	}
	return err
}

// take reads what the socket has kept, and what TLS keeps of it, and looks at whole frames. Each round consumes
// some of it; frames are bounded, and so is what an idle connection keeps of one.
func (g *guard) take() error {
	for {
		need, err := g.leftover()
		if err != nil {
			return err
		}
		g.sock.noBlock = true
		err = g.fill(max(need, frameHeader))
		g.sock.noBlock = false
		if errors.Is(err, errNothing) {
			g.err = nil
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// leftover handles what came along with the end of the last answer, or after it. All but notices is an
// answer to nothing: it would be taken for that of the next statement. need is what a frame whose end is still to
// come needs.
func (g *guard) leftover() (need int, err error) {
	for g.v < g.w {
		if need, err = g.scan(); err != nil {
			return 0, err
		}
		if g.r < g.v {
			return 0, errors.New("the server sent an answer to nothing")
		}
		if need > 0 {
			return need, nil
		}
	}
	return 0, nil
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
