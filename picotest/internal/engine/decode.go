package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// decode turns rows of SQLite into values of the types that were announced.
func (s *Stmt) decode(rows [][]cell) ([][]Value, *Error) {
	out := make([][]Value, len(rows))
	for i, row := range rows {
		vals := make([]Value, len(row))
		for j, c := range row {
			if f, ok := c.(float64); ok && s.types[j] == typeDouble && wholeClamped(f) != f && !s.sess.Version.AtLeast(26, 2) {
				vals[j] = hugeDouble(f)
				continue
			}
			var err *Error
			if vals[j], err = announced(c, s.types[j]); err != nil {
				return nil, err
			}
		}
		out[i] = vals
	}
	return out, nil
}

// hugeDouble is a whole double beyond int64 as servers before 26.2 send it: clamped in text, as it is in binary.
type hugeDouble float64

// announced gives the value of a cell as the announced type; what the storage computed may be of another kind, which the server
// then can't encode.
func announced(c cell, t sqlType) (Value, *Error) {
	if t.array {
		return fromCell(c, t), nil
	}
	shown, name := "", map[baseType]string{tInt: "Int8", tUnsigned: "Int8", tDouble: "Float8"}[t.base]
	switch x := c.(type) {
	case int64:
		if t.base == tDouble {
			return float64(x), nil
		}
	case float64:
		if t.base == tNumeric {
			return decimalOfDouble(x), nil
		}
		if (t.base == tInt || t.base == tUnsigned) && x == 1<<63 {
			return nil, bare("%s", textUnsigned)
		}
		if t.base == tInt || t.base == tUnsigned {
			shown = "F64(" + rustFloat(x) + ")"
		}
	case string:
		if name != "" {
			d, err := ParseDecimal(x)
			if err != nil {
				break
			}
			shown = extensionText(d)
		}
	}
	if shown != "" {
		return nil, &Error{"0A000", fmt.Sprintf("feature is not supported: %s cannot be represented as a value of type %s", shown, name)}
	}
	return fromCell(c, t), nil
}

// decimalOfDouble keeps the 15 digits that a double is sure of.
func decimalOfDouble(f float64) Value {
	d, err := ParseDecimal(strconv.FormatFloat(f, 'g', 15, 64))
	if err != nil {
		return f
	}
	for d.scale < 0 {
		d.coef, d.scale = d.int().Mul(d.int(), ten), d.scale+1
	}
	return d
}

// extensionText is a decimal as the server's errors show its MessagePack form.
func extensionText(d Decimal) string {
	raw := appendDecimal(nil, d)
	head := 2 // fixext
	if raw[0] == 0xc7 {
		head = 3
	}
	parts := make([]string, 0, len(raw))
	for _, b := range raw[head:] {
		parts = append(parts, strconv.Itoa(int(b)))
	}
	return "Ext(1, [" + strings.Join(parts, ", ") + "])"
}

// rustFloat writes a double with a point or an exponent.
func rustFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}
