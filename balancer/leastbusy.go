package balancer

import (
	"math/bits"

	"github.com/picodata/go-picodata/options"
)

// scanLimit is how many candidates LeastBusy looks at one by one. Two random choices of five nodes
// of which two are busy would still hit a busy one in a tenth of the picks; a scan never does.
const scanLimit = 16

// LeastBusy chooses the candidate with the fewest leases and dials per weight. Up to 16 candidates are all
// compared, equals by chance in proportion to weights; of more, two random ones are. It has no state.
type LeastBusy struct{}

// NewLeastBusy returns a LeastBusy.
func NewLeastBusy() *LeastBusy { return &LeastBusy{} }

// Pick chooses among candidates.
func (*LeastBusy) Pick(candidates []options.Candidate, rnd uint64) int {
	n := len(candidates)
	if n <= scanLimit {
		return leastBusy(candidates, rnd)
	}
	i := int(below(rnd, uint64(n)))
	j := int(below(mix(rnd, 1), uint64(n-1)))
	if j >= i {
		j++
	}
	a, b := &candidates[i], &candidates[j]
	switch compareLoad(a, b) {
	case -1:
		return i
	case 1:
		return j
	}
	wa, wb := uint64(max(a.Weight, 1)), uint64(max(b.Weight, 1))
	if below(mix(rnd, 2), wa+wb) < wa {
		return i
	}
	return j
}

// leastBusy compares all; equals are drawn in proportion to weights in one pass.
func leastBusy(candidates []options.Candidate, rnd uint64) int {
	best := 0
	sum := uint64(max(candidates[0].Weight, 1))
	for i := 1; i < len(candidates); i++ {
		w := uint64(max(candidates[i].Weight, 1))
		switch compareLoad(&candidates[i], &candidates[best]) {
		case -1:
			best, sum = i, w
		case 0:
			sum += w
			if below(mix(rnd, uint64(i)), sum) < w {
				best = i
			}
		}
	}
	return best
}

// compareLoad compares in flight per weight as it would be with this statement: without it, a node of a small weight would
// get as much of a light load as one of a great weight. Two that have nothing to do are equal.
func compareLoad(a, b *options.Candidate) int {
	if a.InFlight <= 0 && b.InFlight <= 0 {
		return 0
	}
	x := uint64(max(a.InFlight, 0)+1) * uint64(max(b.Weight, 1))
	y := uint64(max(b.InFlight, 0)+1) * uint64(max(a.Weight, 1))
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}

// below maps a uniformly random number to [0, n). n must not be 0.
func below(rnd, n uint64) uint64 {
	hi, _ := bits.Mul64(rnd, n)
	return hi
}
