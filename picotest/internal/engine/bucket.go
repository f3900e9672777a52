package engine

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// doubleRule says how a DOUBLE enters the bucket hash; it changed twice.
type doubleRule int

const (
	doubleRaw     doubleRule = iota // up to 25.5: always as MessagePack double
	doubleMixed                     // 25.6 development: whole numbers as integers, others as MessagePack double
	doubleCompact                   // 26.1 and newer: whole numbers as integers, others as eight bytes without a header
)

func doubleRuleOf(v Version) doubleRule {
	switch {
	case v.AtLeast(26, 1):
		return doubleCompact
	case v.AtLeast(25, 6):
		return doubleMixed
	}
	return doubleRaw
}

// bucketOf hashes the values of a sharding key, in the key's order, to a bucket 1..count. count must not be 0.
func bucketOf(count uint64, rule doubleRule, key ...Value) uint64 {
	var buf []byte
	for _, v := range key {
		buf = appendKeyPart(buf, v, rule)
	}
	return uint64(murmur3(buf, 13))%count + 1
}

func appendKeyPart(b []byte, v Value, rule doubleRule) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 0xc0)
	case bool:
		if v {
			return append(b, 0xc3)
		}
		return append(b, 0xc2)
	case int64:
		return appendInt(b, v)
	case uint64:
		return appendUint(b, v)
	case float64:
		return appendDouble(b, v, rule)
	case string:
		return append(b, v...)
	case UUID:
		return append(append(b, 0xd8, 0x02), v[:]...)
	case Datetime:
		if v.Nsec == 0 && v.Offset == 0 {
			return binary.LittleEndian.AppendUint64(append(b, 0xd7, 0x04), uint64(v.Sec))
		}
		b = binary.LittleEndian.AppendUint64(append(b, 0xd8, 0x04), uint64(v.Sec))
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Nsec))
		b = binary.LittleEndian.AppendUint16(b, uint16(v.Offset))
		return append(b, 0, 0)
	case Decimal:
		return appendDecimal(b, v)
	}
	return append(b, 0xc0)
}

func appendInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(v))
}

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
}

func appendDouble(b []byte, f float64, rule doubleRule) []byte {
	raw := math.Float64bits(f)
	if rule == doubleRaw {
		return binary.BigEndian.AppendUint64(append(b, 0xcb), raw)
	}
	if math.Trunc(f) == f && f >= -(1<<63) && f < 1<<64 {
		if f < 0 {
			return appendInt(b, int64(f))
		}
		return appendUint(b, uint64(f))
	}
	if rule == doubleMixed {
		b = append(b, 0xcb)
	}
	return binary.BigEndian.AppendUint64(b, raw)
}

// appendDecimal writes MessagePack extension 1: the scale, then the digits as packed BCD with a sign nibble.
func appendDecimal(b []byte, d Decimal) []byte {
	body := appendInt(nil, int64(d.scale))
	digits := d.int().String()
	sign := byte(0x0c)
	if digits[0] == '-' {
		digits, sign = digits[1:], 0x0d
	} else if d.negZero {
		sign = 0x0d
	}
	if len(digits)%2 == 0 {
		digits = "0" + digits
	}
	for i := 0; i < len(digits)-1; i += 2 {
		body = append(body, (digits[i]-'0')<<4|(digits[i+1]-'0'))
	}
	body = append(body, (digits[len(digits)-1]-'0')<<4|sign)
	switch len(body) {
	case 1, 2, 4, 8, 16:
		b = append(b, 0xd4+byte(bits.TrailingZeros(uint(len(body)))), 0x01)
	default:
		b = append(b, 0xc7, byte(len(body)), 0x01)
	}
	return append(b, body...)
}

// murmur3 is MurmurHash3 for x86, 32 bits.
func murmur3(data []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h := seed
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		k := binary.LittleEndian.Uint32(rest) * c1
		h ^= bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(rest) > 0 {
		var k uint32
		for i := len(rest) - 1; i >= 0; i-- {
			k = k<<8 | uint32(rest[i])
		}
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= uint32(len(data))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
