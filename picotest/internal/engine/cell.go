package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// cell is a value as SQLite holds it: nil, int64, float64 or string. Booleans are 0 and 1, decimals texts that keep their
// scale (compared by the collation "dec"), datetimes texts that sort by instant ("dt"), arrays JSON texts.
type cell any

func toCell(v Value) cell {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case int64:
		return v
	case uint64:
		return int64(v)
	case float64:
		if math.IsNaN(v) {
			return nil
		}
		return v
	case string:
		return v
	case JSON:
		return string(v)
	case Decimal:
		return v.exact()
	case Datetime:
		return v.cell()
	case UUID:
		return v.String()
	case Array:
		return arrayCell(v)
	}
	panic(fmt.Sprintf("engine: no cell for %T", v))
}

// fromCell reads a cell of a column or expression of type t.
func fromCell(c cell, t sqlType) Value {
	if c == nil {
		return nil
	}
	if t.array {
		if s, ok := c.(string); ok {
			return arrayOfCell(s, t)
		}
	}
	switch x := c.(type) {
	case int64:
		switch t.base {
		case tBool:
			return x != 0
		case tNumeric:
			return DecimalFromInt(x)
		}
		return x
	case float64:
		return x
	case string:
		switch t.base {
		case tNumeric:
			if d, err := ParseDecimal(x); err == nil {
				return d
			}
		case tDatetime:
			return datetimeOfCell(x)
		case tUUID:
			if u, err := ParseUUID(x); err == nil {
				return u
			}
		case tMap, tArrayAny, tAny:
			return JSON(x)
		}
		return x
	}
	return c
}

// dtBias makes seconds positive, so that their hexadecimal digits sort as the instants do.
const dtBias = 1 << 62

const dtSortLen = 24

func (d Datetime) cell() string {
	return fmt.Sprintf("%016x%08x%d", uint64(d.Sec+dtBias), uint32(d.Nsec), d.Offset)
}

func datetimeOfCell(s string) Value {
	if len(s) < dtSortLen+1 {
		return s
	}
	sec, err1 := strconv.ParseUint(s[:16], 16, 64)
	nsec, err2 := strconv.ParseUint(s[16:24], 16, 32)
	off, err3 := strconv.ParseInt(s[24:], 10, 16)
	if err1 != nil || err2 != nil || err3 != nil {
		return s
	}
	return Datetime{Sec: int64(sec) - dtBias, Nsec: int32(nsec), Offset: int16(off)}
}

func arrayCell(a Array) string {
	items := make([]cell, len(a.Items))
	for i, v := range a.Items {
		items[i] = toCell(v)
	}
	b, err := json.Marshal(items)
	if err != nil {
		return "[]"
	}
	return string(b)
}

func arrayOfCell(s string, t sqlType) Value {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(s), &raw) != nil {
		return s
	}
	elem := sqlType{base: t.base}
	a := Array{Elem: elem.oid(), Items: make([]Value, len(raw))}
	for i, r := range raw {
		var c cell
		if i64, err := strconv.ParseInt(string(r), 10, 64); err == nil {
			c = i64
		} else if json.Unmarshal(r, &c) != nil {
			continue
		}
		if f, ok := c.(int64); ok && t.base == tDouble {
			c = float64(f)
		}
		a.Items[i] = fromCell(c, elem)
	}
	return a
}

func bindCell(s *sqlite3.Stmt, i int, c cell) error {
	switch x := c.(type) {
	case nil:
		return s.BindNull(i)
	case int64:
		return s.BindInt64(i, x)
	case float64:
		return s.BindFloat(i, x)
	case string:
		return s.BindText(i, x)
	}
	panic(fmt.Sprintf("engine: no binding for %T", c))
}

func columnCell(s *sqlite3.Stmt, i int) cell {
	switch s.ColumnType(i) {
	case sqlite3.INTEGER:
		return s.ColumnInt64(i)
	case sqlite3.FLOAT:
		return s.ColumnFloat(i)
	case sqlite3.NULL:
		return nil
	}
	return s.ColumnText(i)
}

func argCell(v sqlite3.Value) cell {
	switch v.Type() {
	case sqlite3.INTEGER:
		return v.Int64()
	case sqlite3.FLOAT:
		return v.Float()
	case sqlite3.NULL:
		return nil
	}
	return v.Text()
}

func resultCell(ctx sqlite3.Context, c cell) {
	switch x := c.(type) {
	case nil:
		ctx.ResultNull()
	case int64:
		ctx.ResultInt64(x)
	case float64:
		ctx.ResultFloat(x)
	case string:
		ctx.ResultText(x)
	}
}
