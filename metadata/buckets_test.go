package metadata

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// The map agrees with the slow way: look at every range for every bucket.
func TestBucketMapAgainstModel(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		const last = 40
		var ranges []Range
		for range rnd.IntN(7) {
			from := uint64(rnd.IntN(last + 3))
			r := Range{Start: from, End: from + uint64(rnd.IntN(15)), State: BucketActive, Replicaset: fmt.Sprintf("rs-%d", rnd.IntN(3))}
			switch rnd.IntN(8) {
			case 0:
				r.State = "sending"
			case 1:
				r.Replicaset = ""
			case 2:
				r.End = from - uint64(rnd.IntN(2)) // empty, or before 0
			}
			ranges = append(ranges, r)
		}
		count := uint64(last)
		if rnd.IntN(3) == 0 {
			count = 0
			for _, r := range ranges {
				if r.End <= MaxBuckets {
					count = max(count, r.End)
				}
			}
		}
		given := count
		if rnd.IntN(2) == 0 && count != last {
			given = 0
		}
		m := (*BucketMap)(nil).With("t", given, ranges)
		var want TierBuckets
		want.Tier, want.Count, want.Ranges = "t", count, len(ranges)
		for b := uint64(0); b <= last+20; b++ {
			var owners []Range
			for _, r := range ranges {
				if r.Start >= 1 && r.End >= r.Start && r.End <= count && r.Start <= b && b <= r.End {
					owners = append(owners, r)
				}
			}
			if b >= 1 && b <= count {
				switch {
				case len(owners) == 0:
					want.Missing++
				case len(owners) > 1:
					want.Overlapped++
				}
				for _, r := range owners {
					if r.State != BucketActive {
						want.Inactive++
						break
					}
				}
			}
			rs, ok := m.Lookup("t", b)
			wantOK := len(owners) == 1 && owners[0].State == BucketActive && owners[0].Replicaset != ""
			if ok != wantOK || ok && rs != owners[0].Replicaset || !ok && rs != "" {
				t.Fatalf("seed %d: bucket %d: %q %v; ranges %+v", seed, b, rs, ok, ranges)
			}
		}
		if got := m.Tiers()[0]; got != want {
			t.Fatalf("seed %d: %+v, want %+v; ranges %+v", seed, got, want, ranges)
		}
		if n, ok := m.Count("t"); n != count || ok != (count > 0) {
			t.Fatalf("seed %d: count %d %v, want %d", seed, n, ok, count)
		}
	}
}

func TestBucketMapIsImmutable(t *testing.T) {
	var none *BucketMap
	if _, ok := none.Lookup("default", 1); ok {
		t.Error("nil knows a bucket")
	}
	if _, ok := (&BucketMap{}).Count("default"); ok {
		t.Error("the zero map knows a tier")
	}
	ranges := []Range{{1, 10, BucketActive, "a", "a"}, {11, 20, BucketActive, "b", "b"}}
	one := none.With("default", 20, ranges)
	ranges[0].Replicaset = "changed by the caller"
	two := one.With("cold", 0, []Range{{1, 5, BucketActive, "c", "c"}})
	three := two.Without("default")
	if rs, ok := one.Lookup("default", 10); !ok || rs != "a" {
		t.Error(rs, ok)
	}
	if _, ok := one.Lookup("cold", 1); ok {
		t.Error("an older map has a tier of a newer one")
	}
	if rs, ok := two.Lookup("default", 11); !ok || rs != "b" {
		t.Error(rs, ok)
	}
	if _, ok := three.Lookup("default", 1); ok {
		t.Error("a tier that was dropped is still there")
	}
	if n, ok := three.Count("cold"); !ok || n != 5 {
		t.Error(n, ok)
	}
	if one.Version != 1 || two.Version != 2 || three.Version != 3 {
		t.Error(one.Version, two.Version, three.Version)
	}
	if rs, ok := two.Lookup("default", 1); !ok || rs != "a" {
		t.Error(rs, ok)
	}
	if same := one.With("default", 20, []Range{{11, 20, BucketActive, "b", "b"}, {1, 10, BucketActive, "a", "a"}}); same != one {
		t.Error("the same answer made another map")
	}
}

func TestBucketMapSurvivesNonsense(t *testing.T) {
	m := (*BucketMap)(nil).With("t", 0, []Range{{1, math.MaxUint64, BucketActive, "a", ""}, {math.MaxUint64, math.MaxUint64, BucketActive, "a", ""}, {1, 3, BucketActive, "a", ""}})
	if n, ok := m.Count("t"); !ok || n != 3 {
		t.Error(n, ok)
	}
	if rs, ok := m.Lookup("t", 2); !ok || rs != "a" {
		t.Error(rs, ok)
	}
	if _, ok := m.Lookup("t", math.MaxUint64); ok {
		t.Error("bucket 2^64-1 has an owner")
	}
}

func BenchmarkBucketLookup(b *testing.B) {
	var ranges []Range
	for i := range uint64(250) {
		ranges = append(ranges, Range{i*12 + 1, i*12 + 12, BucketActive, fmt.Sprint(i % 3), ""})
	}
	m := (*BucketMap)(nil).With("default", 3000, ranges)
	b.ReportAllocs()
	for i := range b.N {
		m.Lookup("default", uint64(i)%3000+1)
	}
}

// A tier that is being rebalanced: every bucket is a range of its own. Ten such tiers are kept in less than 8 MB.
func TestFragmentedMapIsSmall(t *testing.T) {
	const tiers, buckets = 10, 30_000
	build := func() (m *BucketMap) {
		for tier := range tiers {
			ranges := make([]Range, buckets)
			for i := range ranges {
				ranges[i] = Range{Start: uint64(i) + 1, End: uint64(i) + 1, State: BucketActive, Replicaset: fmt.Sprintf("%036d", i%333)}
			}
			m = m.With(fmt.Sprintf("tier_%d", tier), buckets, ranges)
		}
		return m
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if rs, ok := m.Lookup("tier_3", 334); !ok || rs != fmt.Sprintf("%036d", 0) {
		t.Fatal(rs, ok)
	}
	kept := after.HeapAlloc - before.HeapAlloc
	t.Logf("%d tiers of %d ranges: %.1f MB", tiers, buckets, float64(kept)/(1<<20))
	if kept > 8<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
}

func BenchmarkFragmentedTier(b *testing.B) {
	ranges := make([]Range, 30_000)
	for i := range ranges {
		ranges[i] = Range{Start: uint64(i) + 1, End: uint64(i) + 1, State: BucketActive, Replicaset: fmt.Sprintf("%036d", i%333)}
	}
	b.ReportAllocs()
	for range b.N {
		(*BucketMap)(nil).With("t", 30_000, ranges)
	}
}
