package engine

import (
	"fmt"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// sourceColumn is a column that a FROM item offers.
type sourceColumn struct {
	name   string
	typ    sqlType
	hidden bool
	sql    string // its name in the SQLite text where that differs: SQLite folds case, and two columns may have one name
	of     string // of an output column: the source that it was taken from as it is
	output bool
	// misdeclared tells that the storage holds another kind of number than it declares.
	misdeclared bool
	// computed tells that an operator or a CASE made it, so that its type is certain.
	computed bool
	// inner is the type for the queries around this one where it isn't what the client is told.
	inner *sqlType
}

// scan is the name that qualifies the column.
func (c sourceColumn) scan(src *source) string {
	if c.output {
		return c.of
	}
	return src.name
}

// ref gives the column's name in the SQLite text.
func (c sourceColumn) ref() string {
	if c.sql != "" {
		return c.sql
	}
	return c.name
}

// source is an item of FROM: a table, a CTE or a subquery.
type source struct {
	name    string // alias or table name, "" for a subquery without an alias
	sqlName string // name in the SQLite text
	columns []sourceColumn
	table   *table // nil for CTEs and subqueries
	// inner is the analysis of a subquery or CTE, for its buckets.
	inner *query
	cte   bool
}

// scope is what names mean inside one SELECT.
type scope struct {
	parent      *scope
	sources     []*source
	ctes        map[string]*cte
	filter      bool   // inside WHERE, ON or HAVING, where volatile functions are refused
	noAggregate string // the clause that is being read, if it takes no aggregates
	core        *core
}

// tableColumns gives a table's columns as a source offers them; in SQLite they're called after their slots.
func tableColumns(t *table) []sourceColumn {
	out := make([]sourceColumn, len(t.columns))
	for i, c := range t.columns {
		out[i] = sourceColumn{name: c.name, typ: c.typ, hidden: c.hidden, sql: fmt.Sprintf("c%d", c.slot)}
	}
	return out
}

type cte struct {
	name    string
	sqlName string
	columns []sourceColumn
	query   *query
}

// boundColumn is what a column reference means.
type boundColumn struct {
	source *source
	index  int
}

func (s *scope) cte(name string) *cte {
	for ; s != nil; s = s.parent {
		if c, ok := s.ctes[name]; ok {
			return c
		}
	}
	return nil
}

// resolve finds a column among the sources of the SELECT that the reference stands in; the SELECTs around it can't be seen.
func (s *scope) resolve(ref *grammar.ColumnRef) (boundColumn, *Error) {
	var found []boundColumn
	for _, src := range s.sources {
		for i, c := range src.columns {
			if c.name == ref.Column.Name && (ref.Table == nil || c.scan(src) == ref.Table.Name) {
				found = append(found, boundColumn{src, i})
			}
		}
	}
	switch {
	case len(found) == 1:
	case len(found) > 1 && found[0].source.columns[found[0].index].hidden:
		// bucket_id is in every sharded table; the first one is meant.
	case len(found) > 1:
		return boundColumn{}, refuse("duplicated value: column name %s is ambiguous", ref.Column.Name)
	case ref.Table != nil:
		return boundColumn{}, refuse("column with name %q and scan Some(%q) not found", ref.Column.Name, ref.Table.Name)
	default:
		return boundColumn{}, refuse("column with name %q not found", ref.Column.Name)
	}
	if c := found[0].source.columns[found[0].index]; c.typ == typeUnknown {
		return boundColumn{}, refuse("reference has unknown type")
	}
	return found[0], nil
}

// shardedSource gives the source whose rows tell where the query runs, nil when it runs where it arrived.
func (s *scope) shardedSource() *source {
	for ; s != nil; s = s.parent {
		for _, src := range s.sources {
			if src.table != nil && !src.table.global {
				return src
			}
		}
	}
	return nil
}
