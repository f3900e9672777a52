//go:build !linux || 386 || s390x

package wire

import "time"

// RTT is the round trip of the connection; 0, for this system doesn't tell it.
func (c *Conn) RTT() time.Duration { return 0 }
