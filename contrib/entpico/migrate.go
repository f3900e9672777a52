package entpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
)

// Create makes the tables and indexes that aren't there; it is client.Schema.Create for Picodata, which has none of the catalogs that ent and
// Atlas ask. Tables that are there are left as they are: add columns by goose. What the server can't have (unique columns that don't begin with the sharding key, checks,
// defaults, foreign keys between tables) fails before anything is made. A table is sharded by its primary key.
func Create(ctx context.Context, db *sql.DB, tables ...*schema.Table) error {
	var statements []string
	for _, t := range tables {
		list, err := createTable(t)
		if err != nil {
			return fmt.Errorf("entpico: %s: %w", t.Name, err)
		}
		statements = append(statements, list...)
	}
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quotes(columns []*schema.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = quote(c.Name)
	}
	return "(" + strings.Join(list, ", ") + ")"
}

func createTable(t *schema.Table) ([]string, error) {
	switch {
	case t.View:
		return nil, errors.New("views: Picodata has none")
	case len(t.PrimaryKey) == 0:
		return nil, errors.New("no primary key, and Picodata has no table without one")
	case len(t.ForeignKeys) > 0:
		return nil, errors.New("foreign keys: Picodata has none; keep the id of the other entity in a field instead of an edge")
	case t.Annotation != nil && (t.Annotation.Check != "" || len(t.Annotation.Checks) > 0):
		return nil, errors.New("checks: Picodata has none; use ent's validators")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (", quote(t.Name))
	for _, c := range t.Columns {
		kind, err := typeOf(c)
		if err != nil {
			return nil, err
		}
		if c.Default != nil {
			return nil, fmt.Errorf("%s: Picodata has no DEFAULT; use Default without an annotation, which ent fills in", c.Name)
		}
		if c.Unique && !slices.Contains(t.PrimaryKey, c) {
			return nil, fmt.Errorf("%s: a unique index of a sharded table must begin with the whole sharding key %s", c.Name, quotes(t.PrimaryKey))
		}
		fmt.Fprintf(&b, "%s %s", quote(c.Name), kind)
		if !c.Nullable {
			b.WriteString(" NOT NULL")
		}
		b.WriteString(", ")
	}
	fmt.Fprintf(&b, "PRIMARY KEY %s) DISTRIBUTED BY %s", quotes(t.PrimaryKey), quotes(t.PrimaryKey))
	list := []string{b.String()}
	for _, idx := range t.Indexes {
		unique := ""
		if idx.Unique {
			unique = "UNIQUE "
			if key := t.PrimaryKey; len(idx.Columns) < len(key) || !slices.Equal(idx.Columns[:len(key)], key) {
				return nil, fmt.Errorf("index %s: a unique index of a sharded table must begin with the whole sharding key %s", idx.Name, quotes(key))
			}
		}
		list = append(list, fmt.Sprintf("CREATE %sINDEX IF NOT EXISTS %s ON %s %s", unique, quote(idx.Name), quote(t.Name), quotes(idx.Columns)))
	}
	return list, nil
}

// typeOf is a column's type. JSON goes into TEXT: a column of JSON takes no value from a client.
func typeOf(c *schema.Column) (string, error) {
	if own := c.SchemaType[dialect.Postgres]; own != "" {
		return own, nil
	}
	switch t := c.Type; {
	case t == field.TypeBool:
		return "BOOLEAN", nil
	case t == field.TypeTime:
		return "DATETIME", nil
	case t == field.TypeUUID:
		return "UUID", nil
	case t.Float():
		return "DOUBLE", nil
	case t.Integer():
		return "INTEGER", nil
	case t == field.TypeString, t == field.TypeEnum, t == field.TypeJSON:
		return "TEXT", nil
	}
	return "", fmt.Errorf("%s: Picodata has no type for %s; give one with SchemaType(map[string]string{dialect.Postgres: …})", c.Name, c.Type)
}
