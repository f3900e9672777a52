package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// castFunction is p_cast(x, from, to); the types are sqlType numbers, negative for arrays.
func (d *db) castFunction(ctx sqlite3.Context, arg ...sqlite3.Value) {
	c := argCell(arg[0])
	if c == nil {
		ctx.ResultNull()
		return
	}
	r, text := castCell(c, typeOfCode(arg[1].Int64()), typeOfCode(arg[2].Int64()))
	if text != "" {
		d.fail(ctx, text)
		return
	}
	resultCell(ctx, r)
}

func (t sqlType) code() int64 {
	if t.array {
		return -int64(t.base)
	}
	return int64(t.base)
}

func typeOfCode(n int64) sqlType {
	if n < 0 {
		return sqlType{base: baseType(-n), array: true}
	}
	return sqlType{base: baseType(n)}
}

// storageName is a type's name in the storage's conversion errors.
func (t sqlType) storageName() string {
	switch t.base {
	case tInt, tUnsigned:
		return "integer"
	case tText:
		return "string"
	case tBool:
		return "boolean"
	case tNumeric:
		return "decimal"
	}
	return t.String()
}

// castCell converts as CAST does; text is the server's complaint, without prefix, if the value doesn't convert.
func castCell(c cell, from, to sqlType) (r cell, text string) {
	if from == to {
		return c, ""
	}
	v := fromCell(c, from)
	if s, ok := v.(string); !ok || to.base != tNumeric || s == strings.TrimSpace(s) {
		if r, ok := convert(v, to); ok && castable(from, to) {
			return toCell(r), ""
		}
	}
	if to.array {
		return nil, failedArrayCast(v, to)
	}
	return nil, fmt.Sprintf("Type mismatch: can not convert %s to %s", storageText(v, from), to.storageName())
}

// castable tells whether the storage converts between two types at all.
func castable(from, to sqlType) bool {
	switch {
	case from.base == tBool && !from.array:
		return to.base == tBool || to.base == tText
	case to.base == tBool && !to.array:
		return from.base == tText || from.base == tMap || from.base == tAny
	case to == typeText:
		return !from.array && from.base != tMap && from.base != tArrayAny
	}
	return true
}

// storageText shows a value with its type, as the storage's complaints do.
func storageText(v Value, t sqlType) string {
	name, shown := t.storageName(), ""
	switch x := v.(type) {
	case string:
		shown = "'" + x + "'"
	case bool:
		shown = strings.ToUpper(strconv.FormatBool(x))
	case Datetime:
		shown = x.iso()
	case float64:
		shown = storageFloat(x)
	case Array:
		parts := make([]string, len(x.Items))
		for i, item := range x.Items {
			switch {
			case item == nil:
				parts[i] = "null"
			default:
				parts[i] = jsonOf(item)
			}
		}
		name, shown = "array", "["+strings.Join(parts, ", ")+"]"
	case JSON:
		if shown = strings.ReplaceAll(string(x), ",", ", "); strings.HasPrefix(shown, "[") {
			name = "array"
		}
	default:
		shown = string(encodeText(v))
	}
	return name + "(" + shown + ")"
}

// storageFloat writes a double as the storage does: 1.0e+20.
func storageFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', 15, 64)
	if !strings.ContainsAny(s, "eIN.") {
		return s + ".0"
	}
	if mant, exp, ok := strings.Cut(s, "e"); ok && !strings.Contains(mant, ".") {
		return mant + ".0e" + exp
	}
	return s
}

// failedArrayCast names the element that doesn't convert, or the value if it's no array at all.
func failedArrayCast(v Value, to sqlType) string {
	elem := sqlType{base: to.base}
	if doc, ok := v.(JSON); ok {
		for _, x := range documentItems(doc) {
			if _, fits := documentItem(x, elem); !fits {
				return fmt.Sprintf("Failed to cast %s to %s", sqlText(x), elem.planName())
			}
		}
	}
	a, ok := v.(Array)
	if !ok {
		return fmt.Sprintf("sbroad: invalid value: Failed to cast %s to %s.", sqlText(v), to.planName())
	}
	for _, x := range a.Items {
		if _, ok := convert(x, elem); !ok {
			v = x
			break
		}
	}
	return fmt.Sprintf("Failed to cast %s to %s", sqlText(v), elem.planName())
}

