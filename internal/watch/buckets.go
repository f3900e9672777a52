package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// ErrNoBuckets: the tier holds no buckets, or the server has no _pico_bucket() (it came with 25.5.1).
var ErrNoBuckets = errors.New("picodata: no bucket map of this tier")

// ErrNoBucketFunction is ErrNoBuckets on a server before 25.5.1.
var ErrNoBucketFunction = fmt.Errorf("%w: the server has no _pico_bucket()", ErrNoBuckets)

// maxRanges bounds what is kept of one answer: every bucket of a very large tier in a range of its own.
const maxRanges = 1 << 17

// ReadBuckets asks for the ranges of one tier. The server walks all its buckets for the
// answer, so ask rarely. Every user may ask. ErrNoBuckets says that there is nothing to be asked for.
func (s *Source) ReadBuckets(ctx context.Context, q Querier, tier string) ([]metadata.Range, error) {
	raw, err := scalar(ctx, q, "SELECT _pico_bucket("+quoteText(tier)+")")
	switch {
	case err == nil:
	case isUnknownFunction(err, "_pico_bucket"):
		return nil, ErrNoBucketFunction
	case causeOf(err) == servererr.NoTier:
		return nil, fmt.Errorf("%w: %w", ErrNoBuckets, err)
	default:
		return nil, fmt.Errorf("picodata: reading the buckets of tier %s: %w", tier, err)
	}
	ranges, err := parseRanges(raw, tier)
	if err != nil {
		return nil, fmt.Errorf("picodata: reading the buckets of tier %s: %w", tier, err)
	}
	return ranges, nil
}

// parseRanges reads the JSON that _pico_bucket() gives. An item that makes no sense is an
// error of the whole answer: half a map would send rows astray.
func parseRanges(raw, tier string) ([]metadata.Range, error) {
	var items []struct {
		Tier    *string `json:"tier_name"`
		Start   *uint64 `json:"bucket_id_start"`
		End     *uint64 `json:"bucket_id_end"`
		State   string  `json:"state"`
		Current string  `json:"current_replicaset_uuid"`
		Target  string  `json:"target_replicaset_uuid"`
	}
	if err := json.Unmarshal([]byte(raw), &items); err != nil {
		return nil, fmt.Errorf("%q is not a list of ranges: %w", clip(raw), err)
	}
	if len(items) > maxRanges {
		return nil, fmt.Errorf("%d ranges, more than %d", len(items), maxRanges)
	}
	ranges := make([]metadata.Range, 0, len(items))
	for _, item := range items {
		if item.Tier != nil && *item.Tier != tier {
			continue
		}
		if item.Start == nil || item.End == nil || *item.Start == 0 || *item.End < *item.Start || *item.End > metadata.MaxBuckets {
			return nil, errors.New("a range without sensible bounds")
		}
		ranges = append(ranges, metadata.Range{Start: *item.Start, End: *item.End, State: item.State, Replicaset: item.Current, Target: item.Target})
	}
	if len(ranges) == 0 {
		return nil, errors.New("no ranges")
	}
	return ranges, nil
}

// quoteText writes a string literal for SQL.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// tierState says when a tier's buckets were asked for and why they may be asked for again.
type tierState struct {
	fingerprint uint64
	readAt      time.Time
	known       bool // an answer came, good or "no buckets"
	none        bool // the tier holds no buckets
	followUps   int  // readings still to come after a change: buckets move for a while
	nextFollow  time.Time
	evidence    int // readings in a row that evidence asked for in vain
	failures    int
	retryAt     time.Time
}

// followUps after a change of the cluster: at 1, 2, 4 and 8 intervals.
const followUps = 4

// refreshBuckets asks for the buckets of those tiers whose map may have changed. The server walks every
// bucket for an answer, so it is asked when instances or replicasets of the tier changed and for
// a while after, when an answer was proved wrong, and after BucketFloor at the latest.
func (w *Watcher) refreshBuckets() {
	t := w.Topology()
	w.mu.Lock()
	evidence := w.wantBuckets
	w.wantBuckets = false
	w.mu.Unlock()
	// Without a leader to route to, or with routing off, a map is for hints in the context
	// alone: it is read when one asks.
	if !evidence && (w.options.Routing == options.RoutingOff || !t.RolesKnown) {
		return
	}
	if w.loop.tiers == nil {
		w.loop.tiers = map[string]*tierState{}
	}
	for name := range w.loop.tiers {
		if _, ok := t.Tier(name); !ok {
			delete(w.loop.tiers, name)
			w.putBuckets(w.Buckets().Without(name))
		}
	}
	version := t.MinVersion()
	waiting := false // for the time when evidence counts again
	defer func() {
		w.mu.Lock()
		w.wantBuckets = w.wantBuckets || waiting
		w.mu.Unlock()
	}()
	for i := range t.Tiers {
		tier := &t.Tiers[i]
		if tier.BucketsKnown && tier.BucketCount == 0 || !metadata.TierAllowed(w.options, tier.Name) {
			continue
		}
		s := w.loop.tiers[tier.Name]
		if s == nil {
			s = &tierState{}
			w.loop.tiers[tier.Name] = s
		}
		print := bucketFingerprint(t, tier, version)
		if !s.due(print, w.clock.Now(), evidence, w.config.BucketFloor, w.interval) {
			waiting = waiting || evidence && !s.none
			continue
		}
		if !w.readBuckets(t, tier, s, print, evidence) {
			waiting = evidence
			return
		}
	}
}

