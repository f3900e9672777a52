package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
)

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
