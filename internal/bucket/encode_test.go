package bucket

import (
	"encoding/hex"
	"math"
	"testing"
	"time"
)

func TestEncode(t *testing.T) {
	const old, live, now = DoubleOld, DoubleLive256, DoubleNew
	at := time.Date(2024, 1, 1, 12, 0, 0, 0, time.FixedZone("MSK", 3*3600))
	for _, c := range []struct {
		v    any
		oid  uint32
		rule DoubleRule
		want string // hexadecimal, or a reason
	}{
		// INTEGER.
		{int64(5), OIDInt8, now, "05"},
		{int64(5), OIDInt4, now, "05"},
		{int64(5), OIDInt2, now, "05"},
		{"5", OIDInt8, now, "05"},
		{"+5", OIDInt8, now, "05"},
		{"-0", OIDInt8, now, "00"},
		{"007", OIDInt8, now, "07"},
		{[]byte("-33"), OIDInt8, now, "d0df"},
		{"9223372036854775807", OIDInt8, now, "cf7fffffffffffffff"},
		{"-9223372036854775808", OIDInt8, now, "d38000000000000000"},
		{"9223372036854775808", OIDInt8, now, ReasonInt},
		{"-9223372036854775809", OIDInt8, now, ReasonInt},
		{"99999999999999999999999", OIDInt8, now, ReasonInt},
		{" 5", OIDInt8, now, ReasonInt},
		{"5.0", OIDInt8, now, ReasonInt},
		{"", OIDInt8, now, ReasonInt},
		{"-", OIDInt8, now, ReasonInt},
		{5.0, OIDInt8, now, "05"}, // lib/pq writes "5"
		{5.5, OIDInt8, now, ReasonInt},
		{1e18, OIDInt8, now, "cf0de0b6b3a7640000"},
		{math.NaN(), OIDInt8, now, ReasonInt},
		{true, OIDInt8, now, ReasonInt},
		{at, OIDInt8, now, ReasonDatetime},

		// TEXT: what lib/pq writes.
		{"Ж", OIDText, now, "d096"},
		{"Ж", OIDVarchar, now, "d096"},
		{"\xff", OIDText, now, ReasonText},
		{[]byte("\xff"), OIDText, now, ReasonText},
		{int64(-5), OIDText, now, "2d35"},
		{1.5, OIDText, now, "312e35"},
		{true, OIDText, now, "74727565"},
		{at, OIDText, now, hex.EncodeToString([]byte("2024-01-01 09:00:00+00"))},
		{[]byte(nil), OIDText, now, "c0"},
		{[]byte{}, OIDText, now, ""},

		// BOOLEAN.
		{true, OIDBool, now, "c3"},
		{"Yes", OIDBool, now, "c3"},
		{[]byte("OFF"), OIDBool, now, "c2"},
		{int64(1), OIDBool, now, "c3"},
		{int64(2), OIDBool, now, ReasonBool},
		{"truth", OIDBool, now, ReasonBool},

		// DOUBLE.
		{1.0, OIDFloat8, now, "01"},
		{1.0, OIDFloat8, live, "01"},
		{1.0, OIDFloat8, old, "cb3ff0000000000000"},
		{1.5, OIDFloat8, now, "3ff8000000000000"},
		{1.5, OIDFloat8, live, "cb3ff8000000000000"},
		{1.5, OIDFloat8, old, "cb3ff8000000000000"},
		{int64(-7), OIDFloat8, now, "f9"},
		{"-7.00", OIDFloat8, now, "f9"},
		{"15e-1", OIDFloat8, now, "3ff8000000000000"},
		{"Infinity", OIDFloat8, now, "7ff0000000000000"},
		{math.Copysign(0, -1), OIDFloat8, now, "00"},
		{math.Copysign(0, -1), OIDFloat8, old, ReasonDouble},
		{math.Inf(1), OIDFloat8, now, "7ff0000000000000"},
		{math.Inf(-1), OIDFloat8, live, "cbfff0000000000000"},
		{math.Inf(1), OIDFloat8, old, ReasonDouble},
		{math.NaN(), OIDFloat8, now, ReasonDouble},
		{1e100, OIDFloat8, now, ReasonDouble},
		{1e-300, OIDFloat8, now, ReasonDouble},
		{1 + 1e-12, OIDFloat8, now, ReasonDouble},
		{float64(1 << 53), OIDFloat8, now, "cf0020000000000000"},
		{float64(1 << 54), OIDFloat8, now, ReasonDouble},
		{int64(1<<53 + 1), OIDFloat8, now, "cf0020000000000000"}, // as the server rounds it
		{int64(1 << 54), OIDFloat8, now, ReasonDouble},
		{1.5, OIDFloat8, DoubleUnknown, ReasonVersion},
		{"NaN", OIDFloat8, now, ReasonDouble},
		{"0x1p3", OIDFloat8, now, ReasonDouble},
		{"1_0", OIDFloat8, now, ReasonDouble},
		{"1e", OIDFloat8, now, ReasonDouble},
		{"", OIDFloat8, now, ReasonDouble},
		{".", OIDFloat8, now, ReasonDouble},
		{"e5", OIDFloat8, now, ReasonDouble},

		// DECIMAL, by the text.
		{"1", OIDNumeric, now, "d501001c"},
		{"1.0", OIDNumeric, now, "c7030101010c"},
		{int64(1), OIDNumeric, now, "d501001c"},
		{1.5, OIDNumeric, now, "c7030101015c"},
		{1e21, OIDNumeric, now, "c70d01000100000000000000" + "0000000c"},
		{"+001.50", OIDNumeric, now, "c7030102150c"},
		{".5", OIDNumeric, now, "d501015c"},
		{"5.", OIDNumeric, now, "d501005c"},
		{"15e2", OIDNumeric, now, "c70301fe015c"},
		{"1E-40", OIDNumeric, now, ReasonDecimal},
		{"1E-38", OIDNumeric, now, "d501261c"},
		{"1e38", OIDNumeric, now, ReasonDecimal},
		{"1e37", OIDNumeric, now, "c70301d0db1c"},
		{"1e999999999999", OIDNumeric, now, ReasonDecimal},
		{"123456789012345678901234567890123456789", OIDNumeric, now, ReasonDecimal},
		{"1.2.3", OIDNumeric, now, ReasonDecimal},
		{"1 ", OIDNumeric, now, ReasonDecimal},
		{"", OIDNumeric, now, ReasonDecimal},
		{".", OIDNumeric, now, ReasonDecimal},
		{"NaN", OIDNumeric, now, ReasonDecimal},
		{math.NaN(), OIDNumeric, now, ReasonDecimal},
		{"1e", OIDNumeric, now, ReasonDecimal},

		// UUID.
		{"9035910E-8342-4460-8c25-25e5f10d9876", OIDUUID, now, "d8029035910e834244608c2525e5f10d9876"},
		{[]byte("9035910e834244608c2525e5f10d9876"), OIDUUID, now, "d8029035910e834244608c2525e5f10d9876"},
		{"9035910e-8342-4460-8c25-25e5f10d987", OIDUUID, now, ReasonUUID},
		{"9035910e-8342-4460-8c25_25e5f10d9876", OIDUUID, now, ReasonUUID},
		{"9035910g-8342-4460-8c25-25e5f10d9876", OIDUUID, now, ReasonUUID},
		{"{9035910e-8342-4460-8c25-25e5f10d98}", OIDUUID, now, ReasonUUID},
		{int64(5), OIDUUID, now, ReasonUUID},

		// DATETIME.
		{at, OIDTimestamptz, now, "d704107f926500000000"},
		{at.Add(999), OIDTimestamptz, now, "d704107f926500000000"}, // sent to the microsecond
		{at.Add(1999), OIDTimestamptz, now, "d804107f926500000000e803000000000000"},
		{"2024-01-01 12:00:00+03", OIDTimestamptz, now, "d804107f92650000000000000000b4000000"},
		{"2024-01-01T07:30:00-01:30", OIDTimestamptz, now, "d804107f92650000000000000000a6ff0000"},
		{"2024-01-01 09:00:00Z", OIDTimestamptz, now, "d704107f926500000000"},
		{"2024-01-01 09:00:00.5Z", OIDTimestamptz, now, "d804107f9265000000000065cd1d00000000"},
		{"2024-01-01 09:00:00.123456789Z", OIDTimestamptz, now, "d804107f92650000000015cd5b0700000000"},
		{"2024-01-01", OIDTimestamptz, now, "d7048000926500000000"},
		{"2024-02-29", OIDTimestamptz, now, "d70400c9df6500000000"},
		{"2023-02-29", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:00", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:60Z", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 24:00:00Z", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:00.Z", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:00.1234567891Z", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:00.5", OIDTimestamptz, now, ReasonDatetime},
		{"2024-01-01 09:00:00+3", OIDTimestamptz, now, ReasonDatetime},
		{"2024-13-01", OIDTimestamptz, now, ReasonDatetime},
		{"0000-01-01", OIDTimestamptz, now, ReasonDatetime},
		{"infinity", OIDTimestamptz, now, ReasonDatetime},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), OIDTimestamptz, now, ReasonDatetime},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), OIDTimestamptz, now, ReasonDatetime},
		{int64(5), OIDTimestamptz, now, ReasonDatetime},

		// NULL has no type.
		{nil, OIDInt8, now, "c0"},
		{nil, 0, now, "c0"},
		{nil, OIDFloat8, DoubleUnknown, "c0"},
		// Types that are no key's.
		{"{}", 114, now, ReasonOID},
		{"5", 0, now, ReasonOID},
		{int32(5), OIDInt8, now, ReasonGoType}, // database/sql never hands it over
		{struct{}{}, OIDText, now, ReasonGoType},
	} {
		b, reason := Encode(nil, c.v, c.oid, c.rule)
		got := hex.EncodeToString(b)
		if reason != "" {
			got = reason
		}
		if got != c.want {
			t.Errorf("Encode(%T %v, %d, %d) = %s, want %s", c.v, c.v, c.oid, c.rule, got, c.want)
		}
		if reason != "" && len(b) != 0 {
			t.Errorf("Encode(%T %v, %d): %x is left of an undecided value", c.v, c.v, c.oid, b)
		}
	}
}

