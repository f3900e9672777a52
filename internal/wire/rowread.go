package wire

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/oid"
)

// Rows after the first are decoded here, straight from the guard's buffer: lib/pq copies
// each of them twice and takes them apart through several layers. A row with anything
// unusual in it, like everything that isn't a row, goes the long way through lib/pq, so its
// rules and errors hold for every value.

// row gives the body of the next message if that is a row; nil if it isn't.
func (g *guard) row() []byte {
	for {
		if !g.hold || g.err != nil || g.outstanding == 0 || len(g.inject) > 0 || g.r < g.v {
			return nil
		}
		b := g.buf[g.v:g.w]
		need := frameHeader
		if len(b) >= frameHeader {
			length := be32(b[1:])
			if b[0] != 'D' || length < 4 || length-4 > maxRow {
				return nil
			}
			if need = int(length) + 1; len(b) >= need {
				return b[frameHeader:need]
			}
		}
		if g.fill(need) != nil {
			return nil
		}
	}
}

// skipRow passes over the row that row gave.
func (g *guard) skipRow(body []byte) {
	g.v += frameHeader + len(body)
	g.r = g.v
	g.saw.Row = true
}

// decoder says how the values of a column are read.
type decoder uint8

const (
	viaLibPQ decoder = iota
	textInt
	textBool
	textFloat
	textString
	textNumber
	textTime
	rawBytes
	binaryInt8
	binaryInt4
	binaryInt2
	binaryUUID
)

// decoderOf is the decoder of a type in a format.
func decoderOf(typ uint32, binary bool) decoder {
	t := oid.Oid(typ)
	if binary {
		switch t {
		case oid.T_int8:
			return binaryInt8
		case oid.T_int4:
			return binaryInt4
		case oid.T_int2:
			return binaryInt2
		case oid.T_uuid:
			return binaryUUID
		}
		return viaLibPQ
	}
	switch t {
	case oid.T_int8, oid.T_int4, oid.T_int2:
		return textInt
	case oid.T_bool:
		return textBool
	case oid.T_float8, oid.T_float4:
		return textFloat
	case oid.T_json, oid.T_jsonb:
		return rawBytes
	case oid.T_numeric:
		return textNumber
	case oid.T_timestamptz:
		return textTime
	case oid.T_bytea, oid.T_timestamp, oid.T_date, oid.T_time, oid.T_timetz:
		return viaLibPQ
	}
	return textString
}

// decodeRow decodes a DataRow's body into dest. False: lib/pq has to; dest may be changed.
func decodeRow(b []byte, decoders []decoder, dest []driver.Value, texts *arena) bool {
	if len(b) < 2 || be16(b) != len(decoders) || len(dest) != len(decoders) {
		return false
	}
	b = b[2:]
	for i, d := range decoders {
		if len(b) < 4 {
			return false
		}
		n := int(int32(be32(b)))
		b = b[4:]
		if n == -1 {
			dest[i] = nil
			continue
		}
		if n < 0 || n > len(b) {
			return false
		}
		v, ok := d.decode(b[:n], texts)
		if !ok {
			return false
		}
		dest[i] = v
		b = b[n:]
	}
	return len(b) == 0
}

func (d decoder) decode(b []byte, texts *arena) (driver.Value, bool) {
	switch d {
	case textInt:
		n, ok := parseInt(b)
		return n, ok
	case textString:
		return texts.string(b), true
	case textNumber:
		return plainDecimal(texts.string(b)), true
	case textBool:
		return len(b) > 0 && b[0] == 't', len(b) > 0
	case textFloat:
		f, err := strconv.ParseFloat(string(b), 64)
		return f, err == nil
	case textTime:
		return parseTime(b)
	case rawBytes:
		return b, true
	case binaryInt8:
		if len(b) == 8 {
			return int64(binary.BigEndian.Uint64(b)), true
		}
	case binaryInt4:
		if len(b) == 4 {
			return int64(int32(be32(b))), true
		}
	case binaryInt2:
		if len(b) == 2 {
			return int64(int16(binary.BigEndian.Uint16(b))), true
		}
	case binaryUUID:
		if len(b) == 16 {
			return uuidText([16]byte(b)), true
		}
	}
	return nil, false
}

// parseTime reads a timestamp with time zone; infinities are lib/pq's.
func parseTime(b []byte) (driver.Value, bool) {
	if bytes.HasSuffix(b, []byte("infinity")) {
		return nil, false
	}
	t, err := pq.ParseTimestamp(time.UTC, string(b))
	return t.UTC(), err == nil
}

// parseInt reads an integer of at most 18 digits; longer ones are lib/pq's.
func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	digits := b
	if neg {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// resultFormats gives the result formats that a Bind asks for, one per column; nil if the
// message is malformed. A statement without columns has none.
func resultFormats(body []byte, columns int) []bool {
	for range 2 { // portal and statement
		i := bytes.IndexByte(body, 0)
		if i < 0 {
			return nil
		}
		body = body[i+1:]
	}
	u16 := func() int {
		if len(body) < 2 {
			body = nil
			return math.MaxUint16
		}
		n := be16(body)
		body = body[2:]
		return n
	}
	n := u16()
	if len(body) < 2*n {
		return nil
	}
	body = body[2*n:]
	for range u16() {
		if len(body) < 4 {
			return nil
		}
		size := int(int32(be32(body)))
		body = body[4:]
		if size > len(body) {
			return nil
		}
		body = body[max(size, 0):]
	}
	formats := make([]bool, columns)
	switch n := u16(); {
	case len(body) != 2*n:
		return nil
	case n == 1:
		for i := range formats {
			formats[i] = be16(body) == 1
		}
	case n == columns:
		for i := range formats {
			formats[i] = be16(body[2*i:]) == 1
		}
	case n != 0:
		return nil
	}
	return formats
}
