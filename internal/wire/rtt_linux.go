//go:build !386 && !s390x

package wire

import (
	"net"
	"syscall"
	"time"
	"unsafe"
)

// tcpInfo is the beginning of struct tcp_info of linux/tcp.h.
type tcpInfo struct {
	_   [8]byte    // state to flags
	_   [15]uint32 // rto to rcv_ssthresh
	rtt uint32     // smoothed, in µs
}

// RTT is the smoothed round trip that the kernel has measured on the connection: the network's part alone, not the
// time of statements. 0 if it isn't known. It costs one system call and no I/O. (386 and s390x have no system call
// of its own for getsockopt: see rtt_other.go.)
func (c *Conn) RTT() time.Duration {
	tcp, ok := c.g.sock.Conn.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	var info tcpInfo
	var errno syscall.Errno
	size := uint32(unsafe.Sizeof(info))
	if raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	}) != nil || errno != 0 || size < uint32(unsafe.Sizeof(info)) {
		return 0
	}
	return time.Duration(info.rtt) * time.Microsecond
}
