package wire

import (
	"net"
	"syscall"
	"time"
	"unsafe"
)

// readNow reads from a descriptor in non-blocking mode. The call returns at once, so the
// scheduler isn't told about it.
func readNow(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	return int(n), errno
}

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h.
const tcpUserTimeout = 0x12

// setUserTimeout bounds how long written bytes may stay unacknowledged.
func setUserTimeout(tcp *net.TCPConn, d time.Duration) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d/time.Millisecond))
	})
}
