package exec

import (
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// ColumnTypeNullable reports whether a column may be NULL. A result doesn't say from where its columns are; known is what the
// text of a SELECT from one table says beyond doubt, where the driver has read the tables anyway: with routing=keys, and the right to.
func (r *Rows) ColumnTypeNullable(i int) (nullable, known bool) {
	if r.nullable == nil {
		r.nullable = nullables(r.text.SQL, r.Columns(), r.x.routing.known.Load())
	}
	if i >= len(r.nullable) || r.nullable[i] == unsaid {
		return false, false
	}
	return r.nullable[i] == mayBeNull, true
}

// nullability is what is known of a column.
type nullability uint8

const (
	unsaid nullability = iota
	notNull
	mayBeNull
)

// nullables are the nullabilities of a result's columns. tables may be nil.
func nullables(sql string, columns []string, tables *map[string]schema.Table) []nullability {
	all := make([]nullability, len(columns))
	if tables == nil {
		return all
	}
	name, list, ok := sqltext.Projection(sql)
	if !ok {
		return all
	}
	table, ok := (*tables)[name]
	if !ok || !table.Operable {
		return all
	}
	at := 0
	say := func(c *schema.Column, as string) {
		if at < len(columns) && c != nil && columns[at] == as {
			if all[at] = notNull; c.Nullable {
				all[at] = mayBeNull
			}
		}
		at++
	}
	for _, p := range list {
		if p.Column != "*" {
			say(columnOf(&table, p.Column), p.Name)
			continue
		}
		for i := range table.Columns {
			if c := &table.Columns[i]; c.Name != "bucket_id" || table.Distribution != schema.ShardedByKey {
				say(c, c.Name)
			}
		}
	}
	if at != len(columns) {
		clear(all) // the table is another one by now
	}
	return all
}

func columnOf(t *schema.Table, name string) *schema.Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}
