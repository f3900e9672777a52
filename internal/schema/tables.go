// Package schema is what the driver learns about tables and about the sharding keys of statements: from _pico_table,
// from the server's notices, and why what it has learnt may be outdated. Pure, and below everything else.
package schema

import (
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

// ParseTable reads what _pico_table says of one table in JSON, the columns format and distribution. Only what can't be
// read is an error: of a form that this version of the driver doesn't know the table is, but not its buckets.
func ParseTable(name, format, distribution string) (Table, error) {
	t := Table{Name: name, Operable: true}
	var columns []struct {
		Name     string `json:"name"`
		Type     string `json:"field_type"`
		Nullable bool   `json:"is_nullable"`
	}
	if json.Unmarshal([]byte(format), &columns) != nil {
		return t, fmt.Errorf("format %q can't be read", clip(format))
	}
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Name: c.Name, Type: c.Type, OID: typeOIDs[c.Type], Nullable: c.Nullable})
	}
	if !t.parseDistribution(distribution) {
		return t, fmt.Errorf("distribution %q can't be read", clip(distribution))
	}
	return t, nil
}

// clip shortens what a server sent for an error text.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
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
