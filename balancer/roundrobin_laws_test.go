package balancer

import (
	"math/rand/v2"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// sound checks what must hold between any two calls: each candidate that is present is in the heap where it
// belongs, once, at the place that it knows, and no child comes before its parent.
func sound(t *testing.T, r *RoundRobin) {
	t.Helper()
	var total int64
	for i := range r.entries {
		e := &r.entries[i]
		if e.where == rrAway {
			continue
		}
		total += e.weight
		h := &r.ready
		if e.where == rrLater {
			h = &r.later
		}
		if e.heapAt < 0 || e.heapAt >= len(h.items) || h.items[e.heapAt] != int32(i) {
			t.Fatalf("candidate %d isn't at its place %d of %v", i, e.heapAt, h.items)
		}
		if e.due <= e.begin {
			t.Fatalf("candidate %d begins at %d and is due at %d", i, e.begin, e.due)
		}
		if e.where == rrReady && e.begin > r.now {
			t.Fatalf("candidate %d begins at %d and is ready at %d", i, e.begin, r.now)
		}
	}
	if total != r.total || r.rem < 0 || total > 0 && r.rem >= total {
		t.Fatalf("the weights' sum is %d, taken for %d; the fraction of time is %d", total, r.total, r.rem)
	}
	for _, h := range []*rrHeap{&r.ready, &r.later} {
		for at := 1; at < len(h.items); at++ {
			if h.less(r.entries, h.items[at], h.items[(at-1)/2]) {
				t.Fatalf("%v is no heap", h.items)
			}
		}
	}
}

// Whatever comes, goes and changes its weight, the structure holds, and every pick is of one that is there.
func TestRoundRobinStaysSound(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := NewRoundRobin()
		there := map[int]bool{}
		for range 600 {
			i := rnd.IntN(9)
			switch rnd.IntN(4) {
			case 0:
				r.Set(i, rnd.IntN(12), rnd.Uint64())
				there[i] = true
			case 1:
				r.Unset(i)
				delete(there, i)
			default:
				if got := r.Next(rnd.Uint64()); got >= 0 != (len(there) > 0) || got >= 0 && !there[got] {
					t.Fatalf("seed %d: chose %d of %v", seed, got, there)
				}
			}
			sound(t, r)
		}
	}
}

// However the sum of the weights changes, whoever was there before is neither starved nor preferred afterwards: over any
// number of picks each one's count is within two of its share.
func TestRoundRobinSharesAfterAChange(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		r := NewRoundRobin()
		weights := make([]int, 2+rnd.IntN(5))
		for i := range weights {
			weights[i] = 1 + rnd.IntN(9)
			r.Set(i, weights[i], rnd.Uint64())
		}
		for range rnd.IntN(100) {
			r.Next(0)
		}
		switch i := rnd.IntN(len(weights)); rnd.IntN(3) {
		case 0: // joins
			weights = append(weights, 1+rnd.IntN(30))
			r.Set(len(weights)-1, weights[len(weights)-1], rnd.Uint64())
		case 1: // changes
			weights[i] = 1 + rnd.IntN(30)
			r.Set(i, weights[i], rnd.Uint64())
		case 2: // leaves
			weights[i] = 0
			r.Unset(i)
		}
		sum := 0
		for _, w := range weights {
			sum += w
		}
		count := make([]int, len(weights))
		for n := 1; n <= 3*sum; n++ {
			count[r.Next(0)]++
			for i, w := range weights {
				if d := float64(count[i]) - float64(n*w)/float64(sum); d < -2 || d > 2 {
					t.Fatalf("seed %d: after %d picks candidate %d of weight %d (sum %d) was chosen %d times", seed, n, i, w, sum, count[i])
				}
			}
		}
	}
}

// Leaving and coming back gains nothing: who was just chosen waits for its next turn as if it had stayed.
func TestRoundRobinNoGainByComingBack(t *testing.T) {
	r := NewRoundRobin()
	r.Set(0, 1, 1)
	r.Set(1, 1, 2)
	count := [2]int{}
	for range 100 {
		i := r.Next(0)
		count[i]++
		if i == 0 {
			r.Unset(0)
			r.Set(0, 1, 3)
		}
	}
	if count[0] > 51 {
		t.Errorf("chosen %v times of 100", count)
	}
}

// Who was away while time was measured anew isn't made to wait for it: its turn comes within one round.
func TestRoundRobinReturnsInTime(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r := NewRoundRobin()
		r.Set(0, 1, rnd.Uint64())
		r.Set(1, 1, rnd.Uint64())
		for range 40 + rnd.IntN(40) {
			r.Next(0)
		}
		r.Unset(0)
		for range 5 {
			r.Next(0)
		}
		r.Set(2, 7, rnd.Uint64()) // no multiple of what was there: all is scaled
		r.Set(0, 1, rnd.Uint64())
		for n := 0; r.Next(0) != 0; n++ {
			if n > 9 {
				t.Fatalf("seed %d: not chosen in %d picks of a round of 9", seed, n)
			}
		}
	}
}

// The random start is made by the first pick of something, not by one of nothing.
func TestRoundRobinStartsAnywhereAfterNothing(t *testing.T) {
	first := [2]int{}
	for seed := range uint64(64) {
		r := NewRoundRobin()
		if i := r.Next(seed); i != -1 {
			t.Fatalf("chose %d of nobody", i)
		}
		r.Set(0, 1, 1)
		r.Set(1, 1, 2)
		first[r.Next(seed)]++
	}
	if first[0] == 0 || first[1] == 0 {
		t.Errorf("64 programs began with %v", first)
	}
}

// Pick sees who left, who is new, and whose weight changed, by what it is shown.
func TestRoundRobinPickFollowsTheCandidates(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		r := NewRoundRobin()
		for range 30 {
			var shown []options.Candidate
			sum := 0
			for i := range 6 {
				if rnd.IntN(2) == 0 {
					w := 1 + rnd.IntN(5)
					shown = append(shown, options.Candidate{Index: i, Weight: w})
					sum += w
				}
			}
			rnd.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
			if len(shown) == 0 {
				continue
			}
			count := make([]int, len(shown))
			for range 4 * sum {
				at := r.Pick(shown, rnd.Uint64())
				count[at]++ // panics for one that isn't shown
				sound(t, r)
			}
			for at, c := range shown {
				if d := count[at] - 4*c.Weight; d < -2 || d > 2 {
					t.Fatalf("seed %d: of %+v chosen %v", seed, shown, count)
				}
			}
		}
	}
	if got := NewRoundRobin().Pick(nil, 1); got != 0 {
		t.Errorf("of nobody: %d", got)
	}
}
