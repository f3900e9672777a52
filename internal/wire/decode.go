package wire

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/oid"
)

// Rows are decoded here, straight from the guard's buffer. lib/pq would copy each of them twice, panics at some
// values, and can't say which column is at fault.

// DecodeError is a value, a row or a command tag that the client can't decode. The statement has run, and its answer
// came to its end; no other node would answer otherwise.
type DecodeError struct {
	Column int    // counted from 1; 0: what is at fault isn't a value
	Name   string // of the column
	Type   string // of the column, as ColumnTypeDatabaseTypeName names it; else "row" or "command tag"
	Length int    // in bytes
	Cause  error  // what is wrong with it; it doesn't show the value
}

// Error names the column, its type and the value's length.
func (e *DecodeError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("a %s of %d bytes can't be decoded: %v", e.Type, e.Length, e.Cause)
	}
	return fmt.Sprintf("column %d, %q: a value of type %s and %d bytes can't be decoded: %v", e.Column, e.Name, e.Type, e.Length, e.Cause)
}

// Unwrap gives what is wrong with the value.
func (e *DecodeError) Unwrap() error { return e.Cause }

// What may be wrong with a value.
var (
	errEmpty   = errors.New("it is empty")
	errRange   = errors.New("it is out of range of the Go type")
	errSyntax  = errors.New("it isn't of its type")
	errBinary  = errors.New("the binary format has another length")
	errFormat  = errors.New("the driver never asks for this type in binary")
	errColumns = errors.New("the row isn't one of the announced columns")
)

// decoder says how the values of a column are read.
type decoder uint8

const (
	unreadable decoder = iota
	textInt
	textBool
	textFloat
	textString
	textNumber
	textTimestamp
	textTime
	textTimeTZ
	textBytes
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
		case oid.T_bytea:
			return rawBytes
		}
		return unreadable
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
	case oid.T_bytea:
		return textBytes
	case oid.T_numeric:
		return textNumber
	case oid.T_timestamptz, oid.T_timestamp, oid.T_date:
		return textTimestamp
	case oid.T_time:
		return textTime
	case oid.T_timetz:
		return textTimeTZ
	}
	return textString
}

// decodersOf appends the decoders of columns.
func decodersOf(dst []decoder, oids []uint32, formats []bool) []decoder {
	for i, t := range oids {
		dst = append(dst, decoderOf(t, i < len(formats) && formats[i]))
	}
	return dst
}

// decodeRow decodes a DataRow's body into dest. column counts from 0; -1: the row itself is at fault.
func decodeRow(b []byte, decoders []decoder, dest []driver.Value, texts *arena) (column, length int, err error) {
	if len(b) < 2 || be16(b) != len(decoders) || len(dest) != len(decoders) {
		return -1, len(b), errColumns
	}
	all := len(b)
	b = b[2:]
	for i, d := range decoders {
		if len(b) < 4 {
			return -1, all, errColumns
		}
		n := int(int32(be32(b)))
		b = b[4:]
		if n == -1 {
			dest[i] = nil
			continue
		}
		if n < 0 || n > len(b) {
			return -1, all, errColumns
		}
		if dest[i], err = d.decode(b[:n], texts); err != nil {
			return i, n, err
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return -1, all, errColumns
	}
	return 0, 0, nil
}

func (d decoder) decode(b []byte, texts *arena) (driver.Value, error) {
	switch d {
	case textInt:
		n, err := parseInt(b)
		return texts.int(n), err
	case textString:
		return texts.value(texts.string(b)), nil
	case textNumber:
		return texts.value(plainDecimal(texts.string(b))), nil
	case textBool:
		if len(b) == 0 {
			return nil, errEmpty
		}
		return b[0] == 't', nil
	case textFloat:
		f, err := strconv.ParseFloat(string(b), 64)
		if texts.boxes != nil {
			return texts.boxes.floats.value(f), reason(err)
		}
		return f, reason(err)
	case textTimestamp:
		return parseTimestamp(b, texts)
	case textTime:
		return parseTime("15:04:05", b)
	case textTimeTZ:
		return parseTime(timeTZLayout(b), b)
	case textBytes:
		return parseBytes(b)
	case rawBytes:
		return b, nil
	case binaryInt8:
		if len(b) == 8 {
			return texts.int(int64(binary.BigEndian.Uint64(b))), nil
		}
	case binaryInt4:
		if len(b) == 4 {
			return texts.int(int64(int32(be32(b)))), nil
		}
	case binaryInt2:
		if len(b) == 2 {
			return texts.int(int64(int16(binary.BigEndian.Uint16(b)))), nil
		}
	case binaryUUID:
		if len(b) == 16 {
			return texts.value(uuidText([16]byte(b))), nil
		}
	case unreadable:
		return nil, errFormat
	}
	return nil, errBinary
}

// reason is why a number can't be read. strconv's own error would show it.
func reason(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return errRange
	}
	return errSyntax
}

