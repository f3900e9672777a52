package metadata

import (
	"fmt"
	"math"
	"strconv"
)

// Result is the answer to one query of a Source: values as lib/pq gives them in text form,
// that is int64, float64, bool, string, []byte, time.Time or nil.
type Result struct {
	Columns []string
	Rows    [][]any
}

// table reads a Result by column name, so that shuffled and new columns don't matter.
type table struct {
	at   map[string]int
	rows [][]any
}

func newTable(r *Result) table {
	t := table{at: make(map[string]int, len(r.Columns)), rows: r.Rows}
	for i, name := range r.Columns {
		if _, twice := t.at[name]; !twice {
			t.at[name] = i
		}
	}
	return t
}

// require is an error when one of the columns isn't there at all: then it's no bad row but
// a table of another shape.
func (t table) require(names ...string) error {
	for _, n := range names {
		if _, ok := t.at[n]; !ok {
			return fmt.Errorf("the answer has no column %q", n)
		}
	}
	return nil
}

// value is nil for NULL, for a column that doesn't exist and for a row that is too short.
func (t table) value(row []any, name string) any {
	i, ok := t.at[name]
	if !ok || i >= len(row) {
		return nil
	}
	return row[i]
}

// text is the value as a string; false for NULL.
func (t table) text(row []any, name string) (string, bool) {
	switch v := t.value(row, name).(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case []byte:
		return string(v), true
	default:
		return fmt.Sprint(v), true
	}
}

// number is the value as an unsigned integer; false for NULL and for what isn't one.
func (t table) number(row []any, name string) (uint64, bool) {
	switch v := t.value(row, name).(type) {
	case int64:
		return uint64(v), v >= 0
	case uint64:
		return v, true
	case float64:
		if v != math.Trunc(v) || v < 0 || v >= 1<<53 {
			return 0, false
		}
		return uint64(v), true
	case string:
		n, err := strconv.ParseUint(v, 10, 64)
		return n, err == nil
	case []byte:
		n, err := strconv.ParseUint(string(v), 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// truth is the value as a bool; NULL and everything else is false.
func (t table) truth(row []any, name string) bool {
	switch v := t.value(row, name).(type) {
	case bool:
		return v
	case string:
		return v == "t" || v == "true"
	case []byte:
		return string(v) == "t" || string(v) == "true"
	default:
		return false
	}
}
