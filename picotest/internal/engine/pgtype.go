package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type names of PostgreSQL, for the texts of errors.
var oidNames = map[uint32]string{
	OIDBool: "bool", 17: "bytea", 18: "char", 19: "name", OIDInt8: "int8", OIDInt2: "int2", OIDInt4: "int4", 24: "regproc",
	OIDText: "text", 26: "oid", 27: "tid", 28: "xid", 29: "cid", OIDJSON: "json", 142: "xml", 600: "point", 650: "cidr",
	700: "float4", OIDFloat8: "float8", OIDUnknown: "unknown", 774: "macaddr8", 790: "money", 829: "macaddr", 869: "inet",
	1000: "_bool", 1001: "_bytea", 1002: "_char", 1003: "_name", 1005: "_int2", 1007: "_int4", 1009: "_text", 1014: "_bpchar",
	1015: "_varchar", 1016: "_int8", 1021: "_float4", 1022: "_float8", 1028: "_oid", 1042: "bpchar", OIDVarchar: "varchar",
	1082: "date", 1083: "time", 1114: "timestamp", 1115: "_timestamp", OIDTimestamptz: "timestamptz", 1185: "_timestamptz",
	1186: "interval", 1231: "_numeric", 1266: "timetz", 1560: "bit", 1562: "varbit", OIDNumeric: "numeric", 2249: "record",
	2278: "void", OIDUUID: "uuid", 2951: "_uuid", 3802: "jsonb", 199: "_json", 3807: "_jsonb", 3904: "int4range", 3926: "int8range",
}

// arrayElem gives the element type of the array types the server knows.
var arrayElem = map[uint32]uint32{
	1000: OIDBool, 1005: OIDInt2, 1007: OIDInt4, 1009: OIDText, 1015: OIDVarchar, 1016: OIDInt8, 1021: 700, 1022: OIDFloat8,
	1185: OIDTimestamptz, 1231: OIDNumeric, 2951: OIDUUID, 199: OIDJSON, 3807: 3802,
}

// arrayOID is arrayElem turned round, for the types that columns have.
var arrayOID = map[uint32]uint32{
	OIDBool: 1000, OIDText: 1009, OIDInt8: 1016, OIDFloat8: 1022, OIDTimestamptz: 1185, OIDNumeric: 1231, OIDUUID: 2951,
}

// checkParamOID refuses parameter types that the server refuses at Parse.
func checkParamOID(oid uint32, v Version) *Error {
	switch oid {
	case 0, OIDUnknown, OIDBool, OIDInt2, OIDInt4, OIDInt8, OIDText, OIDVarchar, OIDFloat8, OIDNumeric, OIDUUID, OIDTimestamptz:
		return nil
	}
	if _, ok := arrayElem[oid]; ok && v.AtLeast(26, 2) {
		return nil
	}
	name, ok := oidNames[oid]
	if !ok {
		return &Error{"0A000", fmt.Sprintf("feature is not supported: parameter oid %d", oid)}
	}
	return &Error{"0A000", fmt.Sprintf("feature is not supported: %s parameters", name)}
}

// decodeParam reads a parameter; n is its number, from 1.
func decodeParam(n int, oid uint32, format int16, raw []byte) (Value, *Error) {
	if raw == nil {
		return nil, nil
	}
	bad := func(code, text string) *Error {
		return &Error{code, fmt.Sprintf("failed to bind parameter $%d: decoding error: %s", n, text)}
	}
	if oid == OIDJSON || oid == 3802 {
		return nil, &Error{"0A000", fmt.Sprintf("failed to bind parameter $%d: feature is not supported: cannot represent json in sbroad", n)}
	}
	if format == 0 {
		if !utf8.Valid(raw) {
			at, size := invalidUTF8(raw)
			text := fmt.Sprintf("invalid utf-8 sequence of %d bytes from index %d", size, at)
			if size == 0 {
				text = fmt.Sprintf("incomplete utf-8 byte sequence from index %d", at)
			}
			return nil, bad("22P02", text)
		}
		v, ok := decodeText(oid, string(raw))
		if !ok {
			return nil, bad("22P02", fmt.Sprintf("'%s' is not a valid %s", raw, oidNames[oid]))
		}
		return v, nil
	}
	v, ok := decodeBinary(oid, raw)
	if !ok {
		return nil, bad("22P03", fmt.Sprintf("binary data is not a valid %s", oidNames[oid]))
	}
	return v, nil
}

// invalidUTF8 finds the first wrong sequence; size 0 means that the text ends in the middle of one.
func invalidUTF8(b []byte) (at, size int) {
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n <= 1 {
			if !utf8.FullRune(b[at:]) {
				return at, 0
			}
			return at, 1
		}
		at += n
	}
	return at, 0
}

func decodeText(oid uint32, s string) (Value, bool) {
	switch oid {
	case OIDBool:
		b, ok := parseBool(s)
		return b, ok
	case OIDInt2:
		return parseInt(s, 16)
	case OIDInt4:
		return parseInt(s, 32)
	case OIDInt8:
		return parseInt(s, 64)
	case OIDFloat8, 700:
		f, err := parseFloat(s)
		return f, err == nil
	case OIDNumeric:
		d, err := ParseDecimal(s)
		return d, err == nil
	case OIDUUID:
		u, err := ParseUUID(s)
		return u, err == nil
	case OIDTimestamptz:
		d, err := ParseDatetime(s)
		return d, err == nil
	}
	if elem, ok := arrayElem[oid]; ok {
		return decodeArrayText(elem, s)
	}
	return s, true
}

