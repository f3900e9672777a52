package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/metadata"
)

func FuzzParseRanges(f *testing.F) {
	f.Add(`[{"bucket_id_start":1,"target_replicaset_uuid":"b","tier_name":"t","state":"active","current_replicaset_uuid":"a","bucket_id_end":1500}]`)
	f.Add(`[{"bucket_id_start":1,"bucket_id_end":1},{"bucket_id_start":1,"bucket_id_end":3,"state":"sent"}]`)
	f.Add(`[]`)
	f.Add(`[{"bucket_id_start":18446744073709551615,"bucket_id_end":18446744073709551615}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		ranges, err := parseRanges(raw, "t")
		if quick, ok, quickErr := plainRanges(raw, "t"); ok { // then it says what encoding/json would
			var items []rangeItem
			slow, slowErr := rangeBuilder{tier: "t"}, json.Unmarshal([]byte(raw), &items)
			for i := 0; slowErr == nil && i < len(items); i++ {
				slowErr = slow.add(&items[i])
			}
			if slowErr == nil {
				_, slowErr = slow.done()
			}
			if (quickErr == nil) != (slowErr == nil) || quickErr == nil && !slices.Equal(quick, slow.ranges) {
				t.Fatalf("%q: %+v, %v; want %+v, %v", raw, quick, quickErr, slow.ranges, slowErr)
			}
		}
		if err != nil {
			return
		}
		m := (*metadata.BucketMap)(nil).With("t", 0, ranges)
		info := m.Tiers()[0]
		if info.Missing > info.Count || info.Overlapped > info.Count || info.Inactive > info.Count {
			t.Fatalf("%+v", info)
		}
		for _, r := range ranges {
			for _, bucket := range []uint64{r.Start, r.End} {
				if rs, ok := m.Lookup("t", bucket); ok && rs == "" {
					t.Fatalf("bucket %d has an owner without a name", bucket)
				}
			}
		}
	})
}

// fragmented is the answer about a tier in which every bucket is a range of its own.
func fragmented(buckets int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range buckets {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"bucket_id_start":%d,"target_replicaset_uuid":"%036d","tier_name":"default","state":"active","current_replicaset_uuid":"%036d","bucket_id_end":%d}`, i+1, i%333, i%333, i+1)
	}
	b.WriteByte(']')
	return b.String()
}

func BenchmarkFragmentedRanges(b *testing.B) {
	raw := fragmented(30_000)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if r, err := parseRanges(raw, "default"); err != nil || len(r) != 30_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		odd := strings.Replace(raw, `"state"`, `"new":1,"state"`, 1)
		b.ReportAllocs()
		for range b.N {
			if r, err := parseRanges(odd, "default"); err != nil || len(r) != 30_000 {
				b.Fatal(err)
			}
		}
	})
}
