package watch

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

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
	answer      uint64        // Print of the last answer
	moving      bool          // it had ranges on the move
	floor       time.Duration // read anew after this at the latest
}

// followUps after a change of the cluster: at 1, 2, 4 and 8 intervals.
const followUps = 4

// bucketReader keeps the bucket map fresh. It belongs to the loop.
type bucketReader struct {
	config  *Config
	options *options.Config
	source  Source
	clock   options.Clock
	log     *slog.Logger
	state   *state
	pace    *pace
	tiers   map[string]*tierState
}

// refresh asks for the buckets of those tiers whose map may have changed. The server walks every
// bucket for an answer, so it is asked when instances or replicasets of the tier changed and for
// a while after, when an answer was proved wrong, and now and then anyhow: after BucketFloor first, and less often
// while nothing changes. It is false if the connection is gone.
func (b *bucketReader) refresh(ctx context.Context, c *control, t *metadata.Topology) (alive bool) {
	b.state.mu.Lock()
	evidence := b.state.wantBuckets
	b.state.wantBuckets = false
	b.state.mu.Unlock()
	// Without a leader to route to, or with routing off, a map is for hints in the context
	// alone: it is read when one asks.
	if !evidence && (b.options.Routing == options.RoutingOff || !t.RolesKnown) {
		return true
	}
	if b.tiers == nil {
		b.tiers = map[string]*tierState{}
	}
	for name := range b.tiers {
		if _, ok := t.Tier(name); !ok {
			delete(b.tiers, name)
			b.put(b.state.buckets.Load().Without(name))
		}
	}
	version := t.MinVersion()
	waiting := false // for the time when evidence counts again
	defer func() {
		b.state.mu.Lock()
		b.state.wantBuckets = b.state.wantBuckets || waiting
		b.state.mu.Unlock()
	}()
	for i := range t.Tiers {
		tier := &t.Tiers[i]
		if tier.BucketsKnown && tier.BucketCount == 0 || !metadata.TierAllowed(b.options, tier.Name) {
			continue
		}
		s := b.tiers[tier.Name]
		if s == nil {
			s = &tierState{floor: b.config.BucketFloor}
			b.tiers[tier.Name] = s
		}
		print := bucketFingerprint(t, tier, version)
		if !s.due(print, b.clock.Now(), evidence) {
			waiting = waiting || evidence && !s.none
			continue
		}
		if !b.read(ctx, c, tier, s, print, evidence) {
			waiting = evidence
			return false
		}
	}
	return true
}

// due tells whether the tier's buckets are to be asked for now.
func (s *tierState) due(print uint64, now time.Time, evidence bool) bool {
	switch {
	case now.Before(s.retryAt):
		return false
	case !s.known || s.fingerprint != print || s.failures > 0:
		return true
	case now.Sub(s.readAt) >= s.floor:
		return true
	case s.none:
		return false
	case evidence:
		return now.Sub(s.readAt) >= doubled(500*time.Millisecond, s.evidence, 30*time.Second)
	default:
		return s.followUps > 0 && !now.Before(s.nextFollow)
	}
}

// read asks and takes the answer in. It is false if the connection is gone.
func (b *bucketReader) read(ctx context.Context, c *control, tier *metadata.Tier, s *tierState, print uint64, evidence bool) bool {
	const longest = 6 // floors between two readings while nothing changes
	answer, err := b.source.Buckets(ctx, c, tier.Name, s.answer)
	now := b.clock.Now()
	have := b.state.buckets.Load()
	if errors.Is(err, ErrNoBuckets) {
		*s = tierState{fingerprint: print, readAt: now, known: true, none: true, floor: b.config.BucketFloor}
		if _, had := have.Count(tier.Name); had {
			b.put(have.Without(tier.Name))
		}
		return true
	}
	if err != nil {
		s.failures++
		s.retryAt = now.Add(b.pace.jitter(doubled(b.pace.interval/2, s.failures-1, b.config.BucketFloor)))
		b.state.count(func(st *metadata.TopologyStats) { st.BucketFailures++ })
		if s.failures == 1 {
			b.log.Warn("picodata: bucket map can't be read, the last one stays in force", "tier", tier.Name, "address", c.to.Address, "error", err)
		}
		return isServerError(err) || ctx.Err() != nil
	}
	b.state.count(func(st *metadata.TopologyStats) { st.BucketRefreshes++ })
	next := have
	if answer.Print != s.answer {
		next = have.With(tier.Name, tier.BucketCount, answer.Ranges)
		s.answer = answer.Print
		s.moving = slices.ContainsFunc(answer.Ranges, func(r metadata.Range) bool { return r.State != metadata.BucketActive })
	}
	changed := next != have
	switch {
	case s.known && (s.fingerprint != print || changed) || s.moving:
		s.followUps = followUps
	case s.followUps > 0:
		s.followUps--
	}
	s.nextFollow = now.Add(doubled(b.pace.interval, followUps-s.followUps, b.config.BucketFloor))
	switch {
	case changed:
		s.evidence = 0
	case evidence:
		s.evidence++
	}
	switch {
	case changed || s.followUps > 0:
		s.floor = b.config.BucketFloor
	case now.Sub(s.readAt) >= s.floor:
		s.floor = doubled(s.floor, 1, longest*b.config.BucketFloor)
	}
	s.fingerprint, s.readAt, s.known, s.none, s.failures, s.retryAt = print, now, true, false, 0, time.Time{}
	if changed {
		b.put(next)
		logBuckets(b.log, next, tier.Name)
	}
	return true
}

func (b *bucketReader) put(m *metadata.BucketMap) {
	b.state.buckets.Store(m)
	if b.config.OnBuckets != nil {
		b.config.OnBuckets(m)
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
