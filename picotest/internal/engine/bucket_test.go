package engine

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

type vector struct {
	Name string `json:"name"`
	Keys []struct {
		Type    string `json:"type"`
		Value   any
		UnixUS  *int64 `json:"unix_us"`
		NoteKey string `json:"note"`
	} `json:"keys"`
	Count  uint64  `json:"bucket_count"`
	Hex    string  `json:"encoded_hex"`
	Hash   *uint32 `json:"murmur3_32"`
	Bucket *uint64 `json:"bucket_id"`
	Old    *uint64 `json:"bucket_id_le_25_5"`
}

func loadVectors(t *testing.T) []vector {
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/bucket-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Vectors []vector }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Vectors
}

func vectorValue(t *testing.T, typ string, text any) Value {
	t.Helper()
	if text == nil {
		return nil
	}
	s, ok := text.(string)
	if !ok {
		s = fmt.Sprint(text)
	}
	switch typ {
	case "integer":
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			u, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		return i
	case "text":
		return s
	case "boolean":
		return s == "true"
	case "double":
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	case "decimal":
		d, err := ParseDecimal(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return d
	case "uuid":
		u, err := ParseUUID(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	case "datetime":
		d, err := ParseDatetime(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return d
	}
	t.Fatalf("unknown type %q", typ)
	return nil
}

// The published vectors fix the encoding and the hash. Where a vector says how the server's own reading of the text differs
// (an exponent, an offset), it is the live readings that count; they're tested through INSERT.
func TestBucketVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		if v.Bucket == nil {
			continue
		}
		var key []Value
		exact := true
		for _, k := range v.Keys {
			val := vectorValue(t, k.Type, k.Value)
			switch x := val.(type) {
			case Decimal:
				exact = exact && x.scale >= 0
			case Datetime:
				exact = exact && (x.Offset == 0 || k.UnixUS == nil)
			case float64:
				exact = exact && !math.IsNaN(x)
			}
			key = append(key, val)
		}
		if !exact {
			continue
		}
		var enc []byte
		for _, k := range key {
			enc = appendKeyPart(enc, k, doubleCompact)
		}
		if got := hex.EncodeToString(enc); got != v.Hex {
			t.Errorf("%s: encoded as %s, want %s", v.Name, got, v.Hex)
		}
		if got := bucketOf(v.Count, doubleCompact, key...); got != *v.Bucket {
			t.Errorf("%s: bucket %d, want %d", v.Name, got, *v.Bucket)
		}
		if v.Old != nil {
			if got := bucketOf(v.Count, doubleRaw, key...); got != *v.Old {
				t.Errorf("%s: bucket %d before 26.1, want %d", v.Name, got, *v.Old)
			}
		}
	}
}
