package metadata

import (
	"cmp"
	"slices"
	"sort"
)

// MaxBuckets is far above what a tier can have; a range that ends beyond it is nonsense.
const MaxBuckets = 1 << 31

// BucketActive is the state of a range whose buckets are where CurrentReplicaset says.
const BucketActive = "active"

// Range is a run of buckets that one replicaset holds.
type Range struct {
	Start, End uint64 // both included, counted from 1
	State      string // "active", "sending" or "sent"
	Replicaset string // uuid of the one that holds the buckets now
	Target     string // uuid of the one that shall hold them
}

// TierBuckets says how well the buckets of one tier are known.
type TierBuckets struct {
	Tier       string
	Count      uint64 // buckets of the tier
	Ranges     int
	Missing    uint64 // buckets that no range covers
	Overlapped uint64 // buckets that more than one range covers
	Inactive   uint64 // buckets in ranges of another state than "active"
}

// BucketMap says which replicaset holds a bucket. It is immutable. Its zero value and nil know nothing.
type BucketMap struct {
	Version uint64 // grows by one with every change
	tiers   map[string]*tierBuckets
}

type tierBuckets struct {
	info   TierBuckets
	ranges []Range // as the server gave them, sorted by Start
	owned  []Range // disjoint, sorted, each with exactly one active owner
}

// With returns a map in which the tier has these ranges; the others are as they were.
// count is the tier's number of buckets, 0 if the user may not read it: then the end of the
// last range is (the server answers for all buckets or not at all). Ranges that make no
// sense (empty, from bucket 0, past count) count as missing buckets. If all of this is known already, it is m itself.
func (m *BucketMap) With(tier string, count uint64, ranges []Range) *BucketMap {
	t := newTierBuckets(tier, count, ranges)
	if old, ok := m.tierMap()[tier]; ok && old.info == t.info && slices.Equal(old.ranges, t.ranges) {
		return m
	}
	next := &BucketMap{tiers: make(map[string]*tierBuckets, len(m.tierMap())+1)}
	for name, t := range m.tierMap() {
		next.tiers[name] = t
	}
	if m != nil {
		next.Version = m.Version
	}
	next.Version++
	next.tiers[tier] = t
	return next
}

// Without returns a map that knows nothing of the tier.
func (m *BucketMap) Without(tier string) *BucketMap {
	next := &BucketMap{Version: 1, tiers: make(map[string]*tierBuckets, len(m.tierMap()))}
	if m != nil {
		next.Version = m.Version + 1
	}
	for name, t := range m.tierMap() {
		if name != tier {
			next.tiers[name] = t
		}
	}
	return next
}

func (m *BucketMap) tierMap() map[string]*tierBuckets {
	if m == nil {
		return nil
	}
	return m.tiers
}

func newTierBuckets(tier string, count uint64, ranges []Range) *tierBuckets {
	sorted := slices.Clone(ranges)
	slices.SortStableFunc(sorted, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	if count == 0 {
		for _, r := range sorted {
			if r.End <= MaxBuckets {
				count = max(count, r.End)
			}
		}
	}
	t := &tierBuckets{ranges: sorted}
	t.info = TierBuckets{Tier: tier, Count: count, Ranges: len(sorted)}

	// A sweep over the edges of all sensible ranges cuts the buckets into pieces that are
	// covered by the same ranges throughout.
	var edges []uint64
	var sane []Range
	for _, r := range sorted {
		if r.Start == 0 || r.End < r.Start || r.End > count {
			continue
		}
		sane = append(sane, r)
		edges = append(edges, r.Start, r.End+1)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var covered uint64
	var open []Range
	for i, next := 0, 0; i+1 < len(edges); i++ {
		from, to := edges[i], edges[i+1]-1
		open = slices.DeleteFunc(open, func(r Range) bool { return r.End < from })
		for next < len(sane) && sane[next].Start == from {
			open = append(open, sane[next])
			next++
		}
		if len(open) == 0 {
			continue
		}
		size := to - from + 1
		covered += size
		inactive := slices.ContainsFunc(open, func(r Range) bool { return r.State != BucketActive })
		if len(open) > 1 {
			t.info.Overlapped += size
		}
		if inactive {
			t.info.Inactive += size
		}
		if len(open) > 1 || inactive || open[0].Replicaset == "" {
			continue
		}
		t.own(from, to, open[0])
	}
	t.info.Missing = count - covered
	return t
}

// own adds a piece, joined to the one before when both belong together.
func (t *tierBuckets) own(from, to uint64, r Range) {
	if n := len(t.owned); n > 0 && t.owned[n-1].End+1 == from && t.owned[n-1].Replicaset == r.Replicaset {
		t.owned[n-1].End = to
		return
	}
	t.owned = append(t.owned, Range{Start: from, End: to, State: r.State, Replicaset: r.Replicaset, Target: r.Target})
}

// Lookup returns the uuid of the replicaset that holds the bucket. It is false for a tier
// that isn't known and for a bucket that no range, more than one range, or a range that
// isn't active covers: whoever guesses here sends a row to the wrong place.
func (m *BucketMap) Lookup(tier string, bucket uint64) (replicasetUUID string, ok bool) {
	t, ok := m.tierMap()[tier]
	if !ok {
		return "", false
	}
	i := sort.Search(len(t.owned), func(i int) bool { return t.owned[i].End >= bucket })
	if i == len(t.owned) || t.owned[i].Start > bucket {
		return "", false
	}
	return t.owned[i].Replicaset, true
}

// Count returns the number of buckets of the tier, false if the map doesn't know the tier.
func (m *BucketMap) Count(tier string) (uint64, bool) {
	t, ok := m.tierMap()[tier]
	if !ok || t.info.Count == 0 {
		return 0, false
	}
	return t.info.Count, true
}

// Tiers says of each tier, sorted by name, how well its buckets are known.
func (m *BucketMap) Tiers() []TierBuckets {
	var all []TierBuckets
	for _, t := range m.tierMap() {
		all = append(all, t.info)
	}
	slices.SortFunc(all, func(a, b TierBuckets) int { return cmp.Compare(a.Tier, b.Tier) })
	return all
}
