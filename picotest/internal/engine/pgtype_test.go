package engine

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"
)

// randomDecimal writes a number of up to 28 digits.
func randomDecimal(r *rand.Rand) string {
	n := 1 + r.IntN(14)
	s := ""
	for range n {
		s += fmt.Sprint(r.IntN(10))
	}
	if f := r.IntN(14); f > 0 {
		s += "."
		for range f {
			s += fmt.Sprint(r.IntN(10))
		}
	}
	if r.IntN(2) == 0 {
		s = "-" + s
	}
	return s
}

// Sums, products and comparisons agree with another implementation of exact decimals.
func TestDecimalsAgainstAnother(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x, y := randomDecimal(r), randomDecimal(r)
		a, err1 := ParseDecimal(x)
		b, err2 := ParseDecimal(y)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s, %s: %v, %v", x, y, err1, err2)
		}
		p, q := decimal.RequireFromString(x), decimal.RequireFromString(y)
		same := func(what string, got Decimal, want decimal.Decimal) {
			if w := decimal.RequireFromString(got.String()); !w.Equal(want) {
				t.Fatalf("%s %s %s: %s, want %s", x, what, y, got, want)
			}
		}
		same("+", a.add(b), p.Add(q))
		same("-", a.sub(b), p.Sub(q))
		if product := p.Mul(q); len(product.Coefficient().String()) <= maxDecimalDigits {
			same("*", a.mul(b), product)
		}
		if a.Cmp(b) != p.Cmp(q) {
			t.Fatalf("%s against %s: %d, want %d", x, y, a.Cmp(b), p.Cmp(q))
		}
	}
}

