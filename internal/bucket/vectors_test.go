package bucket

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// vector is one entry of testdata/bucket-vectors.json.
type vector struct {
	Name string `json:"name"`
	Keys []struct {
		Type  string `json:"type"`
		OID   uint32 `json:"type_oid"`
		Value any    `json:"value"`
	} `json:"keys"`
	Count  uint64 `json:"bucket_count"`
	Hex    string `json:"encoded_hex"`
	Hash   uint32 `json:"murmur3_32"`
	Bucket uint64 `json:"bucket_id"`
	Old    uint64 `json:"bucket_id_le_25_5"`
	Test   string `json:"server_test"`
}

func testdata(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func vectors(t testing.TB) []vector {
	var file struct{ Vectors []vector }
	testdata(t, "bucket-vectors.json", &file)
	if len(file.Vectors) != 120 {
		t.Fatalf("%d vectors, want 120", len(file.Vectors))
	}
	return file.Vectors
}

func live(t testing.TB, version string) map[string]uint64 {
	var list []struct {
		Name   string `json:"name"`
		Bucket uint64 `json:"bucket_id"`
	}
	testdata(t, "live/bucket-"+version+".json", &list)
	m := make(map[string]uint64)
	for _, l := range list {
		m[l.Name] = l.Bucket
	}
	if len(m) < 100 {
		t.Fatalf("%d live readings of %s", len(m), version)
	}
	return m
}

// elsewhere are the vectors that are of another form than the text which lib/pq sends, or whose
// hash isn't certain, with the live readings of the text. undecided: not routed.
var (
	textForms = map[string]uint64{
		"decimal 1E+2":                       1906, // text keeps the exponent
		"decimal 0E+1":                       365,
		"datetime 2024-01-01T12:00:00+03:00": 1168, // text keeps the offset
	}
	undecided = map[string]bool{"double 1e+100": true, "double 1e-300": true, "double nan": true}
	// Never seen on a server of 25.5 or before, and not routed there.
	undecidedOld = map[string]bool{"double -0.0": true, "double inf": true, "double -inf": true}
)

// bucketOf computes what the driver would for parameters of these texts.
func bucketOf(v vector, rule DoubleRule) (uint64, []byte, string) {
	var key Key
	var all []byte
	for _, k := range v.Keys {
		if reason := key.Add(k.Value, k.OID, rule); reason != "" {
			return 0, nil, reason
		}
		all, _ = Encode(all, k.Value, k.OID, rule)
	}
	return key.Bucket(v.Count), all, ""
}

func TestVectors(t *testing.T) {
	server := 0
	for _, v := range vectors(t) {
		got, encoded, reason := bucketOf(v, DoubleNew)
		switch {
		case undecided[v.Name]:
			if reason != ReasonDouble {
				t.Errorf("%s: routed to %d", v.Name, got)
			}
			continue
		case v.Bucket == 0 && reason == "": // vectors without a bucket: too long for binary, not for text
			if want := live(t, "26.2")[v.Name]; got != want {
				t.Errorf("%s: %d, live %d", v.Name, got, want)
			}
			continue
		case reason != "":
			t.Errorf("%s: %s", v.Name, reason)
			continue
		case textForms[v.Name] != 0:
			if got != textForms[v.Name] {
				t.Errorf("%s: %d, want %d", v.Name, got, textForms[v.Name])
			}
			continue
		}
		if got != v.Bucket || hex.EncodeToString(encoded) != v.Hex {
			t.Errorf("%s: bucket %d of %x, want %d of %s", v.Name, got, encoded, v.Bucket, v.Hex)
		}
		var key Key
		key.write(encoded)
		if key.Sum() != v.Hash {
			t.Errorf("%s: hash %d, want %d", v.Name, key.Sum(), v.Hash)
		}
		if v.Test != "" {
			server++
		}
	}
	if server != 27 {
		t.Errorf("%d vectors that a server's test fixes, want 27", server)
	}
}

func TestVectorsOfOldServers(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Old == 0 || undecided[v.Name] {
			continue
		}
		got, _, reason := bucketOf(v, DoubleOld)
		if undecidedOld[v.Name] {
			if reason == "" {
				t.Errorf("%s: routed to %d", v.Name, got)
			}
			continue
		}
		if got != v.Old || reason != "" {
			t.Errorf("%s: bucket %d (%s), want %d", v.Name, got, reason, v.Old)
		}
	}
}

func TestLiveReadings(t *testing.T) {
	for version, rule := range map[string]DoubleRule{"25.6": RuleOf(25, 6), "26.2": RuleOf(26, 2)} {
		readings, n := live(t, version), 0
		for _, v := range vectors(t) {
			want, ok := readings[v.Name]
			if !ok {
				continue
			}
			n++
			got, _, reason := bucketOf(v, rule)
			if undecided[v.Name] {
				if reason == "" {
					t.Errorf("%s, %s: routed to %d, live %d", version, v.Name, got, want)
				}
				continue
			}
			if got != want || reason != "" {
				t.Errorf("%s, %s: bucket %d (%s), live %d", version, v.Name, got, reason, want)
			}
		}
		if n != len(readings) {
			t.Errorf("%s: %d readings without a vector", version, len(readings)-n)
		}
	}
}

// TestVectorsAsGoValues: the vectors again, as the Go values that database/sql hands over.
func TestVectorsAsGoValues(t *testing.T) {
	for _, v := range vectors(t) {
		if len(v.Keys) != 1 || v.Keys[0].Value == nil || undecided[v.Name] || v.Bucket == 0 {
			continue
		}
		text, _ := v.Keys[0].Value.(string)
		var arg any
		switch v.Keys[0].OID {
		case OIDInt8:
			n, ok := parseInt(text)
			if !ok {
				t.Fatal(text)
			}
			arg = n
		case OIDText:
			arg = []byte(text)
		case OIDFloat8:
			f, ok := parseDouble(text)
			if !ok {
				t.Fatal(text)
			}
			arg = f
		case OIDTimestamptz:
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			arg = at // sent in UTC, so the vector's bucket and not the text's
		default:
			continue
		}
		var key Key
		if reason := key.Add(arg, v.Keys[0].OID, DoubleNew); reason != "" || key.Bucket(v.Count) != v.Bucket {
			t.Errorf("%s: %d (%s), want %d", v.Name, key.Bucket(v.Count), reason, v.Bucket)
		}
	}
}
