//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// fdLooker reads a socket's descriptor, which is in non-blocking mode.
type fdLooker struct {
	raw  syscall.RawConn
	read func(fd uintptr) // made once: a look allocates nothing
	buf  [512]byte
	n    int
	err  syscall.Errno
}

func newLooker(nc net.Conn) looker {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	l := &fdLooker{raw: raw}
	l.read = func(fd uintptr) { l.n, l.err = readNow(fd, l.buf[:]) }
	return l
}

// look reads until nothing is there.
func (l *fdLooker) look(s *socket) (int, error) {
	total := 0
	for {
		if err := l.raw.Control(l.read); err != nil {
			return total, err
		}
		switch {
		case l.err == syscall.EAGAIN:
			return total, nil
		case l.err == syscall.EINTR:
		case l.err != 0:
			return total, os.NewSyscallError("read", l.err)
		case l.n <= 0:
			return total, io.EOF
		default:
			s.kept = append(s.kept, l.buf[:l.n]...)
			if total += l.n; total >= maxText {
				return total, nil
			}
		}
	}
}
