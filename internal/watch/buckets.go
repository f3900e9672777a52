package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
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

// maxRanges bounds what is kept of one answer: every bucket of a very large tier in a range of its own.
const maxRanges = 1 << 17

// Buckets asks _pico_bucket(), which walks all buckets of the tier for the answer, so ask rarely. Every user may ask.
func (s *SQL) Buckets(ctx context.Context, q Querier, tier string, have uint64) (Buckets, error) {
	raw, err := scalar(ctx, q, "SELECT _pico_bucket("+quoteText(tier)+")")
	switch {
	case err == nil:
	case isUnknownFunction(err, "_pico_bucket"):
		return Buckets{}, fmt.Errorf("%w: the server has no _pico_bucket()", ErrNoBuckets)
	case causeOf(err) == servererr.NoTier:
		return Buckets{}, fmt.Errorf("%w: %w", ErrNoBuckets, err)
	default:
		return Buckets{}, fmt.Errorf("picodata: reading the buckets of tier %s: %w", tier, err)
	}
	h := fnv.New64a()
	io.WriteString(h, raw)
	b := Buckets{Print: max(h.Sum64(), 1)}
	if b.Print == have {
		return b, nil
	}
	if b.Ranges, err = parseRanges(raw, tier); err != nil {
		return Buckets{}, fmt.Errorf("picodata: reading the buckets of tier %s: %w", tier, err)
	}
	return b, nil
}

// rangeItem is one item of the answer.
type rangeItem struct {
	Tier    *string `json:"tier_name"`
	Start   *uint64 `json:"bucket_id_start"`
	End     *uint64 `json:"bucket_id_end"`
	State   string  `json:"state"`
	Current string  `json:"current_replicaset_uuid"`
	Target  string  `json:"target_replicaset_uuid"`
}

// parseRanges reads the JSON that _pico_bucket() gives. An item that makes no sense is an
// error of the whole answer: half a map would send rows astray.
func parseRanges(raw, tier string) ([]metadata.Range, error) {
	ranges, ok, err := plainRanges(raw, tier)
	if err != nil || ok {
		return ranges, err
	}
	var items []rangeItem
	if err := json.Unmarshal([]byte(raw), &items); err != nil {
		return nil, fmt.Errorf("%q is not a list of ranges: %w", clip(raw), err)
	}
	b := rangeBuilder{tier: tier}
	for i := range items {
		if err := b.add(&items[i]); err != nil {
			return nil, err
		}
	}
	return b.done()
}

// rangeBuilder collects the ranges of a tier.
type rangeBuilder struct {
	tier   string
	ranges []metadata.Range
	names  map[string]string // one copy of each uuid and state
}

func (b *rangeBuilder) add(item *rangeItem) error {
	if item.Tier != nil && *item.Tier != b.tier {
		return nil
	}
	if item.Start == nil || item.End == nil || *item.Start == 0 || *item.End < *item.Start || *item.End > metadata.MaxBuckets {
		return errors.New("a range without sensible bounds")
	}
	if len(b.ranges) >= maxRanges {
		return fmt.Errorf("more than %d ranges", maxRanges)
	}
	b.ranges = append(b.ranges, metadata.Range{Start: *item.Start, End: *item.End, State: b.name(item.State), Replicaset: b.name(item.Current), Target: b.name(item.Target)})
	return nil
}

func (b *rangeBuilder) name(s string) string {
	if kept, ok := b.names[s]; ok {
		return kept
	}
	if b.names == nil {
		b.names = map[string]string{}
	}
	s = strings.Clone(s)
	b.names[s] = s
	return s
}

func (b *rangeBuilder) done() ([]metadata.Range, error) {
	if len(b.ranges) == 0 {
		return nil, errors.New("no ranges")
	}
	return b.ranges, nil
}

// plainRanges reads the form that every known server writes, a list of flat objects of plain texts and numbers, at a
// fraction of the cost: a tier that is being rebalanced has ten thousands of ranges. ok is false for any other form.
func plainRanges(raw, tier string) (ranges []metadata.Range, ok bool, err error) {
	b := rangeBuilder{tier: tier}
	p := plainJSON{rest: raw}
	var item rangeItem
	var name string
	var start, end uint64
	if !p.eat('[') {
		return nil, false, nil
	}
	b.ranges = make([]metadata.Range, 0, min(strings.Count(raw, "{"), maxRanges))
	for first := true; !p.eat(']'); first = false {
		if !first && !p.eat(',') || !p.eat('{') {
			return nil, false, nil
		}
		item = rangeItem{}
		for field := 0; !p.eat('}'); field++ {
			if field > 0 && !p.eat(',') {
				return nil, false, nil
			}
			key, good := p.text()
			if !good || !p.eat(':') {
				return nil, false, nil
			}
			switch key {
			case "tier_name":
				name, good = p.text()
				item.Tier = &name
			case "bucket_id_start":
				start, good = p.number()
				item.Start = &start
			case "bucket_id_end":
				end, good = p.number()
				item.End = &end
			case "state":
				item.State, good = p.text()
			case "current_replicaset_uuid":
				item.Current, good = p.text()
			case "target_replicaset_uuid":
				item.Target, good = p.text()
			default:
				good = false
			}
			if !good {
				return nil, false, nil
			}
		}
		if err := b.add(&item); err != nil {
			return nil, true, err
		}
	}
	if strings.TrimLeft(p.rest, " \t\r\n") != "" {
		return nil, false, nil
	}
	ranges, err = b.done()
	return ranges, true, err
}

// plainJSON reads JSON without escapes, signs and fractions.
type plainJSON struct{ rest string }

// eat takes the byte, with blanks before it, if it is the next one.
func (p *plainJSON) eat(c byte) bool {
	i := 0
	for i < len(p.rest) && (p.rest[i] == ' ' || p.rest[i] == '\n' || p.rest[i] == '\t' || p.rest[i] == '\r') {
		i++
	}
	if i == len(p.rest) || p.rest[i] != c {
		return false
	}
	p.rest = p.rest[i+1:]
	return true
}

func (p *plainJSON) text() (string, bool) {
	if !p.eat('"') {
		return "", false
	}
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			s := p.rest[:i]
			p.rest = p.rest[i+1:]
			return s, true
		case c == '\\' || c < ' ' || c >= 0x80:
			return "", false
		}
	}
	return "", false
}

func (p *plainJSON) number() (uint64, bool) {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	i := 0
	for i < len(p.rest) && i < 19 && p.rest[i] >= '0' && p.rest[i] <= '9' {
		i++
	}
	if i == 0 || i > 1 && p.rest[0] == '0' || i == len(p.rest) || p.rest[i] >= '0' && p.rest[i] <= '9' || p.rest[i] == '.' || p.rest[i] == 'e' || p.rest[i] == 'E' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.rest[:i], 10, 64)
	p.rest = p.rest[i:]
	return n, err == nil
}

// quoteText writes a string literal for SQL.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
