package balancer

import "github.com/picodata/go-picodata/options"

// Random chooses by chance, in proportion to weights.
//
// It keeps the weights in a Fenwick tree when it is used as a Tracker: a pick is O(log n).
type Random struct {
	weights []int64 // by candidate index
	tree    []int64 // 1-based sums
	total   int64
}

// NewRandom returns a Random without candidates.
func NewRandom() *Random { return &Random{} }

// Pick chooses among candidates by reading them all.
func (*Random) Pick(candidates []options.Candidate, rnd uint64) int {
	return weighted(candidates, rnd)
}

// weighted chooses a position in proportion to weights.
func weighted(candidates []options.Candidate, rnd uint64) int {
	var sum uint64
	for i := range candidates {
		sum += uint64(max(candidates[i].Weight, 1))
	}
	x := below(rnd, sum)
	for i := range candidates {
		w := uint64(max(candidates[i].Weight, 1))
		if x < w {
			return i
		}
		x -= w
	}
	return 0
}

// Set adds a candidate or changes its weight.
func (r *Random) Set(index, weight int, _ uint64) {
	if index >= len(r.weights) {
		r.grow(index + 1)
	}
	r.add(index, int64(max(weight, 1))-r.weights[index])
}

// Unset removes a candidate.
func (r *Random) Unset(index int) {
	if index < len(r.weights) {
		r.add(index, -r.weights[index])
	}
}

// Next returns the index of a candidate, or -1.
func (r *Random) Next(rnd uint64) int {
	if r.total == 0 {
		return -1
	}
	x := int64(below(rnd, uint64(r.total)))
	at := 0
	for step := len(r.tree) >> 1; step > 0; step >>= 1 {
		if next := at + step; next < len(r.tree) && r.tree[next] <= x {
			at = next
			x -= r.tree[next]
		}
	}
	return at
}

// grow makes room for n candidates. The tree's length is a power of two.
func (r *Random) grow(n int) {
	size := max(len(r.tree), 2)
	for size <= n {
		size *= 2
	}
	old := r.weights
	r.weights = make([]int64, size-1)
	r.tree = make([]int64, size)
	r.total = 0
	for i, w := range old {
		if w != 0 {
			r.add(i, w)
		}
	}
}

func (r *Random) add(index int, delta int64) {
	if delta == 0 {
		return
	}
	r.weights[index] += delta
	r.total += delta
	for i := index + 1; i < len(r.tree); i += i & -i {
		r.tree[i] += delta
	}
}
