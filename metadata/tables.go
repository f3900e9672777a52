package metadata

import (
	"context"
	"encoding/json"
	"fmt"
)

// Distribution is how a table's rows are spread.
type Distribution uint8

// Distributions. Unknown is a form that this version of the driver doesn't know: not routed.
const (
	DistributionUnknown Distribution = iota
	Global                           // every instance has all rows
	ShardedByKey                     // "ShardedImplicitly": bucket = hash of the sharding key
	ShardedByField                   // the row says its bucket itself
)

// Column is one column of a table.
type Column struct {
	Name     string
	Type     string // as _pico_table.format says it: "integer", "unsigned", "string", "double", "decimal", "boolean", "uuid", "datetime", …
	OID      uint32 // the PostgreSQL type that the server reports for it; 0 = unknown
	Nullable bool
}

// Table is one row of _pico_table, as far as routing needs it.
type Table struct {
	Name          string
	ID            uint64
	Distribution  Distribution
	Tier          string   // of a sharded table
	ShardingKey   []string // column names, in the key's order; of ShardedByKey
	Columns       []Column // in the table's order, with the hidden bucket_id
	SchemaVersion uint64
	Operable      bool // false while DDL on it is pending
}

// Column returns the column with this name.
func (t *Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// InsertColumns are the columns that INSERT INTO t VALUES (…) fills, in order: all but the
// bucket_id that the server computes.
func (t *Table) InsertColumns() []Column {
	columns := make([]Column, 0, len(t.Columns))
	for _, c := range t.Columns {
		if c.Name == "bucket_id" && t.Distribution == ShardedByKey {
			continue
		}
		columns = append(columns, c)
	}
	return columns
}

// typeOIDs gives the PostgreSQL type that the server reports for a column type.
var typeOIDs = map[string]uint32{
	"boolean": 16, "integer": 20, "unsigned": 20, "string": 25, "json": 114, "map": 114, "array": 114, "any": 114,
	"double": 701, "datetime": 1184, "decimal": 1700, "uuid": 2950,
}

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
// *DeniedError with the GRANT that helps. A row that can't be read is left out.
func (s *Source) ReadTables(ctx context.Context, q Querier) (map[string]Table, error) {
	rows, ok, err := s.read(ctx, q, queryTables, tableTable)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &DeniedError{Table: tableTable}
	}
	if err := rows.require("name", "distribution", "format"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableTable, err)
	}
	tables := make(map[string]Table, len(rows.rows))
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

func parseTable(rows table, row []any) (t Table, problem string) {
	t.Name, _ = rows.text(row, "name")
	if t.Name == "" {
		return t, "a table without a name"
	}
	t.ID, _ = rows.number(row, "id")
	t.SchemaVersion, _ = rows.number(row, "schema_version")
	t.Operable = true
	if _, given := rows.at["operable"]; given {
		t.Operable = rows.truth(row, "operable")
	}
	format, _ := rows.text(row, "format")
	var columns []struct {
		Name     string `json:"name"`
		Type     string `json:"field_type"`
		Nullable bool   `json:"is_nullable"`
	}
	if json.Unmarshal([]byte(format), &columns) != nil {
		return t, fmt.Sprintf("table %s: format %q can't be read", clip(t.Name), clip(format))
	}
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Name: c.Name, Type: c.Type, OID: typeOIDs[c.Type], Nullable: c.Nullable})
	}
	raw, _ := rows.text(row, "distribution")
	if !t.parseDistribution(raw) {
		return t, fmt.Sprintf("table %s: distribution %q can't be read", clip(t.Name), clip(raw))
	}
	return t, ""
}

// parseDistribution reads {"Global":null}, {"ShardedImplicitly":[["k1","k2"],"murmur3","tier"]}
// and {"ShardedByField":["bucket_id","tier"]}. A form that isn't known leaves DistributionUnknown.
func (t *Table) parseDistribution(raw string) bool {
	var forms map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &forms) != nil || len(forms) != 1 {
		return false
	}
	for form, body := range forms {
		var parts []json.RawMessage
		switch form {
		case "Global":
			t.Distribution = Global
		case "ShardedImplicitly":
			var hash string
			if json.Unmarshal(body, &parts) != nil || len(parts) < 3 ||
				json.Unmarshal(parts[0], &t.ShardingKey) != nil || len(t.ShardingKey) == 0 ||
				json.Unmarshal(parts[1], &hash) != nil || json.Unmarshal(parts[2], &t.Tier) != nil {
				return false
			}
			if hash != "murmur3" {
				t.ShardingKey = nil
				return true // a hash of the future: the table is known, its buckets aren't
			}
			for _, name := range t.ShardingKey {
				if _, ok := t.Column(name); !ok {
					return false
				}
			}
			t.Distribution = ShardedByKey
		case "ShardedByField":
			if json.Unmarshal(body, &parts) != nil || len(parts) < 2 || json.Unmarshal(parts[1], &t.Tier) != nil {
				return false
			}
			t.Distribution = ShardedByField
		}
	}
	return true
}

// DeniedError says that the user may not read a system table.
type DeniedError struct {
	Table string
	User  string // "" if it isn't known here
}

// Error carries the GRANT that helps.
func (e *DeniedError) Error() string {
	user := e.User
	if user == "" {
		user = "the user"
	} else {
		user = quoteIdent(user)
	}
	return "picodata: no right to read " + e.Table + "; an administrator can give it: GRANT READ ON TABLE " + e.Table + " TO " + user
}
