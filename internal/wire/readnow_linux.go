package wire

import (
	"syscall"
	"unsafe"
)

// readNow reads from a descriptor in non-blocking mode. The call returns at once, so the
// scheduler isn't told about it.
func readNow(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	return int(n), errno
}
