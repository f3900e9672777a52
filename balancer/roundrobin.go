package balancer

import (
	"math/bits"

	"github.com/picodata/go-picodata/options"
)

// RoundRobin is smooth weighted round robin. While the candidates stay the same, any window of
// as many picks as the weights' sum holds each candidate exactly weight times, and any shorter
// run differs from a candidate's share by less than two picks. Where the sequence starts is random, so
// that many programs started together don't all begin with the same node.
//
// It is the earliest-eligible-virtual-deadline-first rule for unit jobs: virtual time advances by scale
// in every round of W picks (W the sum of weights); the k-th pick of a candidate of weight w may begin
// at (k-1)*scale/w and is due at k*scale/w; of those that may begin, the one due first is chosen.
// A pick is O(log n). A candidate that was away gets no arrears.
//
// The zero value isn't usable; see NewRoundRobin. It isn't safe for concurrent use.
type RoundRobin struct {
	entries []rrEntry // by candidate index
	ready   rrHeap    // may begin now; earliest deadline first
	later   rrHeap    // begins later; earliest beginning first
	now     int64     // virtual time, whole units
	rem     int64     // its fraction, in 1/total
	total   int64     // sum of the weights of those present
	scale   int64     // length of a round: a multiple of all weights, or maxScale if that is too large
	warm    bool      // the random start was made
	stamp   uint64    // of the last Pick
}

// maxScale bounds the length of a round. Weights whose least common multiple is greater get shares
// that are rounded to a part of maxScale: about 1e-5 for the greatest weight, 10,000,000.
const maxScale = 1 << 40

// maxNow is where virtual time is set back, far enough from overflow for any sum below.
const maxNow = 1 << 61

// maxStart bounds the picks that are thrown away to start at a random place.
const maxStart = 256

type rrEntry struct {
	weight int64
	begin  int64
	due    int64
	tie    uint64 // random; decides between equals
	where  rrPlace
	heapAt int
	pickAt int    // position in the slice of the last Pick
	stamp  uint64 // the last Pick that saw it
}

type rrPlace uint8

const (
	rrAway rrPlace = iota
	rrReady
	rrLater
)

// NewRoundRobin returns a RoundRobin without candidates.
func NewRoundRobin() *RoundRobin {
	r := &RoundRobin{scale: 1}
	r.ready.byDue = true
	return r
}

// Set adds a candidate or changes its weight.
func (r *RoundRobin) Set(index, weight int, rnd uint64) {
	for index >= len(r.entries) {
		r.entries = append(r.entries, rrEntry{})
	}
	e := &r.entries[index]
	w := int64(max(weight, 1))
	if e.where != rrAway {
		if e.weight == w {
			return
		}
		r.Unset(index)
	}
	r.fit(w)
	if e.weight == 0 || e.begin < r.now {
		e.begin = r.now
	}
	if e.weight == 0 {
		e.tie = rnd
	}
	// One that comes back with another weight may have a beginning far off by its old one.
	e.begin = min(e.begin, r.now+r.scale/w)
	e.weight = w
	e.due = e.begin + r.scale/w
	if r.total > 0 {
		// The fraction of virtual time keeps its size under the new sum.
		r.rem = share(r.rem, r.total+w, r.total)
	}
	r.total += w
	r.insert(index)
}

// Unset removes a candidate.
func (r *RoundRobin) Unset(index int) {
	if index >= len(r.entries) {
		return
	}
	e := &r.entries[index]
	switch e.where {
	case rrAway:
		return
	case rrReady:
		r.ready.remove(r.entries, e.heapAt)
	case rrLater:
		r.later.remove(r.entries, e.heapAt)
	}
	e.where = rrAway
	left := r.total - e.weight
	r.rem = share(r.rem, left, r.total)
	r.total = left
}

// Next returns the index of the candidate whose turn it is, or -1.
func (r *RoundRobin) Next(rnd uint64) int {
	if !r.warm && r.total > 0 {
		r.warm = true
		for range rnd % uint64(min(r.total, maxStart)) {
			r.turn()
		}
	}
	return r.turn()
}

// Pick is Next for a caller that shows all candidates each time.
func (r *RoundRobin) Pick(candidates []options.Candidate, rnd uint64) int {
	r.stamp++
	for i := range candidates {
		c := &candidates[i]
		if c.Index >= len(r.entries) || r.entries[c.Index].where == rrAway || r.entries[c.Index].weight != int64(max(c.Weight, 1)) {
			r.Set(c.Index, c.Weight, mix(rnd, uint64(c.Index)))
		}
		e := &r.entries[c.Index]
		e.pickAt, e.stamp = i, r.stamp
	}
	if r.ready.len()+r.later.len() > len(candidates) {
		for i := range r.entries {
			if e := &r.entries[i]; e.where != rrAway && e.stamp != r.stamp {
				r.Unset(i)
			}
		}
	}
	i := r.Next(rnd)
	if i < 0 {
		return 0
	}
	return r.entries[i].pickAt
}

