package watch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
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

// The parts of the question. Columns of all parts have the same types, since one answer holds them all.
//
// An instance that stops, starts, joins or is expelled gets a new target state first, with the reason and time of that,
// and takes its current state from it (both columns, and sync_incarnation, came with 25.5.3). So between two looks
// at a settled cluster an instance that changes goes from one reason's group to another's, or comes back into it
// with a greater incarnation: clocks that differ hide nothing. Leaders change with their
// names, and what else a replicaset or a tier is configured to be with its config version.
const (
	markInstances = "SELECT 1 AS part,count(*) AS entries,sum(raft_id) AS a,sum(sync_incarnation) AS b," +
		"target_state_reason AS c,max(CAST(target_state_change_time AS text)) AS d FROM _pico_instance GROUP BY target_state_reason"
	markReplicasets = "SELECT 2 AS part,count(*) AS entries,sum(current_config_version) AS a,sum(target_config_version) AS b," +
		"group_concat(current_master_name) AS c,group_concat(target_master_name) AS d FROM _pico_replicaset"
	markTiers = "SELECT 3 AS part,count(*) AS entries,sum(current_vshard_config_version) AS a,sum(target_vshard_config_version) AS b," +
		"max(name) AS c,'' AS d FROM _pico_tier"
	markTables = "SELECT 4 AS part,count(*) AS entries,sum(id) AS a,sum(schema_version) AS b,'' AS c,'' AS d FROM _pico_table"

	// markStates stands in for markInstances on servers that don't know the columns: not small, but a tenth
	// of all that is known of instances.
	markStates = "SELECT raft_id,current_state,target_state FROM _pico_instance"
)

// markForm is how this server can be asked.
type markForm uint8

const (
	markWhole markForm = iota // one question for everything
	markOld                   // the states of instances, and one question for the rest
	markNone                  // neither: everything is read each time
)

// markRetry is how long a form that a server refused isn't tried again: a rolling upgrade brings it.
const markRetry = 10 * time.Minute

// marker asks for marks.
type marker struct {
	reader  *reader
	form    markForm
	refused time.Time // when form was chosen for want of a better one
}

// read asks whether anything has changed. Parts that may not be read, or that this server can't tell, are 0.
func (m *marker) read(ctx context.Context, q Querier, withTables bool) (found mark, err error) {
	if m.form != markWhole && m.reader.clock.Now().Sub(m.refused) >= markRetry {
		m.form = markWhole
	}
	for m.form != markNone {
		found, err = m.ask(ctx, q, m.form, withTables)
		if err == nil || !notUnderstood(err) {
			return found, err
		}
		m.form++ // that server doesn't understand the question
		m.refused = m.reader.clock.Now()
	}
	return mark{}, nil
}

// notUnderstood tells a server that can't answer a question from one that can't at present.
func notUnderstood(err error) bool {
	r, ok := servererr.Of(err)
	switch r.Kind {
	case servererr.Other, servererr.Query, servererr.Unsupported, servererr.Parameters:
		return ok
	}
	return false
}

func (m *marker) ask(ctx context.Context, q Querier, form markForm, withTables bool) (found mark, err error) {
	if form == markOld {
		rows, ok, err := m.reader.read(ctx, q, markStates, tableInstance)
		if err != nil {
			return found, err
		}
		if ok {
			found.instances = digest(rows.rows)
		}
	}
	for {
		sql, tables := m.question(form, withTables)
		if sql == "" {
			return found, nil
		}
		rows, ok, err := m.reader.read(ctx, q, sql, tables...)
		if err != nil {
			return mark{}, err
		}
		if !ok {
			continue // one of them may not be read: the others are asked about
		}
		for _, row := range rows.rows {
			d := digest([][]any{row})
			switch part, _ := rows.number(row, "part"); part {
			case 1:
				found.instances += d // in whatever order the groups come
			case 2:
				found.replicasets = d
			case 3:
				found.tiers = d
			case 4:
				found.tables = d
			}
		}
		return found, nil
	}
}

// question is one text for all parts that may be read, of these tables.
func (m *marker) question(form markForm, withTables bool) (sql string, tables []string) {
	var parts []string
	add := func(table, sql string) {
		if !m.reader.isDenied([]string{table}) {
			parts, tables = append(parts, sql), append(tables, table)
		}
	}
	if form == markWhole {
		add(tableInstance, markInstances)
	}
	add(tableReplicaset, markReplicasets)
	add(tableTier, markTiers)
	if withTables {
		add(tableTable, markTables)
	}
	return strings.Join(parts, " UNION ALL "), tables
}

// digest is never 0.
func digest(rows [][]any) uint64 {
	h := fnv.New64a()
	for _, row := range rows {
		for _, v := range row {
			switch v := v.(type) {
			case string:
				io.WriteString(h, v)
			case []byte:
				h.Write(v)
			default:
				fmt.Fprint(h, v)
			}
			h.Write([]byte{0})
		}
	}
	return max(h.Sum64(), 1)
}
