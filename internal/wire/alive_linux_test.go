package wire

import (
	"net"
	"syscall"
	"testing"
)

// Dead peers are found by the kernel: 15 s idle, 3 probes 5 s apart, 30 s for what was sent.
func TestKeepAlive(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	raw, err := c.g.sock.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range keepAliveOptions {
		var got int
		var gerr error
		if err := raw.Control(func(fd uintptr) { got, gerr = syscall.GetsockoptInt(int(fd), tt.level, tt.option) }); err != nil || gerr != nil {
			t.Fatalf("%s: %v, %v", name, err, gerr)
		}
		if got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

var keepAliveOptions = map[string]struct{ level, option, want int }{
	"SO_KEEPALIVE":     {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
	"TCP_KEEPIDLE":     {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
	"TCP_KEEPINTVL":    {syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
	"TCP_KEEPCNT":      {syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
	"TCP_USER_TIMEOUT": {syscall.IPPROTO_TCP, tcpUserTimeout, 30_000},
}
