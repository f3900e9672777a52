package watch

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
)

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