func TestRuleOf(t *testing.T) {
	for _, c := range []struct {
		major, minor int
		want         DoubleRule
	}{
		{0, 0, DoubleUnknown}, {24, 7, DoubleOld}, {25, 1, DoubleOld}, {25, 5, DoubleOld}, {25, 6, DoubleLive256},
		{26, 0, DoubleLive256}, {26, 1, DoubleNew}, {26, 2, DoubleNew}, {27, 0, DoubleNew},
	} {
		if got := RuleOf(c.major, c.minor); got != c.want {
			t.Errorf("RuleOf(%d, %d) = %d, want %d", c.major, c.minor, got, c.want)
		}
	}
}

func TestBucketOfATierWithoutBuckets(t *testing.T) {
	if got := (Key{}).Bucket(0); got != 0 {
		t.Errorf("bucket %d of no buckets", got)
	}
}

func TestKeysDoNotAllocate(t *testing.T) {
	long := string(make([]byte, 1000))
	at := time.Unix(1700000000, 5000)
	args := []any{int64(1 << 40), "some text", long, "-12.5", "9035910e-8342-4460-8c25-25e5f10d9876", at, 1.5, true, "2024-01-01T00:00:00Z", "77"}
	oids := []uint32{OIDInt8, OIDText, OIDText, OIDNumeric, OIDUUID, OIDTimestamptz, OIDFloat8, OIDBool, OIDTimestamptz, OIDInt8}
	if n := testing.AllocsPerRun(100, func() {
		var key Key
		for i, a := range args {
			if reason := key.Add(a, oids[i], DoubleNew); reason != "" {
				t.Fatal(a, reason)
			}
		}
		if key.Bucket(3000) == 0 {
			t.Fatal("no bucket")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkKey(b *testing.B) {
	b.Run("int", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var key Key
			key.Add(int64(4294967296), OIDInt8, DoubleNew)
			key.Bucket(3000)
		}
	})
	b.Run("text_int", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var key Key
			key.Add("customer-4711", OIDText, DoubleNew)
			key.Add(int64(4294967296), OIDInt8, DoubleNew)
			key.Bucket(3000)
		}
	})
}
