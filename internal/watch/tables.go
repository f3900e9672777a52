package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// queryTables: what follows the name is JSON.
const queryTables = "SELECT id,name,distribution,format,schema_version,operable FROM _pico_table"

// Tables reads _pico_table, which an ordinary user may not. The error of that is a
// *deniedError. A row that can't be read is left out.
func (s *SQL) Tables(ctx context.Context, q Querier) (map[string]schema.Table, error) {
	rows, ok, err := s.reader.read(ctx, q, queryTables, tableTable)
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
			s.rows.report(tableTable, problem)
			continue
		}
		if _, twice := tables[t.Name]; twice {
			s.rows.report(tableTable, "a second row for table "+clip(t.Name))
			continue
		}
		tables[t.Name] = t
	}
	return tables, nil
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

// tableReader keeps fresh what is known of tables, where sharding keys are to be known without the server's
// notices: with routing=keys, and on servers that send none. It belongs to the loop.
type tableReader struct {
	config  *Config
	options *options.Config
	source  Source
	clock   options.Clock
	log     *slog.Logger
	state   *state
	grants  *grants

	at      time.Time // of the last reading
	tried   bool
	of      *Reading // what the last reading of tables belongs to
	pending bool     // it showed unfinished DDL, which ends without another mark
}

// tablesNeeded tells whether the sharding keys of tables have to be known, and can be of use. rows: statements
// are met of whose key servers tell nothing.
func tablesNeeded(o *options.Config, t *metadata.Topology, rows bool) bool {
	if t == nil {
		return rows || o.SplitInserts || o.Routing == options.RoutingKeys // nothing is known yet
	}
	if t.Static || !t.RolesKnown {
		return false
	}
	return rows || o.SplitInserts || o.Routing == options.RoutingKeys || o.Routing == options.RoutingInsert && !t.MinVersion().HasQueryMetadata()
}

// refresh reads tables if something about them has changed. It is false if the connection is gone.
func (r *tableReader) refresh(ctx context.Context, c *control, now *Reading) (alive bool) {
	t := now.Topology
	if !tablesNeeded(r.options, t, r.state.rowsSeen()) {
		return true
	}
	asked := r.state.tablesWanted()
	age := r.clock.Now().Sub(r.at)
	marked := now.mark.tables != 0 // else a change can't be seen
	due := !r.tried || age >= r.config.BucketFloor || r.pending || asked && age >= 500*time.Millisecond
	if !due && (!marked || now.SameTables(r.of)) {
		return true
	}
	r.state.mu.Lock()
	r.state.wantTables = false
	r.state.mu.Unlock()
	// The mark was read first: what changes between the two readings changes it again.
	r.tried, r.at, r.of = true, r.clock.Now(), now
	tables, err := r.source.Tables(ctx, c)
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		r.setDenied(true)
		r.grants.note(tableTable)
		if r.state.tables.Swap(nil) != nil && r.config.OnTables != nil {
			r.config.OnTables(nil)
		}
	case err != nil:
		r.log.Warn("picodata: tables can't be read, what is known of them stays in force", "address", c.to.Address, "error", err)
		r.of = nil // try again
		return isServerError(err) || ctx.Err() != nil
	default:
		r.setDenied(false)
		r.pending = false
		for _, t := range tables {
			r.pending = r.pending || !t.Operable
		}
		r.state.tables.Store(&tables)
		if r.config.OnTables != nil {
			r.config.OnTables(tables)
		}
	}
	return true
}

func (r *tableReader) setDenied(denied bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.tablesDenied = denied
}