// The binary form of numeric agrees with pgx's, both ways.
func TestNumericAgainstPgx(t *testing.T) {
	m := pgtype.NewMap()
	r := rand.New(rand.NewPCG(3, 4))
	texts := []string{"0", "0.00", "1", "-1", "10000", "0.0001", "123.40", "99990000", "-0.5", "12345678901234567890.12345678"}
	for range 500 {
		texts = append(texts, randomDecimal(r))
	}
	for _, text := range texts {
		d, err := ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		var back pgtype.Numeric
		if err := m.Scan(OIDNumeric, pgtype.BinaryFormatCode, encodeNumeric(d), &back); err != nil {
			t.Fatalf("%s: pgx can't read %x: %v", text, encodeNumeric(d), err)
		}
		v, _ := back.Value()
		if got := decimal.RequireFromString(fmt.Sprint(v)); !got.Equal(decimal.RequireFromString(text)) {
			t.Fatalf("%s reads as %s by pgx", text, got)
		}
		var n pgtype.Numeric
		if err := n.Scan(text); err != nil {
			t.Fatal(err)
		}
		raw, err := m.Encode(OIDNumeric, pgtype.BinaryFormatCode, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := decodeNumeric(raw)
		if !ok || got.(Decimal).Cmp(d) != 0 {
			t.Fatalf("%s: pgx writes %x, read as %v", text, raw, got)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		oid    uint32
		format int16
		raw    string
		want   string // text of the value, or the error
	}{
		{OIDBool, 0, "t", "t"}, {OIDBool, 0, "TRUE", "t"}, {OIDBool, 0, "off", "f"}, {OIDBool, 0, "o", "! 22P02 failed to bind parameter $3: decoding error: 'o' is not a valid bool"},
		{OIDInt8, 0, "-5", "-5"}, {OIDInt8, 0, "1.5", "! 22P02 failed to bind parameter $3: decoding error: '1.5' is not a valid int8"},
		{OIDInt4, 0, "2147483648", "! 22P02 failed to bind parameter $3: decoding error: '2147483648' is not a valid int4"},
		{OIDInt8, 1, "\x00\x00\x00\x02", "! 22P03 failed to bind parameter $3: decoding error: binary data is not a valid int8"},
		{OIDInt2, 1, "\xff\xfe", "-2"}, {OIDInt4, 1, "\x7f\xff\xff\xff", "2147483647"},
		{OIDFloat8, 0, "1e-7", "1e-7"}, {OIDFloat8, 0, "-Infinity", "-inf"}, {OIDFloat8, 0, "0x10", "! 22P02 failed to bind parameter $3: decoding error: '0x10' is not a valid float8"},
		{OIDFloat8, 0, "1e300", "1e300"}, {OIDFloat8, 0, "123456.75", "123456.75"}, {OIDFloat8, 0, "-0.0001", "-0.0001"},
		{OIDNumeric, 0, "1e2", "100"}, {OIDNumeric, 0, "0.10", "0.10"}, {OIDNumeric, 0, ".5", "0.5"}, {OIDNumeric, 0, "NaN", "! 22P02 failed to bind parameter $3: decoding error: 'NaN' is not a valid numeric"},
		{OIDNumeric, 1, "\x00\x00", "! 22P03 failed to bind parameter $3: decoding error: binary data is not a valid numeric"},
		{OIDText, 0, "a\x00b", "a\x00b"}, {OIDText, 0, "\xff\xfe", "! 22P02 failed to bind parameter $3: decoding error: invalid utf-8 sequence of 1 bytes from index 0"},
		{OIDVarchar, 1, "hé", "hé"},
		{OIDUUID, 0, "F47AC10B58CC4372A5670E02B2C3D479", "f47ac10b-58cc-4372-a567-0e02b2c3d479"}, {OIDUUID, 1, "short", "! 22P03 failed to bind parameter $3: decoding error: binary data is not a valid uuid"},
		{OIDTimestamptz, 0, "2024-01-02", "2024-01-02 00:00:00+00"}, {OIDTimestamptz, 0, "2024-01-02T03:04:05.5-0330", "2024-01-02 03:04:05.500000-03:30"},
		{OIDTimestamptz, 0, "Fri, 07 Jul 2023 12:34:56 +0200", "2023-07-07 12:34:56+02"},
		{OIDTimestamptz, 0, "2023-13-01 12:00:00+00", "! 22P02 failed to bind parameter $3: decoding error: '2023-13-01 12:00:00+00' is not a valid timestamptz"},
		{OIDTimestamptz, 1, "\xff\xff\xff\xff\xff\xff\xff\xff", "1999-12-31 23:59:59.999999+00"},
		{1016, 0, "{1,NULL,3}", "{1,NULL,3}"}, {1009, 0, `{a,"b \"c\"",""}`, `{a,"b \"c\"",NULL}`}, {1016, 0, "{1", "! 22P02 failed to bind parameter $3: decoding error: '{1' is not a valid _int8"},
	} {
		v, err := decodeParam(3, c.oid, c.format, []byte(c.raw))
		got := ""
		if err != nil {
			got = "! " + err.Code + " " + err.Message
		} else {
			b, _ := Encode(v, c.oid, 0)
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s %q in format %d: %s, want %s", oidNames[c.oid], c.raw, c.format, got, c.want)
		}
	}
}

// Values survive binary, and pgx reads what is written.
func TestBinaryRoundTrip(t *testing.T) {
	m := pgtype.NewMap()
	at := time.Date(2023, 7, 7, 12, 34, 56, 789012000, time.UTC)
	for _, c := range []struct {
		oid uint32
		v   Value
	}{
		{OIDBool, true}, {OIDInt8, int64(math.MinInt64)}, {OIDFloat8, 1.5}, {OIDText, "héllo"}, {OIDUUID, UUID{1, 2, 3}}, {OIDTimestamptz, DatetimeOf(at)},
		{1016, Array{Elem: OIDInt8, Items: []Value{int64(1), nil, int64(3)}}}, {1009, Array{Elem: OIDText}}, {1185, Array{Elem: OIDTimestamptz, Items: []Value{DatetimeOf(at)}}},
	} {
		raw, err := Encode(c.v, c.oid, 1)
		if err != nil {
			t.Fatal(err)
		}
		back, bad := decodeParam(1, c.oid, 1, raw)
		if bad != nil {
			t.Fatal(bad.Message)
		}
		again, err := Encode(back, c.oid, 1)
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%v: %x and back %x, %v", c.v, raw, again, err)
		}
		typ, ok := m.TypeForOID(c.oid)
		if !ok {
			t.Fatalf("pgx has no type %d", c.oid)
		}
		if _, err := typ.Codec.DecodeValue(m, c.oid, pgtype.BinaryFormatCode, raw); err != nil {
			t.Errorf("%v: pgx can't read %x: %v", c.v, raw, err)
		}
	}
}

func FuzzParameter(f *testing.F) {
	f.Add(uint32(OIDNumeric), true, []byte("\x00\x02\x00\x00\x00\x00\x00\x02\x00{\x0f\xa0"))
	f.Add(uint32(1009), false, []byte(`{a,"b,c",NULL}`))
	f.Add(uint32(1016), true, []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Add(uint32(OIDTimestamptz), false, []byte("2024-01-02 03:04:05.123+03:30"))
	f.Add(uint32(OIDFloat8), false, []byte("1e-300"))
	f.Fuzz(func(t *testing.T, oid uint32, bin bool, raw []byte) {
		format := int16(0)
		if bin {
			format = 1
		}
		v, bad := decodeParam(1, oid, format, raw)
		if bad != nil {
			return
		}
		for out := range int16(2) {
			if _, err := Encode(v, oid, out); err != nil {
				t.Errorf("%d %q: %v", oid, raw, err)
			}
		}
		toCell(v)
		appendKeyPart(nil, v, doubleCompact)
	})
}
