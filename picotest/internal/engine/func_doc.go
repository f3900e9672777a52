package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// defineDocFunctions defines access to documents and arrays, which are JSON texts here.
func (d *db) defineDocFunctions() error {
	return errors.Join(
		d.fn("p_index", 2, func(a []cell) (cell, string) { return docElement(cellText(a[0]), a[1]), "" }),
		d.fn("p_item", 2, func(a []cell) (cell, string) {
			i, ok := a[1].(int64)
			items := arrayCells(cellText(a[0]))
			if !ok || i < 1 || i > int64(len(items)) {
				return nil, ""
			}
			return items[i-1], ""
		}),
		d.conn.CreateFunction("p_array", -1, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
			a := make([]cell, len(arg))
			for i, v := range arg {
				a[i] = argCell(v)
			}
			ctx.ResultText(cellsArray(a))
		}),
		d.fn("p_doctext", 1, func(a []cell) (cell, string) { return docText(cellText(a[0])), "" }),
	)
}

// docElement gives the element under a key or a position (from 1) as a JSON text, nil when there is none.
func docElement(doc string, key cell) cell {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal([]byte(doc), &list) == nil:
		i, ok := key.(int64)
		if s, isText := key.(string); isText {
			n, err := strconv.ParseInt(s, 10, 64)
			i, ok = n, err == nil
		}
		if ok && i >= 1 && i <= int64(len(list)) {
			return docCell(list[i-1])
		}
	case json.Unmarshal([]byte(doc), &object) == nil:
		if r, ok := object[cellText(key)]; ok {
			return docCell(r)
		}
	}
	return nil
}

func docCell(r json.RawMessage) cell {
	if string(bytes.TrimSpace(r)) == "null" {
		return nil
	}
	return string(r)
}

// docText takes the quotes off a JSON string and leaves other documents alone.
func docText(doc string) string {
	var s string
	if json.Unmarshal([]byte(doc), &s) == nil {
		return s
	}
	return doc
}

func arrayCells(s string) []cell {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(s), &raw) != nil {
		return nil
	}
	cells := make([]cell, len(raw))
	for i, r := range raw {
		if n, err := strconv.ParseInt(string(r), 10, 64); err == nil {
			cells[i] = n
			continue
		}
		var c cell
		if json.Unmarshal(r, &c) == nil {
			cells[i] = c
		}
		if b, ok := c.(bool); ok {
			cells[i] = toCell(b)
		}
	}
	return cells
}

func cellsArray(a []cell) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// jsonOf writes a value as the server shows it inside documents and tuples.
func jsonOf(v Value) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "null"
		}
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return shortFloat(x)
	case JSON:
		return string(x)
	case Decimal:
		return x.String()
	case Array:
		out := "["
		for i, it := range x.Items {
			if i > 0 {
				out += ", "
			}
			out += jsonOf(it)
		}
		return out + "]"
	case Datetime:
		return `"` + x.time().Format("2006-01-02T15:04:05.999999999Z07:00") + `"`
	}
	return quoteJSON(string(encodeText(v)))
}

// quoteJSON quotes a text without HTML escapes.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// documentItems gives the elements of a document that is a list: nil, bool, int64, float64, string, or JSON for what is deeper.
func documentItems(doc JSON) []Value {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(doc), &raw) != nil {
		return nil
	}
	items := make([]Value, len(raw))
	for i, r := range raw {
		if n, ok := parseInt(string(r), 64); ok {
			items[i] = n
			continue
		}
		var v any
		if json.Unmarshal(r, &v) != nil {
			continue
		}
		switch v.(type) {
		case nil, bool, float64, string:
			items[i] = v
		default:
			items[i] = JSON(r)
		}
	}
	return items
}

// documentItem takes an element as a type; texts don't turn into numbers here nor numbers into texts.
func documentItem(v Value, elem sqlType) (Value, bool) {
	switch v.(type) {
	case nil:
		return nil, true
	case string:
		if elem.base != tText {
			return nil, false
		}
	case bool:
		if elem.base != tBool {
			return nil, false
		}
	case int64, float64:
		if rank(elem) == 0 {
			return nil, false
		}
	case JSON:
		return nil, false
	}
	return convert(v, elem)
}

// documentArray turns a document that is a list into a typed array.
func documentArray(doc JSON, elem sqlType) (Value, bool) {
	items := documentItems(doc)
	if items == nil && doc != "[]" {
		return nil, false
	}
	a := Array{Elem: elem.oid()}
	for _, x := range items {
		v, ok := documentItem(x, elem)
		if !ok {
			return nil, false
		}
		a.Items = append(a.Items, v)
	}
	return a, true
}