// parseInt reads an integer; most have at most 18 digits.
func parseInt(b []byte) (int64, error) {
	digits := b
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		n, err := strconv.ParseInt(string(b), 10, 64)
		return n, reason(err)
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			n, err := strconv.ParseInt(string(b), 10, 64) // a plus sign
			return n, reason(err)
		}
		n = 10*n + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, nil
}

// parseTimestamp reads a date or a timestamp, with or without a zone. An infinity stays its text.
func parseTimestamp(b []byte, texts *arena) (v driver.Value, err error) {
	if s := string(b); s == "infinity" || s == "-infinity" {
		return s, nil
	}
	defer func() {
		if recover() != nil { // lib/pq takes a year's digits for granted
			v, err = nil, errSyntax
		}
	}()
	t, err := pq.ParseTimestamp(time.UTC, string(b))
	if err != nil || !reads(b, t) {
		return nil, errSyntax
	}
	if texts.boxes != nil {
		return texts.boxes.times.value(t.UTC()), nil
	}
	return t.UTC(), nil
}

// reads tells whether the fields of a timestamp are the text's: lib/pq carries a 99th of a month over.
func reads(b []byte, t time.Time) bool {
	b = b[bytes.IndexByte(b, '-'):]
	at := [...]struct{ place, field int }{{1, int(t.Month())}, {4, t.Day()}, {7, t.Hour()}, {10, t.Minute()}, {13, t.Second()}}
	for _, f := range at {
		if len(b) < f.place+2 {
			break // a date
		}
		if n := int(b[f.place]-'0')*10 + int(b[f.place+1]-'0'); n != f.field {
			return false
		}
	}
	return true
}

// parseTime reads a time of day. 24:00 is the midnight after.
func parseTime(layout string, b []byte) (driver.Value, error) {
	s, next := string(b), time.Duration(0)
	if rest, ok := strings.CutPrefix(s, "24:00:00"); ok {
		s, next = "00:00:00"+rest, 24*time.Hour
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return nil, errSyntax
	}
	return t.Add(next).UTC(), nil
}

// timeTZLayout is the layout of a time with a zone, which is as short as it can be.
func timeTZLayout(b []byte) string {
	switch bytes.Count(b, []byte{':'}) {
	case 0, 1, 2:
		return "15:04:05-07"
	case 3:
		return "15:04:05-07:00"
	}
	return "15:04:05-07:00:00"
}

// parseBytes reads BYTEA, in hex or with escapes.
func parseBytes(b []byte) (driver.Value, error) {
	if digits, ok := bytes.CutPrefix(b, []byte(`\x`)); ok {
		out := make([]byte, hex.DecodedLen(len(digits)))
		if _, err := hex.Decode(out, digits); err != nil {
			return nil, errSyntax
		}
		return out, nil
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		switch {
		case b[0] != '\\':
			out, b = append(out, b[0]), b[1:]
		case len(b) > 1 && b[1] == '\\':
			out, b = append(out, '\\'), b[2:]
		case len(b) > 3:
			n, err := strconv.ParseUint(string(b[1:4]), 8, 8)
			if err != nil {
				return nil, errSyntax
			}
			out, b = append(out, byte(n)), b[4:]
		default:
			return nil, errSyntax
		}
	}
	return out, nil
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

const (
	// A row's text keeps its block alive, and with it what its neighbours were: blocks are
	// small, and a longer text has memory of its own.
	arenaFirst = 128
	arenaBlock = 1024
	arenaText  = 128
)

// arena makes strings of a result's texts, many to an allocation, and interfaces of its values.
type arena struct {
	block strings.Builder
	boxes *boxes // nil: of the first row
}

func (a *arena) int(n int64) driver.Value {
	if a.boxes != nil && uint64(n) > 255 { // of those below Go has interfaces already
		return a.boxes.ints.value(n)
	}
	return n
}

// value is a text's interface; a long one isn't kept alive by others.
func (a *arena) value(s string) driver.Value {
	if a.boxes != nil && len(s) <= arenaText {
		return a.boxes.strings.value(s)
	}
	return s
}

func (a *arena) string(b []byte) string {
	if len(b) > arenaText {
		return string(b)
	}
	if a.block.Cap()-a.block.Len() < len(b) {
		size := arenaBlock
		if a.block.Cap() == 0 {
			size = arenaFirst
		}
		a.block = strings.Builder{}
		a.block.Grow(size)
	}
	from := a.block.Len()
	a.block.Write(b)
	return a.block.String()[from:]
}
