package metadata

import "time"

// pace says how long to wait after a refresh. It holds no clock and no randomness.
type pace struct {
	failures int
	settling int // refreshes in a row that found a replicaset switching
	barren   int // hinted refreshes in a row that brought nothing new
}

// Waits of the pace.
const (
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 2 * time.Second  // so that the end of an outage is noticed soon
	fatalRetry  = 10 * time.Second // a wrong password: four of them lock the user on a server
	firstSettle = 100 * time.Millisecond
	firstGap    = 50 * time.Millisecond
	lastGap     = time.Second
)

// next returns the wait until the regular refresh, and the least wait until one that a hint asks for.
func (p *pace) next(out outcome, hinted bool, interval time.Duration, jitter func(time.Duration) time.Duration) (regular, gap time.Duration) {
	if hinted && !out.changed {
		p.barren++
	} else {
		p.barren = 0
	}
	gap = doubled(firstGap, p.barren, lastGap)
	switch {
	case out.fatal != nil:
		p.failures++
		regular = jitter(max(interval, fatalRetry))
		return regular, regular
	case out.err != nil:
		p.failures++
		regular = jitter(doubled(firstRetry, p.failures-1, min(interval, lastRetry)))
		return regular, min(gap, regular)
	}
	p.failures = 0
	switch {
	case out.switching:
		if out.changed {
			p.settling = 0
		}
		regular = jitter(doubled(firstSettle, p.settling, interval))
		p.settling++
	default:
		p.settling = 0
		regular = jitter(interval)
	}
	return regular, gap
}

// doubled is d doubled n times, but no more than most.
func doubled(d time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	return min(d, most)
}

// jitter spreads d over ±20 %, so that clients that began together don't ask together.
func (w *Watcher) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*w.config.Rand.Float64()))
}
