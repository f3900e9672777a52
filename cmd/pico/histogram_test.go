package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantiles compares with a sorted list, whole and in two halves that are merged.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var whole, a, b histogram
	var list []time.Duration
	for i := range 20_000 {
		d := time.Duration(r.ExpFloat64() * float64(3*time.Millisecond))
		list = append(list, d)
		whole.add(d)
		if i%3 == 0 {
			a.add(d)
		} else {
			b.add(d)
		}
	}
	a.merge(&b)
	slices.Sort(list)
	for _, h := range []*histogram{&whole, &a} {
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			want := list[max(0, min(len(list)-1, int(q*float64(len(list))+0.999999)-1))]
			got := h.quantile(q)
			if got < want || float64(got) > float64(want)*1.01+1 {
				t.Errorf("%v: %v, want %v", q, got, want)
			}
		}
		if h.min != list[0] || h.max != list[len(list)-1] || h.total != 20_000 {
			t.Errorf("min %v, max %v, total %d", h.min, h.max, h.total)
		}
	}
	var empty histogram
	empty.merge(&histogram{})
	if empty.quantile(0.5) != 0 || empty.mean() != 0 {
		t.Error("an empty histogram has values")
	}
	empty.add(-time.Second)
	if empty.quantile(1) != 0 || empty.total != 1 {
		t.Error("a clock that went back is counted as something else than 0")
	}
	empty.add(48 * time.Hour)
	if empty.quantile(1) != histogramTop || empty.max != histogramTop {
		t.Errorf("what is beyond the range counts as %v", empty.quantile(1))
	}
}
