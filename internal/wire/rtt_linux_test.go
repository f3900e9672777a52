package wire

import (
	"runtime"
	"testing"
)

// The kernel knows the round trip of a connection over loopback as soon as it has logged in.
func TestRTT(t *testing.T) {
	if runtime.GOARCH == "386" || runtime.GOARCH == "s390x" {
		return // not told there
	}
	s := newServer(t)
	c, _ := s.dial(newConfig())
	defer c.Close()
	if rtt := c.RTT(); rtt <= 0 {
		t.Errorf("RTT is %v", rtt)
	}
}
