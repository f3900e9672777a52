package balancer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/picodata/go-picodata/options"
)

func candidates(weights ...int) []options.Candidate {
	cs := make([]options.Candidate, len(weights))
	for i, w := range weights {
		cs[i] = options.Candidate{Index: i, Name: fmt.Sprintf("i%d", i+1), Weight: w}
	}
	return cs
}

// both runs a test through Pick and through the Tracker's methods.
func both(t *testing.T, weights []int, picks int, check func(t *testing.T, seq []int)) {
	t.Helper()
	seed := rand.Uint64()
	t.Run("pick", func(t *testing.T) {
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 0))
		r, cs := NewRoundRobin(), candidates(weights...)
		seq := make([]int, picks)
		for i := range seq {
			seq[i] = r.Pick(cs, rnd.Uint64())
		}
		check(t, seq)
	})
	t.Run("tracker", func(t *testing.T) {
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 0))
		r := NewRoundRobin()
		for i, w := range weights {
			r.Set(i, w, rnd.Uint64())
		}
		seq := make([]int, picks)
		for i := range seq {
			seq[i] = r.Next(rnd.Uint64())
		}
		check(t, seq)
	})
}

// Any window of as many picks as the weights' sum holds each candidate exactly weight times.
func TestRoundRobinExactOverAnyWindow(t *testing.T) {
	for _, weights := range [][]int{
		{1}, {10, 10, 10}, {10, 5}, {5, 1, 1}, {7, 3, 2, 1}, {100, 1, 1, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9},
		{13, 13, 7, 7, 7, 29}, {1000, 1},
	} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			sum := 0
			for _, w := range weights {
				sum += w
			}
			both(t, weights, 4*sum+17, func(t *testing.T, seq []int) {
				count := make([]int, len(weights))
				for i, p := range seq {
					count[p]++
					if i >= sum {
						count[seq[i-sum]]--
					}
					if i < sum-1 {
						continue
					}
					for c, w := range weights {
						if count[c] != w {
							t.Fatalf("window ending at pick %d: candidate %d was chosen %d times, weight %d", i, c, count[c], w)
						}
					}
				}
			})
		})
	}
}

// Between whole rounds nobody runs ahead or falls behind by two picks: the sequence is smooth.
func TestRoundRobinIsSmooth(t *testing.T) {
	many := make([]int, 101)
	for i := range many {
		many[i] = 1
	}
	many[0] = 100
	for _, weights := range [][]int{{10, 5}, {5, 1, 1}, {7, 3, 2, 1}, many} {
		sum := 0
		for _, w := range weights {
			sum += w
		}
		both(t, weights, 3*sum, func(t *testing.T, seq []int) {
			for from := range sum {
				count := make([]int, len(weights))
				for n, p := range seq[from : from+sum] {
					count[p]++
					for c, w := range weights {
						share := float64(n+1) * float64(w) / float64(sum)
						if d := float64(count[c]) - share; d <= -2 || d >= 2 {
							t.Fatalf("weights %v, %d picks from %d: candidate %d was chosen %d times, its share is %.2f", weights, n+1, from, c, count[c], share)
						}
					}
				}
			}
		})
	}
}

// The place where the sequence starts is random: many programs don't all begin with the same node.
func TestRoundRobinStartsAnywhere(t *testing.T) {
	first := make([]int, 4)
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		r := NewRoundRobin()
		first[r.Pick(candidates(3, 3, 3, 3), rnd.Uint64())]++
	}
	for i, n := range first {
		if n < 60 || n > 140 {
			t.Errorf("candidate %d came first in %d of 400 sequences", i, n)
		}
	}
}

// The greatest weights, whose least common multiple fits nowhere, are still shared out to a part in a thousand.
func TestRoundRobinGreatWeights(t *testing.T) {
	weights := []int{10_000_000, 9_999_991, 9_999_973, 7_654_321, 3}
	sum := 0
	for _, w := range weights {
		sum += w
	}
	const picks = 200_000
	both(t, weights, picks, func(t *testing.T, seq []int) {
		count := make([]int, len(weights))
		for _, p := range seq {
			count[p]++
		}
		for c, w := range weights {
			share := float64(picks) * float64(w) / float64(sum)
			if d := float64(count[c]) - share; d < -share/1000-2 || d > share/1000+2 {
				t.Errorf("candidate %d was chosen %d times, its share is %.1f", c, count[c], share)
			}
		}
	})
}

// A candidate that was away gets no arrears, and the others' turns go on.
func TestRoundRobinNoArrears(t *testing.T) {
	r := NewRoundRobin()
	for i := range 3 {
		r.Set(i, 10, uint64(i))
	}
	for range 30 {
		r.Next(1)
	}
	r.Unset(1)
	for range 300 {
		if r.Next(1) == 1 {
			t.Fatal("chosen while away")
		}
	}
	r.Set(1, 10, 1)
	run := 0
	for range 6 {
		if r.Next(1) == 1 {
			run++
		}
	}
	if run > 3 {
		t.Errorf("chosen %d of 6 times after it came back", run)
	}
}

// Whatever joins, leaves and changes, only those present are chosen, and shares are right again afterwards.
func TestRoundRobinChanges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := NewRoundRobin()
	weight := map[int]int{}
	for step := range 20_000 {
		i := rnd.IntN(40)
		switch rnd.IntN(4) {
		case 0:
			w := 1 + rnd.IntN(30)
			if rnd.IntN(50) == 0 {
				w = 1 + rnd.IntN(10_000_000)
			}
			r.Set(i, w, rnd.Uint64())
			weight[i] = w
		case 1:
			r.Unset(i)
			delete(weight, i)
		default:
			got := r.Next(rnd.Uint64())
			if _, ok := weight[got]; !ok && (got != -1 || len(weight) > 0) {
				t.Fatalf("step %d: chose %d, present are %v", step, got, weight)
			}
		}
		sum := int64(0)
		for _, w := range weight {
			sum += int64(w)
		}
		if sum != r.total || len(weight) != r.ready.len()+r.later.len() {
			t.Fatalf("step %d: total %d with %d candidates, want %d with %d", step, r.total, r.ready.len()+r.later.len(), sum, len(weight))
		}
	}
	for i := range 40 {
		r.Unset(i)
	}
	for i := range 4 {
		r.Set(i, 10*(i+1), rnd.Uint64())
	}
	for range 500 {
		r.Next(0)
	}
	count := make([]int, 4)
	for range 1000 {
		count[r.Next(0)]++
	}
	for i, n := range count {
		if want := 100 * (i + 1); n < want-2 || n > want+2 {
			t.Errorf("candidate %d of weight %d was chosen %d times of 1000", i, 10*(i+1), n)
		}
	}
}

// Virtual time is set back long before it overflows.
func TestRoundRobinRebase(t *testing.T) {
	r := NewRoundRobin()
	r.Set(0, 3, 0)
	r.Set(1, 2, 0)
	for range 10 {
		r.Next(0)
	}
	shift := int64(maxNow) - r.now - 3*r.scale
	r.now += shift
	for i := range r.entries {
		r.entries[i].begin += shift
		r.entries[i].due += shift
	}
	count := make([]int, 2)
	for range 100 {
		count[r.Next(0)]++
	}
	if r.now > maxNow/2 {
		t.Errorf("virtual time is %d, it was not set back", r.now)
	}
	if count[0] != 60 || count[1] != 40 {
		t.Errorf("chosen %v, want 60 and 40", count)
	}
}
