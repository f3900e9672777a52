package pool

import (
	"math"
	"time"

	"github.com/picodata/go-picodata/balancer"
)

// What a program dials though nobody waits for it is paced over all of its nodes: a cluster that comes back, or a fleet
// that starts, has many nodes and many programs. One node is probed each probeGap; connections to be kept ready are opened
// warmBurst at once and then one each warmGap, so that a program makes no more than about 90 of these logins in one second, and 55 in each that follows.
const (
	probeGap  = 250 * time.Millisecond
	warmGap   = 20 * time.Millisecond
	warmBurst = 32
)

// turns hands out moments that lie gap apart, burst of them at once after a rest.
type turns struct {
	gap   time.Duration
	burst int64
	next  int64 // when the next turn is
}

func newTurns(gap time.Duration, burst int64) turns {
	return turns{gap: gap, burst: burst, next: math.MinInt64 / 2}
}

// take returns how long to wait for a turn.
func (t *turns) take(now int64, rnd uint64) time.Duration {
	at := max(t.next, now-(t.burst-1)*int64(t.gap))
	t.next = at + int64(balancer.Jitter(t.gap, rnd))
	return time.Duration(max(at-now, 0))
}
