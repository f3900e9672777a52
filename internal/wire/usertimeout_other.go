//go:build !linux

package wire

import (
	"net"
	"time"
)

// setUserTimeout does nothing where the system has no such setting.
func setUserTimeout(*net.TCPConn, time.Duration) {}