// due tells whether the tier's buckets are to be asked for now.
func (s *tierState) due(print uint64, now time.Time, evidence bool, floor, interval time.Duration) bool {
	switch {
	case now.Before(s.retryAt):
		return false
	case !s.known || s.fingerprint != print || s.failures > 0:
		return true
	case now.Sub(s.readAt) >= floor:
		return true
	case s.none:
		return false
	case evidence:
		return now.Sub(s.readAt) >= doubled(500*time.Millisecond, s.evidence, 30*time.Second)
	default:
		return s.followUps > 0 && !now.Before(s.nextFollow)
	}
}

// readBuckets asks and takes the answer in. It is false if the connection is gone.
func (w *Watcher) readBuckets(t *metadata.Topology, tier *metadata.Tier, s *tierState, print uint64, evidence bool) bool {
	ranges, err := w.source.ReadBuckets(w.ctx, w.querier(), tier.Name)
	now := w.clock.Now()
	if errors.Is(err, ErrNoBuckets) {
		*s = tierState{fingerprint: print, readAt: now, known: true, none: true}
		if _, had := w.Buckets().Count(tier.Name); had {
			w.putBuckets(w.Buckets().Without(tier.Name))
		}
		return true
	}
	if err != nil {
		s.failures++
		s.retryAt = now.Add(w.jitter(doubled(w.interval/2, s.failures-1, w.config.BucketFloor)))
		w.mu.Lock()
		w.stats.BucketFailures++
		w.mu.Unlock()
		if s.failures == 1 {
			w.log.Warn("picodata: bucket map can't be read, the last one stays in force", "tier", tier.Name, "address", w.loop.connTo.Address, "error", err)
		}
		if !isServerError(err) && w.ctx.Err() == nil {
			w.leaveNode()
			return false
		}
		return true
	}
	w.mu.Lock()
	w.stats.BucketRefreshes++
	w.mu.Unlock()
	next := w.Buckets().With(tier.Name, tier.BucketCount, ranges)
	changed := next != w.Buckets()
	moving := slices.ContainsFunc(ranges, func(r metadata.Range) bool { return r.State != metadata.BucketActive })
	switch {
	case s.known && (s.fingerprint != print || changed) || moving:
		s.followUps = followUps
	case s.followUps > 0:
		s.followUps--
	}
	s.nextFollow = now.Add(doubled(w.interval, followUps-s.followUps, w.config.BucketFloor))
	switch {
	case changed:
		s.evidence = 0
	case evidence:
		s.evidence++
	}
	s.fingerprint, s.readAt, s.known, s.none, s.failures, s.retryAt = print, now, true, false, 0, time.Time{}
	if changed {
		w.putBuckets(next)
		w.logBuckets(tier.Name)
	}
	return true
}

func (w *Watcher) putBuckets(m *metadata.BucketMap) {
	w.buckets.Store(m)
	if w.config.OnBuckets != nil {
		w.config.OnBuckets(m)
	}
}

// bucketFingerprint changes when something happens to a tier that moves its buckets: instances that come
// and go for good, replicasets, their weights. A leader's switch or a restart doesn't.
func bucketFingerprint(t *metadata.Topology, tier *metadata.Tier, version metadata.Version) uint64 {
	h := fnv.New64a()
	put := func(s string) { io.WriteString(h, s); h.Write([]byte{0}) }
	put(version.String()) // an upgrade may bring _pico_bucket()
	put(strconv.FormatUint(tier.BucketCount, 10))
	for i := range t.Instances {
		if in := &t.Instances[i]; in.Tier == tier.Name && in.State != metadata.Expelled {
			put(in.UUID)
			put(in.ReplicasetUUID)
		}
	}
	for i := range t.Replicasets {
		if r := &t.Replicasets[i]; r.Tier == tier.Name {
			put(r.UUID)
			put(r.State)
			put(strconv.FormatFloat(r.Weight, 'g', -1, 64))
		}
	}
	return h.Sum64()
}