func sqlText(v Value) string {
	if s, ok := v.(string); ok {
		return "'" + s + "'"
	}
	return string(encodeText(v))
}

// castText shows a value that can't be cast.
func castText(v Value) string {
	if b, ok := v.(bool); ok {
		return strconv.FormatBool(b)
	}
	return sqlText(v)
}

// typeOfValue is the type that a value has by itself.
func typeOfValue(v Value) sqlType {
	switch x := v.(type) {
	case bool:
		return typeBool
	case int64, uint64:
		return typeInt
	case float64:
		return typeDouble
	case Decimal:
		return typeNumeric
	case string:
		return typeText
	case UUID:
		return typeUUID
	case Datetime:
		return typeDT
	case Array:
		t, _ := typeOfOID(x.Elem)
		t.array = true
		return t
	}
	return typeMap
}

// convert turns a value into another type, as CAST and assignments do; ok is false when it can't be.
func convert(v Value, to sqlType) (Value, bool) {
	if v == nil {
		return nil, true
	}
	if to.array {
		elem := sqlType{base: to.base}
		if doc, ok := v.(JSON); ok {
			return documentArray(doc, elem)
		}
		a, ok := v.(Array)
		if !ok {
			return nil, false
		}
		out := Array{Elem: elem.oid(), Items: make([]Value, len(a.Items))}
		for i, x := range a.Items {
			if out.Items[i], ok = convert(x, elem); !ok {
				return nil, false
			}
		}
		return out, true
	}
	switch to.base {
	case tInt, tUnsigned:
		return convertInt(v)
	case tDouble:
		return convertDouble(v)
	case tNumeric:
		return convertDecimal(v)
	case tText:
		switch x := v.(type) {
		case bool:
			return strings.ToUpper(strconv.FormatBool(x)), true
		case JSON:
			return docText(string(x)), true
		case Datetime:
			return x.iso(), true
		case float64:
			return storageFloat(x), true
		}
		return string(encodeText(v)), true
	case tBool:
		return convertBool(v)
	case tUUID:
		switch x := v.(type) {
		case UUID:
			return x, true
		case string:
			u, err := ParseUUID(x)
			return u, err == nil
		}
	case tDatetime:
		switch x := v.(type) {
		case Datetime:
			return x, true
		case string:
			dt, err := ParseDatetime(x)
			return dt, err == nil
		}
	case tMap, tAny, tArrayAny:
		if j, ok := v.(JSON); ok {
			return j, true
		}
		return JSON(jsonOf(v)), true
	}
	return nil, false
}

func convertInt(v Value) (Value, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case float64:
		if math.IsNaN(x) || x >= math.MaxInt64 || x < math.MinInt64 {
			return nil, false
		}
		return int64(x), true
	case Decimal:
		i, ok := x.truncated()
		return i, ok
	case bool:
		if x {
			return int64(1), true
		}
		return int64(0), true
	case string:
		return parseInt(strings.TrimSpace(x), 64)
	case JSON:
		return parseInt(string(x), 64)
	}
	return nil, false
}

func convertDouble(v Value) (Value, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case Decimal:
		return x.float(), true
	case string:
		f, err := parseFloat(strings.TrimSpace(x))
		return f, err == nil
	case JSON:
		f, err := parseFloat(string(x))
		return f, err == nil
	}
	return nil, false
}

func convertDecimal(v Value) (Value, bool) {
	switch x := v.(type) {
	case int64:
		return DecimalFromInt(x), true
	case float64:
		if x != 0 && math.Abs(x) < 1e-38 {
			return Decimal{}, true // too small for a decimal
		}
		d, err := ParseDecimal(strings.TrimSuffix(shortFloat(x), ".0"))
		return d, err == nil
	case Decimal:
		return x, true
	case string:
		d, err := ParseDecimal(strings.TrimSpace(x))
		return d, err == nil
	case JSON:
		d, err := ParseDecimal(string(x))
		return d, err == nil
	}
	return nil, false
}

func convertBool(v Value) (Value, bool) {
	switch x := v.(type) {
	case bool:
		return x, true
	case int64:
		return x != 0, true
	case string:
		b, ok := parseBool(x)
		return b, ok
	case JSON:
		return x == "true", x == "true" || x == "false"
	}
	return nil, false
}

// shortFloat is the shortest text that reads back as the same double.
func shortFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
