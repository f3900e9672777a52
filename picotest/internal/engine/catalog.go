package engine

import (
	"fmt"
	"sort"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// column is a column of a table. Slots name the columns of the SQLite tables and survive a rename.
type column struct {
	name     string
	typ      sqlType
	nullable bool
	hidden   bool // bucket_id of a sharded table: not in SELECT *
	slot     int
}

// table is a table of the catalog. It is never changed once published: DDL replaces it by a changed copy of a newer version, so
// that a prepared statement keeps the one it was planned with.
type table struct {
	id       uint64
	name     string
	columns  []column
	pk       []int // positions in columns
	key      []int // sharding key, positions in columns; nil for global tables
	tier     string
	global   bool
	unlogged bool
	system   bool
	version  uint64
	born     uint64 // version it was created with; ids are reused
	vinyl    bool
	owner    uint64
	descr    string
	indexes  []index // secondary ones
	slots    int     // next free slot
}

// index is a secondary index.
type index struct {
	id      uint64
	name    string
	unique  bool
	typ     string
	columns []string
	version uint64
}

func (t *table) column(name string) (int, bool) {
	for i := range t.columns {
		if t.columns[i].name == name {
			return i, true
		}
	}
	return 0, false
}

// bucketColumn gives the place of the hidden column, -1 for global tables.
func (t *table) bucketColumn() int {
	for i := range t.columns {
		if t.columns[i].hidden {
			return i
		}
	}
	return -1
}

// indexedBy refuses a hint that names no secondary index of the table.
func (t *table) indexedBy(id *grammar.Ident) *Error {
	if id == nil {
		return nil
	}
	for _, ix := range t.indexes {
		if ix.name == id.Name {
			return nil
		}
	}
	return refuse("index %s not found", id.Name)
}

func (t *table) clone() *table {
	c := *t
	c.columns = append([]column(nil), t.columns...)
	c.pk = append([]int(nil), t.pk...)
	c.key = append([]int(nil), t.key...)
	c.indexes = append([]index(nil), t.indexes...)
	return &c
}

// pkName is the name of the primary key's index.
func (t *table) pkName() string { return fmt.Sprintf("%d_pkey", t.id) }

// catalog is the schema: tables, users, privileges, parameters. It is guarded by the engine's lock.
type catalog struct {
	tables  map[string]*table // user tables by name
	version uint64            // global_schema_version
	// revision grows with every change, so that pictures of system tables can be told to be old.
	revision uint64
	users    map[string]*user
	privs    []privilege
	config   map[configKey]Value
	routine  map[string]*routine
	cluster  Version // that all instances agree on
}

func newCatalog() *catalog {
	c := &catalog{tables: map[string]*table{}, users: map[string]*user{}, config: map[configKey]Value{}, routine: map[string]*routine{}}
	c.bootstrapUsers()
	return c
}

// bump starts a new schema version.
func (c *catalog) bump() uint64 {
	c.version++
	c.revision++
	return c.version
}

// firstUserTable is the lowest space id that isn't the system's.
const firstUserTable = 1025

// nextTableID is one more than the highest id in use.
func (c *catalog) nextTableID() uint64 {
	id := uint64(firstUserTable)
	for _, t := range c.tables {
		id = max(id, t.id+1)
	}
	return id
}

// lookup finds a table a query may name: a user's or, if the version has it, a system table.
func (c *catalog) lookup(name string, v Version) (*table, bool) {
	if t, ok := c.tables[name]; ok {
		return t, true
	}
	if strings.HasPrefix(name, "_pico_") {
		return systemTable(name, v)
	}
	return nil, false
}

// sorted gives the user tables by id.
func (c *catalog) sorted() []*table {
	out := make([]*table, 0, len(c.tables))
	for _, t := range c.tables {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// indexNamed finds a secondary index and its table.
func (c *catalog) indexNamed(name string) (*table, int, bool) {
	for _, t := range c.tables {
		for i := range t.indexes {
			if t.indexes[i].name == name {
				return t, i, true
			}
		}
	}
	return nil, 0, false
}

// distributionJSON is _pico_table.distribution.
func (t *table) distributionJSON() string {
	if t.global {
		return `{"Global":null}`
	}
	names := make([]string, len(t.key))
	for i, k := range t.key {
		names[i] = quoteJSON(t.columns[k].name)
	}
	return fmt.Sprintf(`{"ShardedImplicitly":[[%s],"murmur3",%s]}`, strings.Join(names, ","), quoteJSON(t.tier))
}

// formatJSON is _pico_table.format.
func (t *table) formatJSON() string {
	parts := make([]string, len(t.columns))
	for i, c := range t.columns {
		parts[i] = fmt.Sprintf(`{"name":%s,"field_type":%s,"is_nullable":%t}`, quoteJSON(c.name), quoteJSON(c.typ.fieldName()), c.nullable)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// optsJSON is _pico_table.opts.
func (t *table) optsJSON() string {
	var opts []string
	if t.unlogged {
		opts = append(opts, `{"unlogged":[true]}`)
	}
	if b := t.bucketColumn(); b >= 0 {
		for _, p := range t.pk {
			if p == b {
				opts = append(opts, `{"pk_contains_bucket_id":[true]}`)
			}
		}
	}
	return "[" + strings.Join(opts, ",") + "]"
}
