package balancer

import (
	"time"

	"github.com/picodata/go-picodata/options"
)

// nearestSlack is how much slower than the fastest a candidate may always be: differences below
// it are noise inside one data centre.
const nearestSlack = 500 * time.Microsecond

// nearestTrickle is how many picks there are for one of a candidate that isn't near: what was measured of it becomes
// old, and the kernel's smoothed round trip changes only by use.
const nearestTrickle = 100

// Nearest chooses the least busy of the candidates whose latency is within a window over the
// lowest one: half of it more, at least 0.5 ms. A candidate whose latency isn't known counts as
// near, so that it becomes known. Of a hundred picks one goes to a candidate that isn't near, so that it's found out when that
// has changed.
type Nearest struct{}

// NewNearest returns a Nearest.
func NewNearest() *Nearest { return &Nearest{} }

// Pick chooses among candidates. It looks at all of them: O(n).
func (*Nearest) Pick(candidates []options.Candidate, rnd uint64) int {
	var lowest time.Duration
	for i := range candidates {
		if l := candidates[i].Latency; l > 0 && (lowest == 0 || l < lowest) {
			lowest = l
		}
	}
	limit := lowest + max(lowest/2, nearestSlack)
	trickle := below(mix(rnd, 1<<32), nearestTrickle) == 0
	best, far := -1, -1
	var sum, seen uint64
	for i := range candidates {
		c := &candidates[i]
		if lowest > 0 && c.Latency > limit {
			if seen++; trickle && below(mix(rnd, uint64(i)), seen) == 0 {
				far = i
			}
			continue
		}
		w := uint64(max(c.Weight, 1))
		order := -1
		if best >= 0 {
			order = compareLoad(c, &candidates[best])
		}
		switch order {
		case -1:
			best, sum = i, w
		case 0:
			sum += w
			if below(mix(rnd, uint64(i)), sum) < w {
				best = i
			}
		}
	}
	if far >= 0 {
		return far
	}
	return best
}
