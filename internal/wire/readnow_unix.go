//go:build unix && !linux

package wire

import "syscall"

// readNow reads from a descriptor in non-blocking mode.
func readNow(fd uintptr, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(int(fd), p)
	if err == nil {
		return n, 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return n, errno
	}
	return n, syscall.EIO
}
