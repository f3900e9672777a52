package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/options"
)

// queryTables: what follows the name is JSON.
const queryTables = "SELECT id,name,distribution,format,schema_version,operable FROM _pico_table"

// queryTablesMark is cheap: every table that is made or altered bears a new, greater version.
const queryTablesMark = "SELECT max(schema_version) AS newest,count(*) AS entries FROM _pico_table"

// tablesMark changes when a table is made, altered or dropped.
type tablesMark struct{ newest, entries uint64 }

// readTablesMark reads the mark of _pico_table. ok is false, without an error, if the user may not.
func (s *Source) readTablesMark(ctx context.Context, q Querier) (m tablesMark, ok bool, err error) {
	rows, ok, err := s.read(ctx, q, queryTablesMark, tableTable)
	if err != nil || !ok || len(rows.rows) != 1 {
		return m, false, err
	}
	m.newest, _ = rows.number(rows.rows[0], "newest")
	m.entries, _ = rows.number(rows.rows[0], "entries")
	return m, true, nil
}

// ReadTables reads _pico_table, which an ordinary user may not. The error of that is a
// *deniedError. A row that can't be read is left out.
func (s *Source) ReadTables(ctx context.Context, q Querier) (map[string]schema.Table, error) {
	rows, ok, err := s.read(ctx, q, queryTables, tableTable)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &deniedError{tableTable}
	}
	if err := rows.require("name", "distribution", "format"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableTable, err)
	}
	tables := make(map[string]schema.Table, len(rows.rows))
	for _, row := range rows.rows {
		t, problem := parseTable(rows, row)
		if problem != "" {
			s.report(tableTable, problem)
			continue
		}
		if _, twice := tables[t.Name]; twice {
			s.report(tableTable, "a second row for table "+clip(t.Name))
			continue
		}
		tables[t.Name] = t
	}
	return tables, nil
}

// refreshTables reads _pico_table where sharding keys are to be known without the server's
// notices: with routing=keys, and on servers that send none. At each refresh a small question tells
// whether anything about tables has changed.
func (w *Watcher) refreshTables() {
	w.mu.Lock()
	asked := w.wantTables
	w.mu.Unlock()
	t := w.Topology()
	wanted := w.options.Routing == options.RoutingKeys ||
		w.options.Routing == options.RoutingInsert && !t.MinVersion().HasQueryMetadata()
	if !wanted || t.Static || !t.RolesKnown {
		return
	}
	now := w.clock.Now()
	age := now.Sub(w.loop.tablesAt)
	due := !w.loop.tablesTried || age >= w.config.BucketFloor || w.loop.tablesPending || asked && age >= 500*time.Millisecond
	mark, ok := w.readTablesMark()
	if !due && (!ok || mark == w.loop.tablesMark) || w.loop.conn == nil {
		return
	}
	w.mu.Lock()
	w.wantTables = false
	w.mu.Unlock()
	// The mark was read first: what changes between the two readings changes it again.
	w.loop.tablesTried, w.loop.tablesAt, w.loop.tablesMark = true, now, mark
	tables, err := w.source.ReadTables(w.ctx, w.querier())
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		w.setTablesDenied(true)
		w.noteDenied(tableTable)
		if w.tables.Swap(nil) != nil && w.config.OnTables != nil {
			w.config.OnTables(nil)
		}
	case err != nil:
		w.log.Warn("picodata: tables can't be read, what is known of them stays in force", "address", w.loop.connTo.Address, "error", err)
		w.loop.tablesMark = tablesMark{} // try again
		if !isServerError(err) && w.ctx.Err() == nil {
			w.leaveNode()
		}
	default:
		w.setTablesDenied(false)
		w.loop.tablesPending = false
		for _, t := range tables {
			w.loop.tablesPending = w.loop.tablesPending || !t.Operable // its DDL ends without another mark
		}
		w.tables.Store(&tables)
		if w.config.OnTables != nil {
			w.config.OnTables(tables)
		}
	}
}

// readTablesMark reads the mark where tables are known. What goes wrong is no worse than not
// knowing: the tables are read anew after BucketFloor, or when a statement asks.
func (w *Watcher) readTablesMark() (tablesMark, bool) {
	mark, ok, err := w.source.readTablesMark(w.ctx, w.querier())
	if err != nil && !isServerError(err) && w.ctx.Err() == nil {
		w.leaveNode()
	}
	return mark, ok && err == nil
}

func (w *Watcher) setTablesDenied(denied bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tablesDenied = denied
}

// parseTable reads one row of _pico_table; problem is not empty if it has to be left out.
func parseTable(rows table, row []any) (t schema.Table, problem string) {
	name, _ := rows.text(row, "name")
	if name == "" {
		return t, "a table without a name"
	}
	format, _ := rows.text(row, "format")
	distribution, _ := rows.text(row, "distribution")
	t, err := schema.ParseTable(name, format, distribution)
	if err != nil {
		return t, fmt.Sprintf("table %s: %v", clip(name), err)
	}
	t.ID, _ = rows.number(row, "id")
	t.SchemaVersion, _ = rows.number(row, "schema_version")
	if _, given := rows.at["operable"]; given {
		t.Operable = rows.truth(row, "operable")
	}
	return t, ""
}

// deniedError says that the user may not read a system table.
type deniedError struct{ table string }

func (e *deniedError) Error() string { return "picodata: no right to read " + e.table }
