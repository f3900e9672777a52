package watch

import (
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
