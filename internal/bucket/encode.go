package bucket

import (
	"encoding/binary"
	"strconv"
	"time"
	"unicode/utf8"
)

// OIDs of the types that a sharding key's column may have, as the server's metadata names them.
const (
	OIDBool        = 16
	OIDInt8        = 20
	OIDInt2        = 21
	OIDInt4        = 23
	OIDText        = 25
	OIDFloat8      = 701
	OIDVarchar     = 1043
	OIDTimestamptz = 1184
	OIDNumeric     = 1700
	OIDUUID        = 2950
)

// Reasons why a value's encoding isn't decided. They are part of what Explain says.
const (
	ReasonGoType   = "a Go type whose form on the wire isn't known"
	ReasonOID      = "a column type that isn't hashed here"
	ReasonInt      = "not an integer for the server"
	ReasonText     = "not UTF-8"
	ReasonBool     = "not a boolean for the server"
	ReasonDouble   = "a DOUBLE whose hash isn't certain"
	ReasonDecimal  = "not a decimal of at most 38 digits"
	ReasonUUID     = "not a UUID"
	ReasonDatetime = "not a datetime with an offset"
	ReasonVersion  = "the servers' versions hash a DOUBLE differently"
)

// Add adds the next part of the key: v is what the statement's parameter is, as database/sql
// hands it over, and oid the type that the server gave the parameter. reason is "" if the part
// was added; otherwise the key is spoilt and must not be used.
//
// Values travel as text and the server parses the text as the parameter's type: a string
// that stands for an integer is an integer, an int64 for a DECIMAL is a decimal without a fraction.
func (k *Key) Add(v any, oid uint32, rule DoubleRule) (reason string) {
	switch v := v.(type) {
	case nil:
		k.writeByte(nilByte)
		return ""
	case string:
		if oid == OIDText || oid == OIDVarchar {
			if !utf8.ValidString(v) {
				return ReasonText
			}
			k.writeString(v)
			return ""
		}
	case int64:
		if oid == OIDInt8 {
			var room [9]byte
			k.write(appendInt(room[:0], v))
			return ""
		}
	}
	var room [64]byte
	b, reason := Encode(room[:0], v, oid, rule)
	if reason == "" {
		k.write(b)
	}
	return reason
}

const (
	nilByte   = 0xc0
	falseByte = 0xc2
	trueByte  = 0xc3
)

// Encode appends the bytes that the server hashes for one part of a key, see Key.Add.
func Encode(dst []byte, v any, oid uint32, rule DoubleRule) (b []byte, reason string) {
	switch v := v.(type) {
	case nil:
		return append(dst, nilByte), ""
	case int64:
		switch oid {
		case OIDInt8, OIDInt4, OIDInt2:
			return appendInt(dst, v), ""
		case OIDFloat8:
			return appendDouble(dst, float64(v), rule)
		}
		var room [20]byte
		return appendText(dst, strconv.AppendInt(room[:0], v, 10), oid, rule)
	case string:
		return appendText(dst, v, oid, rule)
	case []byte:
		if v == nil {
			return append(dst, nilByte), ""
		}
		return appendText(dst, v, oid, rule)
	case bool:
		switch {
		case oid == OIDBool && v:
			return append(dst, trueByte), ""
		case oid == OIDBool:
			return append(dst, falseByte), ""
		}
		return appendText(dst, strconv.FormatBool(v), oid, rule)
	case float64:
		if oid == OIDFloat8 {
			return appendDouble(dst, v, rule)
		}
		var room [32]byte // longer ones go to the heap
		return appendText(dst, strconv.AppendFloat(room[:0], v, 'f', -1, 64), oid, rule)
	case time.Time:
		v = v.UTC().Truncate(time.Microsecond)
		if y := v.Year(); y < 1 || y > 9999 {
			return dst, ReasonDatetime // written with BC, or with five digits
		}
		switch oid {
		case OIDTimestamptz:
			return appendDatetime(dst, v.Unix(), int32(v.Nanosecond()), 0), ""
		case OIDText, OIDVarchar:
			return v.AppendFormat(dst, timeText), ""
		}
		return dst, ReasonDatetime
	}
	return dst, ReasonGoType
}

// timeText is how the driver sends a time: in UTC, to the microsecond.
const timeText = "2006-01-02 15:04:05.999999+00"

// appendText encodes what the server makes of a text parameter of that type.
func appendText[T string | []byte](dst []byte, s T, oid uint32, rule DoubleRule) ([]byte, string) {
	switch oid {
	case OIDText, OIDVarchar:
		if !validUTF8(s) {
			return dst, ReasonText
		}
		return append(dst, s...), ""
	case OIDInt8, OIDInt4, OIDInt2:
		n, ok := parseInt(s)
		if !ok {
			return dst, ReasonInt
		}
		return appendInt(dst, n), ""
	case OIDBool:
		b, ok := parseBool(s)
		if !ok {
			return dst, ReasonBool
		}
		if b {
			return append(dst, trueByte), ""
		}
		return append(dst, falseByte), ""
	case OIDFloat8:
		f, ok := parseDouble(s)
		if !ok {
			return dst, ReasonDouble
		}
		return appendDouble(dst, f, rule)
	case OIDNumeric:
		return appendDecimal(dst, s)
	case OIDUUID:
		return appendUUID(dst, s)
	case OIDTimestamptz:
		sec, nsec, offset, ok := parseDatetime(s)
		if !ok {
			return dst, ReasonDatetime
		}
		return appendDatetime(dst, sec, nsec, offset), ""
	}
	return dst, ReasonOID
}

func validUTF8[T string | []byte](s T) bool {
	if s, ok := any(s).(string); ok {
		return utf8.ValidString(s)
	}
	return utf8.Valid([]byte(s))
}

// appendInt is the shortest MessagePack integer, header included.
func appendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		switch {
		case v < 1<<7:
			return append(dst, byte(v))
		case v < 1<<8:
			return append(dst, 0xcc, byte(v))
		case v < 1<<16:
			return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
		case v < 1<<32:
			return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(v))
		}
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), uint64(v))
	case v >= -1<<5:
		return append(dst, byte(v))
	case v >= -1<<7:
		return append(dst, 0xd0, byte(v))
	case v >= -1<<15:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(v))
	case v >= -1<<31:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
}
