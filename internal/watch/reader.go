package watch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/options"
)

// The system tables that are read.
const (
	tableInstance    = "_pico_instance"
	tablePeerAddress = "_pico_peer_address"
	tableReplicaset  = "_pico_replicaset"
	tableTier        = "_pico_tier"
	tableTable       = "_pico_table"
)

// noLimits is appended once a server stopped a query at sql_vdbe_opcode_max (45000 by
// default, too few for a thousand instances) or sql_motion_row_max.
const noLimits = " OPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 0)"

// reader runs queries on system tables. It remembers what the user may not read and that limits have to be lifted.
type reader struct {
	clock   options.Clock
	recheck time.Duration        // a table that was refused isn't asked for again before
	denied  map[string]time.Time // when the server refused it
	unlimit bool                 // append noLimits
}

// read runs a query over the tables. ok is false, without an error, if the user may not read one of them.
func (r *reader) read(ctx context.Context, q Querier, sql string, tables ...string) (t table, ok bool, err error) {
	if r.isDenied(tables) {
		return table{}, false, nil
	}
	res, err := r.query(ctx, q, sql)
	if name, refused := deniedTable(err); refused {
		r.setDenied(name, tables)
		return table{}, false, nil
	}
	if err != nil {
		return table{}, false, fmt.Errorf("picodata: reading %s: %w", tables[0], err)
	}
	r.setAllowed(tables)
	return newTable(res), true, nil
}

func (r *reader) query(ctx context.Context, q Querier, sql string) (*Result, error) {
	unlimit := r.unlimit
	if !unlimit {
		res, err := q.Query(ctx, sql)
		if !isOverLimit(err) {
			return notNil(res, err)
		}
		r.unlimit = true
	}
	return notNil(q.Query(ctx, sql+noLimits))
}

func notNil(res *Result, err error) (*Result, error) {
	if err == nil && res == nil {
		res = &Result{}
	}
	return res, err
}

func (r *reader) isDenied(tables []string) bool {
	now := r.clock.Now()
	return slices.ContainsFunc(tables, func(name string) bool {
		at, ok := r.denied[name]
		return ok && now.Sub(at) < r.recheck
	})
}

func (r *reader) setDenied(name string, tables []string) {
	if !slices.Contains(tables, name) {
		name = tables[0] // the text changed; the grant is a guess then, the refusal is not
	}
	r.denied[name] = r.clock.Now()
}

func (r *reader) setAllowed(tables []string) {
	for _, name := range tables {
		delete(r.denied, name)
	}
}

func (r *reader) deniedAmong(tables ...string) []string {
	return slices.DeleteFunc(tables, func(name string) bool { _, ok := r.denied[name]; return !ok })
}

// errNoValue: a query for one value brought none.
var errNoValue = errors.New("the server answered without a value")

// scalar runs a query for one value.
func scalar(ctx context.Context, q Querier, sql string) (string, error) {
	res, err := q.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	if res == nil || len(res.Rows) == 0 || len(res.Rows[0]) == 0 {
		return "", errNoValue
	}
	t := table{at: map[string]int{"": 0}, rows: res.Rows}
	v, ok := t.text(res.Rows[0], "")
	if !ok || v == "" {
		return "", errNoValue
	}
	return v, nil
}

func causeOf(err error) servererr.Cause {
	r, _ := servererr.Of(err)
	return r.Cause
}

// deniedTable returns the table that the server refused to let the user read.
func deniedTable(err error) (string, bool) {
	r, _ := servererr.Of(err)
	return r.Object, r.Cause == servererr.AccessDenied
}

// isUnknownFunction tells whether the server has no SQL function of this name.
func isUnknownFunction(err error, name string) bool {
	r, _ := servererr.Of(err)
	return r.Cause == servererr.NoFunction && r.Object == name
}

// isOverLimit tells whether a query was stopped by sql_vdbe_opcode_max or sql_motion_row_max.
func isOverLimit(err error) bool {
	r, _ := servererr.Of(err)
	return r.Kind == servererr.Limit
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

// float is the value as a number; NULL and what is none is 0.
func (t table) float(row []any, name string) float64 {
	raw, _ := t.text(row, name)
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsNaN(v) {
		return 0
	}
	return v
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
