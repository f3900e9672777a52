package wire

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// toBinary makes the binary format of a text value, for the types that lib/pq asks for in it.
func toBinary(oid uint32, text []byte) []byte {
	switch oid {
	case 20, 21, 23:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			panic(err)
		}
		b := binary.BigEndian.AppendUint64(nil, uint64(n))
		return b[map[uint32]int{20: 0, 23: 4, 21: 6}[oid]:]
	case 2950:
		b, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
		if err != nil {
			panic(err)
		}
		return b
	}
	return text
}

func columnOf(oid uint32, text []byte) func(*peer, string, [][]byte) result {
	return func(_ *peer, sql string, _ [][]byte) result {
		row := [][]byte{text}
		return result{columns: []pgproto3.FieldDescription{column("v", oid)}, rows: [][][]byte{row, row, row}, tag: "SELECT 3"}
	}
}

// Every type that Picodata has, in the text of a simple or unnamed execution and in the
// mixture of text and binary of a named one: the values are the same.
func TestColumnTypes(t *testing.T) {
	utc := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UTC()
	}
	for _, tt := range []struct {
		oid  uint32
		text string
		want any
		name string
		scan reflect.Type
	}{
		{20, "-9223372036854775808", int64(math.MinInt64), "INT8", reflect.TypeFor[int64]()},
		{20, "9223372036854775807", int64(math.MaxInt64), "INT8", reflect.TypeFor[int64]()},
		{25, "стро'ка\x00", "стро'ка\x00", "TEXT", stringType},
		{25, "", "", "TEXT", stringType},
		{16, "t", true, "BOOL", reflect.TypeFor[bool]()},
		{16, "f", false, "BOOL", reflect.TypeFor[bool]()},
		{701, "1.5", 1.5, "FLOAT8", reflect.TypeFor[float64]()},
		{701, "inf", math.Inf(1), "FLOAT8", reflect.TypeFor[float64]()},
		{701, "-inf", math.Inf(-1), "FLOAT8", reflect.TypeFor[float64]()},
		{1700, "0.051426", "0.051426", "NUMERIC", stringType},
		{1700, "12345678901234567890.123456789", "12345678901234567890.123456789", "NUMERIC", stringType},
		{1700, "-0.0", "-0.0", "NUMERIC", stringType},
		{1700, "1E-30", "0.000000000000000000000000000001", "NUMERIC", stringType},
		{1700, "1.5e3", "1500", "NUMERIC", stringType},
		{2950, "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "UUID", stringType},
		{114, `{"a": [1, "x"]}`, []byte(`{"a": [1, "x"]}`), "JSON", bytesType},
		{114, `["Online",1]`, []byte(`["Online",1]`), "JSON", bytesType},
		{1184, "2024-01-02 03:04:05+00", utc("2024-01-02T03:04:05Z"), "TIMESTAMPTZ", reflect.TypeFor[time.Time]()},
		{1184, "2024-01-02 03:04:05.123456+03", utc("2024-01-02T00:04:05.123456Z"), "TIMESTAMPTZ", reflect.TypeFor[time.Time]()},
		{1184, "2024-01-02 03:04:05.123000+03:30", utc("2024-01-01T23:34:05.123Z"), "TIMESTAMPTZ", reflect.TypeFor[time.Time]()},
		{1016, "{1,2,NULL}", "{1,2,NULL}", "_INT8", stringType},
		{1009, `{a,"b c"}`, `{a,"b c"}`, "_TEXT", stringType},
		{705, "unknown", "unknown", "UNKNOWN", stringType},
	} {
		t.Run(fmt.Sprintf("%s %s", tt.name, tt.text), func(t *testing.T) {
			s := newServer(t)
			s.run = columnOf(tt.oid, []byte(tt.text))
			cfg := newConfig()
			cfg.Options.StatementCacheThreshold = 1
			c, _ := s.dial(cfg)
			for i, args := range [][]driver.NamedValue{nil, named(int64(1)), named(int64(1)), named(int64(1))} {
				rows, err := c.Query(bg, "select v", args)
				if err != nil {
					t.Fatal(err)
				}
				if n := rows.ColumnTypeDatabaseTypeName(0); n != tt.name {
					t.Errorf("form %d: name %q", i, n)
				}
				if st := rows.ColumnTypeScanType(0); st != tt.scan {
					t.Errorf("form %d: scan type %v", i, st)
				}
				for range 3 { // the first row and the others are read in different ways
					dest := make([]driver.Value, 1)
					if err := rows.Next(dest); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(dest[0], tt.want) {
						t.Errorf("form %d: %T %v, want %T %v", i, dest[0], dest[0], tt.want, tt.want)
					}
					if dest[0] != nil && reflect.TypeOf(dest[0]) != tt.scan {
						t.Errorf("form %d: the scan type isn't the value's: %T", i, dest[0])
					}
				}
				if err := rows.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Lengths, precisions and nullability aren't known, so they aren't offered.
func TestColumnTypesAreNotMadeUp(t *testing.T) {
	var rows any = &Rows{}
	if _, ok := rows.(driver.RowsColumnTypeLength); ok {
		t.Error("a length")
	}
	if _, ok := rows.(driver.RowsColumnTypePrecisionScale); ok {
		t.Error("a precision")
	}
	if _, ok := rows.(driver.RowsColumnTypeNullable); ok {
		t.Error("nullability")
	}
}

func TestNULLs(t *testing.T) {
	for _, oid := range []uint32{20, 25, 16, 701, 1700, 2950, 114, 1184, 1016} {
		s := newServer(t)
		s.run = columnOf(oid, nil)
		cfg := newConfig()
		cfg.Options.StatementCacheThreshold = 1
		c, _ := s.dial(cfg)
		for _, args := range [][]driver.NamedValue{nil, named(int64(1)), named(int64(1)), named(int64(1))} {
			rows, err := c.Query(bg, "select v", args)
			if got := all(t, rows, err); got[0][0] != nil {
				t.Fatalf("oid %d: %v", oid, got)
			}
		}
	}
}

func TestPlainDecimal(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "-1.50": "-1.50", "1e3": "1000", "1E+3": "1000", "-1.25e1": "-12.5", "1.25E-3": "0.00125",
		"0e5": "0", "12e-1": "1.2", "+5e0": "5", "NaN": "NaN", "1e99999": "1e99999", "1e": "1e", "0.5e1": "5",
	} {
		if got := plainDecimal(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzPlainDecimal(f *testing.F) {
	for _, s := range []string{"1e3", "-1.25e-7", "0e0", "1E+30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		before, ok := new(big.Rat).SetString(s)
		if !ok || strings.ContainsAny(s, "/_xXbBoOpP") || len(s) > 100 {
			return
		}
		after, ok := new(big.Rat).SetString(plainDecimal(s))
		if !ok || before.Cmp(after) != 0 {
			t.Fatalf("%s became %s", s, plainDecimal(s))
		}
	})
}