func parseInt(s string, bits int) (Value, bool) {
	i, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 10, bits)
	if err != nil || strings.HasPrefix(s, "+-") {
		return nil, false
	}
	return i, true
}

// parseBool reads what PostgreSQL reads as a boolean: any unambiguous beginning of the words, in any case.
func parseBool(s string) (b, ok bool) {
	s = strings.ToLower(s)
	if s == "" {
		return false, false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "off", s == "of", s == "0":
		return false, true
	}
	return false, false
}

// parseFloat reads a double; hexadecimal and underscores are Go's alone.
func parseFloat(s string) (float64, error) {
	if strings.ContainsAny(s, "xXpP_") {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(f, 0) {
		return f, nil // out of range reads as infinity
	}
	return f, err
}

// pgEpoch is 2000-01-01, where binary timestamps begin.
const pgEpoch = 946684800

func decodeBinary(oid uint32, b []byte) (Value, bool) {
	switch oid {
	case OIDBool:
		return len(b) == 1 && b[0] != 0, len(b) == 1
	case OIDInt2:
		if len(b) == 2 {
			return int64(int16(binary.BigEndian.Uint16(b))), true
		}
	case OIDInt4:
		if len(b) == 4 {
			return int64(int32(binary.BigEndian.Uint32(b))), true
		}
	case OIDInt8:
		if len(b) == 8 {
			return int64(binary.BigEndian.Uint64(b)), true
		}
	case 700:
		if len(b) == 4 {
			return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), true
		}
	case OIDFloat8:
		if len(b) == 8 {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), true
		}
	case OIDNumeric:
		return decodeNumeric(b)
	case OIDUUID:
		if len(b) == 16 {
			return UUID(b), true
		}
	case OIDTimestamptz:
		if len(b) == 8 {
			us := int64(binary.BigEndian.Uint64(b))
			if us == math.MaxInt64 || us == math.MinInt64 {
				return nil, false // PostgreSQL's infinities
			}
			sec, rest := us/1e6, us%1e6
			if rest < 0 {
				sec, rest = sec-1, rest+1e6
			}
			return Datetime{Sec: pgEpoch + sec, Nsec: int32(rest * 1000)}, true
		}
	default:
		if elem, ok := arrayElem[oid]; ok {
			return decodeArrayBinary(elem, b)
		}
		return string(b), utf8.Valid(b)
	}
	return nil, false
}

// Encode writes a value of a result column in text (0) or binary (1) format; nil is NULL. A value that doesn't fit its column
// gives the server's own complaint.
func Encode(v Value, oid uint32, format int16) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	if f, ok := v.(float64); ok && math.IsNaN(f) {
		return nil, nil // the server's storage reads NaN as NULL
	}
	if format == 0 {
		return encodeText(v), nil
	}
	return encodeBinary(v, oid)
}

func encodeText(v Value) []byte {
	switch v := v.(type) {
	case hugeDouble:
		return []byte(formatFloat(wholeClamped(float64(v))))
	case bool:
		if v {
			return []byte("t")
		}
		return []byte("f")
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case uint64:
		return strconv.AppendUint(nil, v, 10)
	case float64:
		return []byte(formatFloat(v))
	case string:
		return []byte(v)
	case JSON:
		return []byte(v)
	case Array:
		return encodeArrayText(v)
	case fmt.Stringer:
		return []byte(v.String())
	}
	return fmt.Append(nil, v)
}

// formatFloat writes a double as the server does: 1.0, 1.5, 1e-7, inf; whole numbers beyond int64 come out clamped to it.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0:
		return "0"
	}
	mant := strconv.FormatFloat(f, 'e', -1, 64)
	digits, exps, _ := strings.Cut(mant, "e")
	exp, _ := strconv.Atoi(exps)
	if exp >= -5 && exp < 16 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return digits + "e" + strconv.Itoa(exp)
}

// clampInt turns a double into the nearest int64 inside the range.
func clampInt(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// maxBinaryDigits is what a decimal may have in binary form; its text may have 38.
const maxBinaryDigits = 28

func encodeBinary(v Value, oid uint32) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case int64:
		switch oid {
		case OIDFloat8:
			return binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(v))), nil
		case OIDNumeric:
			return encodeNumeric(DecimalFromInt(v)), nil
		case OIDInt4:
			return binary.BigEndian.AppendUint32(nil, uint32(v)), nil
		case OIDInt2:
			return binary.BigEndian.AppendUint16(nil, uint16(v)), nil
		}
		return binary.BigEndian.AppendUint64(nil, uint64(v)), nil
	case uint64:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("encoding error: out of range integral type conversion attempted")
		}
		return binary.BigEndian.AppendUint64(nil, v), nil
	case float64:
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)), nil
	case hugeDouble:
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(v))), nil
	case Decimal:
		if digitCount(v.int()) > maxBinaryDigits {
			return nil, errors.New("encoding error: Invalid decimal: overflow from too many digits")
		}
		return encodeNumeric(v), nil
	case UUID:
		return v[:], nil
	case Datetime:
		us := (v.Sec-pgEpoch)*1e6 + int64(v.Nsec)/1000
		return binary.BigEndian.AppendUint64(nil, uint64(us)), nil
	case Array:
		return encodeArrayBinary(v)
	}
	return encodeText(v), nil
}
