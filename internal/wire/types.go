package wire

import (
	"reflect"
	"strings"
	"time"

	"github.com/lib/pq/oid"
)

// kind says what becomes of a value that lib/pq decoded.
type kind uint8

const (
	asIs    kind = iota
	text         // []byte to string
	number       // []byte to string without an exponent
	instant      // time.Time to UTC
)

// kindOf is the kind of a column's type.
func kindOf(typ uint32) kind {
	switch oid.Oid(typ) {
	case oid.T_int8, oid.T_int4, oid.T_int2, oid.T_bool, oid.T_float8, oid.T_float4,
		oid.T_text, oid.T_varchar, oid.T_bpchar, oid.T_char,
		oid.T_json, oid.T_jsonb, oid.T_bytea:
		return asIs
	case oid.T_numeric:
		return number
	case oid.T_timestamptz, oid.T_timestamp, oid.T_date, oid.T_time, oid.T_timetz:
		return instant
	}
	return text
}

// fix changes one value as the kind says.
func (k kind) fix(v any) any {
	switch v := v.(type) {
	case []byte:
		if k == number {
			return plainDecimal(string(v))
		}
		return string(v)
	case time.Time:
		if k == instant && v.Location() != time.UTC {
			return v.UTC()
		}
	}
	return v
}

// plainDecimal writes a decimal number out: 1E-3 is 0.001. No digit is lost or added.
func plainDecimal(s string) string {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s
	}
	exp, ok := smallInt(s[at+1:])
	if !ok {
		return s
	}
	mantissa, sign := s[:at], ""
	if strings.HasPrefix(mantissa, "-") || strings.HasPrefix(mantissa, "+") {
		sign, mantissa = strings.TrimPrefix(mantissa[:1], "+"), mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := whole + frac
	point := len(whole) + exp
	switch {
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		digits += strings.Repeat("0", point-len(digits))
		if trimmed := strings.TrimLeft(digits, "0"); trimmed != "" {
			digits = trimmed
		} else {
			digits = "0"
		}
		return sign + digits
	}
	return sign + digits[:point] + "." + digits[point:]
}

// smallInt reads an exponent that a decimal number of a database may have.
func smallInt(s string) (int, bool) {
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if s == "" || len(s) > 4 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// oidOf is the type with this name; 0 = unknown.
func oidOf(name string) uint32 {
	for id, n := range oid.TypeName {
		if n == name {
			return uint32(id)
		}
	}
	return 0
}

var (
	stringType = reflect.TypeFor[string]()
	bytesType  = reflect.TypeFor[[]byte]()
)

// scanType is the Go type of a column's values.
func scanType(typ uint32) reflect.Type {
	switch oid.Oid(typ) {
	case oid.T_int8, oid.T_int4, oid.T_int2:
		return reflect.TypeFor[int64]()
	case oid.T_float8, oid.T_float4:
		return reflect.TypeFor[float64]()
	case oid.T_bool:
		return reflect.TypeFor[bool]()
	case oid.T_json, oid.T_jsonb, oid.T_bytea:
		return bytesType
	case oid.T_timestamptz, oid.T_timestamp, oid.T_date, oid.T_time, oid.T_timetz:
		return reflect.TypeFor[time.Time]()
	}
	return stringType
}
