package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
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