// turn makes one pick.
func (r *RoundRobin) turn() int {
	if r.total == 0 {
		return -1
	}
	for r.later.len() > 0 {
		i := r.later.items[0]
		if r.entries[i].begin > r.now {
			if r.ready.len() > 0 {
				break
			}
			// Only after a candidate left can nobody be due: time jumps to the next one.
			r.now, r.rem = r.entries[i].begin, 0
		}
		r.later.remove(r.entries, 0)
		r.ready.push(r.entries, i)
		r.entries[i].where = rrReady
	}
	i := r.ready.items[0]
	e := &r.entries[i]
	e.begin = e.due
	e.due += r.scale / e.weight
	r.rem += r.scale
	r.now += r.rem / r.total
	r.rem %= r.total
	if e.begin <= r.now {
		r.ready.fix(r.entries, 0)
	} else {
		r.ready.remove(r.entries, 0)
		r.later.push(r.entries, i)
		e.where = rrLater
	}
	if r.now > maxNow {
		r.rebase(1, 1)
	}
	return int(i)
}

// insert puts a candidate into the heap where it belongs.
func (r *RoundRobin) insert(index int) {
	e := &r.entries[index]
	if e.begin <= r.now {
		r.ready.push(r.entries, int32(index))
		e.where = rrReady
	} else {
		r.later.push(r.entries, int32(index))
		e.where = rrLater
	}
}

// fit makes the length of a round a multiple of w, if that is possible.
func (r *RoundRobin) fit(w int64) {
	if r.scale%w == 0 || r.scale == maxScale {
		return
	}
	a, b := r.scale, w
	for b != 0 {
		a, b = b, a%b
	}
	next := w / a // the factor
	if next > maxScale/r.scale {
		r.rebase(maxScale, r.scale)
		r.scale = maxScale
		return
	}
	r.rebase(next, 1)
	r.scale *= next
}

// rebase sets virtual time to 0 and multiplies all that remains by num/den. The order within both
// heaps stays.
func (r *RoundRobin) rebase(num, den int64) {
	for i := range r.entries {
		e := &r.entries[i]
		if e.where == rrAway {
			e.begin = max(e.begin-r.now, 0)
			// Scaling one that is away serves no purpose: Set bounds it.
			continue
		}
		e.begin = mulDiv(e.begin-r.now, num, den)
		e.due = mulDiv(e.due-r.now, num, den)
	}
	r.now = 0
}

// mulDiv is v*num/den without overflow for the sizes that occur: |v| is at most two rounds.
func mulDiv(v, num, den int64) int64 {
	if den == 1 {
		return v * num
	}
	return v/den*num + v%den*num/den
}

// share is part*num/den for 0 <= part < den.
func share(part, num, den int64) int64 {
	hi, lo := bits.Mul64(uint64(part), uint64(num))
	quo, _ := bits.Div64(hi, lo, uint64(den))
	return int64(quo)
}

// mix spreads one random number over many uses (splitmix64).
func mix(rnd, salt uint64) uint64 {
	x := rnd + (salt+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rrHeap is a binary heap of candidate indices that knows where each one is.
type rrHeap struct {
	items []int32
	byDue bool
}

func (h *rrHeap) len() int { return len(h.items) }

func (h *rrHeap) less(es []rrEntry, a, b int32) bool {
	x, y := &es[a], &es[b]
	if h.byDue {
		if x.due != y.due {
			return x.due < y.due
		}
	} else if x.begin != y.begin {
		return x.begin < y.begin
	}
	if x.tie != y.tie {
		return x.tie < y.tie
	}
	return a < b
}

func (h *rrHeap) push(es []rrEntry, i int32) {
	h.items = append(h.items, i)
	es[i].heapAt = len(h.items) - 1
	h.up(es, len(h.items)-1)
}

func (h *rrHeap) remove(es []rrEntry, at int) {
	last := len(h.items) - 1
	if at != last {
		h.items[at] = h.items[last]
		es[h.items[at]].heapAt = at
	}
	h.items = h.items[:last]
	if at < last {
		h.fix(es, at)
	}
}

func (h *rrHeap) fix(es []rrEntry, at int) {
	if !h.down(es, at) {
		h.up(es, at)
	}
}

func (h *rrHeap) up(es []rrEntry, at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if !h.less(es, h.items[at], h.items[parent]) {
			return
		}
		h.swap(es, at, parent)
		at = parent
	}
}

func (h *rrHeap) down(es []rrEntry, at int) bool {
	start := at
	for {
		child := 2*at + 1
		if child >= len(h.items) {
			break
		}
		if child+1 < len(h.items) && h.less(es, h.items[child+1], h.items[child]) {
			child++
		}
		if !h.less(es, h.items[child], h.items[at]) {
			break
		}
		h.swap(es, at, child)
		at = child
	}
	return at != start
}

func (h *rrHeap) swap(es []rrEntry, a, b int) {
	h.items[a], h.items[b] = h.items[b], h.items[a]
	es[h.items[a]].heapAt = a
	es[h.items[b]].heapAt = b
}
