package bucket

import (
	"encoding/binary"
	"math"
	"strconv"
)

// DoubleRule is how servers of a version hash a DOUBLE.
type DoubleRule uint8

// Rules. The zero value routes no DOUBLE: no version is known, or they differ between instances.
const (
	DoubleUnknown DoubleRule = iota
	DoubleOld                // up to 25.5: eight bytes behind their MessagePack header
	DoubleLive256            // 25.6, which became 26.1: whole numbers as INTEGER, others as before
	DoubleNew                // since 26.1.1: whole numbers as INTEGER, others eight bytes without a header
)

// RuleOf is the rule of a server's version, "25.6" being 25, 6.
func RuleOf(major, minor int) DoubleRule {
	switch {
	case major <= 0:
		return DoubleUnknown
	case major > 26, major == 26 && minor >= 1:
		return DoubleNew
	case major == 26, major == 25 && minor >= 6:
		return DoubleLive256
	}
	return DoubleOld
}

// certainDouble is the greatest magnitude whose hash is certain: whole numbers beyond it were
// seen in buckets that no rule explains (1e100), and below it an integer and a DOUBLE are one to one.
const certainDouble = 1 << 53

// nearlyWhole is how near to a whole number a fraction may come: 1e-300 was seen in the
// bucket of 0. Where the server draws the line isn't known; it isn't above this.
const nearlyWhole = 1e-9

// appendDouble encodes a DOUBLE if its hash is certain.
func appendDouble(dst []byte, f float64, rule DoubleRule) ([]byte, string) {
	if rule == DoubleUnknown {
		return dst, ReasonVersion
	}
	whole := math.Trunc(f) == f && !math.IsInf(f, 0)
	switch {
	case math.IsNaN(f): // stored as NULL by the servers that were asked
		return dst, ReasonDouble
	case math.IsInf(f, 0):
		if rule == DoubleOld { // never seen there
			return dst, ReasonDouble
		}
	case math.Abs(f) > certainDouble, !whole && math.Abs(f-math.Round(f)) < nearlyWhole:
		return dst, ReasonDouble
	case rule == DoubleOld && f == 0 && math.Signbit(f):
		return dst, ReasonDouble
	}
	if whole && rule != DoubleOld {
		return appendInt(dst, int64(f)), ""
	}
	if rule != DoubleNew {
		dst = append(dst, 0xcb)
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f)), ""
}

// parseDouble reads [sign] digits [. digits] [e [sign] digits], and the infinities: what Go
// and Rust read alike.
func parseDouble[T string | []byte](s T) (float64, bool) {
	if len(s) > 512 {
		return 0, false
	}
	digits := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c-'0' <= 9:
			digits = true
		case c == '+' || c == '-' || c == '.' || c|0x20 == 'e' && digits:
		default:
			return infinity(string(s))
		}
	}
	f, err := strconv.ParseFloat(string(s), 64)
	return f, err == nil && digits
}

func infinity(s string) (float64, bool) {
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	// As Go writes it and as PostgreSQL does.
	return math.Inf(sign), s == "Inf" || s == "Infinity" || s == "inf" || s == "infinity"
}
