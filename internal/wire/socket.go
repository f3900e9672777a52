package wire

import (
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
