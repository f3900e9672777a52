package metadata

import (
	"cmp"
	"slices"
	"strings"
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

// tierBuckets is what is known of a tier: runs of buckets with one active owner. A tier that is being rebalanced may have
// as many runs as buckets, so a run takes eight bytes.
type tierBuckets struct {
	info   TierBuckets
	owners []string // uuids of replicasets
	ends   []uint32 // the last bucket of each run, ascending; a run begins after the one before it
	of     []uint32 // by run: its owner's place in owners, or nobody
}

// nobody: the run's buckets have no owner, more than one, or one that isn't active.
const nobody = ^uint32(0)

// With returns a map in which the tier has these ranges; the others are as they were.
// count is the tier's number of buckets, 0 if the user may not read it: then the end of the
// last range is (the server answers for all buckets or not at all). Ranges that make no
// sense (empty, from bucket 0, past count) count as missing buckets. If all of this is known already, it is m itself.
func (m *BucketMap) With(tier string, count uint64, ranges []Range) *BucketMap {
	t := newTierBuckets(tier, count, ranges)
	if old, ok := m.tierMap()[tier]; ok && old.same(t) {
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
	if count == 0 {
		for _, r := range ranges {
			if r.End <= MaxBuckets {
				count = max(count, r.End)
			}
		}
	}
	sane := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if r.Start > 0 && r.End >= r.Start && r.End <= count && r.End <= MaxBuckets {
			sane = append(sane, r)
		}
	}
	byStart := func(a, b Range) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) }
	if !slices.IsSortedFunc(sane, byStart) {
		slices.SortStableFunc(sane, byStart)
	}
	t := &tierBuckets{info: TierBuckets{Tier: tier, Count: count, Ranges: len(ranges)}, ends: make([]uint32, 0, len(sane)), of: make([]uint32, 0, len(sane))}
	places := map[string]uint32{}

	// A sweep over the edges of the ranges cuts the buckets into pieces that are covered by the same ranges throughout.
	var open []Range // those that cover the piece at hand
	at, next, covered := uint64(1), 0, uint64(0)
	for next < len(sane) || len(open) > 0 {
		if len(open) == 0 {
			if sane[next].Start > at {
				t.own(sane[next].Start-1, nobody)
			}
			at = sane[next].Start
		}
		for next < len(sane) && sane[next].Start == at {
			open = append(open, sane[next])
			next++
		}
		to := open[0].End
		for _, r := range open[1:] {
			to = min(to, r.End)
		}
		if next < len(sane) {
			to = min(to, sane[next].Start-1)
		}
		size := to - at + 1
		covered += size
		owner := nobody
		inactive := slices.ContainsFunc(open, func(r Range) bool { return r.State != BucketActive })
		if len(open) > 1 {
			t.info.Overlapped += size
		}
		if inactive {
			t.info.Inactive += size
		}
		if len(open) == 1 && !inactive && open[0].Replicaset != "" {
			place, known := places[open[0].Replicaset]
			if !known {
				place = uint32(len(t.owners))
				places[open[0].Replicaset] = place
				t.owners = append(t.owners, strings.Clone(open[0].Replicaset)) // not a part of the whole answer
			}
			owner = place
		}
		t.own(to, owner)
		at = to + 1
		open = slices.DeleteFunc(open, func(r Range) bool { return r.End < at })
	}
	if cap(t.ends) > len(t.ends)+len(t.ends)/4 {
		t.ends, t.of = slices.Clone(t.ends), slices.Clone(t.of) // many ranges were joined
	}
	t.info.Missing = count - covered
	return t
}

// own adds a run that ends at a bucket, joined to the one before when both have one owner.
func (t *tierBuckets) own(end uint64, owner uint32) {
	if n := len(t.of); n > 0 && t.of[n-1] == owner {
		t.ends[n-1] = uint32(end)
		return
	}
	t.ends, t.of = append(t.ends, uint32(end)), append(t.of, owner)
}

// same tells whether both say the same of every bucket.
func (t *tierBuckets) same(u *tierBuckets) bool {
	if t.info != u.info || !slices.Equal(t.ends, u.ends) {
		return false
	}
	for i := range t.of {
		if t.owner(i) != u.owner(i) {
			return false
		}
	}
	return true
}

// owner is that of a run, "" for nobody.
func (t *tierBuckets) owner(run int) string {
	if of := t.of[run]; of != nobody {
		return t.owners[of]
	}
	return ""
}

// Lookup returns the uuid of the replicaset that holds the bucket. It is false for a tier
// that isn't known and for a bucket that no range, more than one range, or a range that
// isn't active covers: whoever guesses here sends a row to the wrong place.
func (m *BucketMap) Lookup(tier string, bucket uint64) (replicasetUUID string, ok bool) {
	t, ok := m.tierMap()[tier]
	if !ok {
		return "", false
	}
	if bucket == 0 || bucket > MaxBuckets {
		return "", false
	}
	run, _ := slices.BinarySearch(t.ends, uint32(bucket))
	if run == len(t.ends) {
		return "", false
	}
	owner := t.owner(run)
	return owner, owner != ""
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
