package gormpico

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/migrator"
)

// CreateIndex creates an index of the model, by its name or its field's.
func (m Migrator) CreateIndex(value any, name string) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		if stmt.Schema == nil {
			return fmt.Errorf("gormpico: no model for index %s", name)
		}
		idx := stmt.Schema.LookIndex(name)
		if idx == nil {
			return fmt.Errorf("gormpico: %s has no index %s", stmt.Schema.Name, name)
		}
		if idx.Where != "" {
			return cannot("have partial indexes")
		}
		var columns []string
		for _, f := range idx.Fields {
			if f.Expression != "" {
				return cannot("index an expression")
			}
			columns = append(columns, stmt.Quote(f.DBName))
		}
		unique := ""
		if strings.EqualFold(idx.Class, "UNIQUE") {
			unique = "UNIQUE "
		}
		using := ""
		if idx.Type != "" {
			using = " USING " + idx.Type
		}
		return m.DB.Session(&gorm.Session{}).Exec("CREATE "+unique+"INDEX ? ON ?"+using+" ("+strings.Join(columns, ", ")+")",
			clause.Column{Name: idx.Name}, m.CurrentTable(stmt)).Error
	})
}

// DropIndex drops an index, by its name or its field's.
func (m Migrator) DropIndex(value any, name string) error {
	return m.DB.Session(&gorm.Session{}).Exec("DROP INDEX ?", clause.Column{Name: m.indexName(value, name)}).Error
}

// RenameIndex renames an index.
func (m Migrator) RenameIndex(_ any, oldName, newName string) error {
	return m.DB.Session(&gorm.Session{}).Exec("ALTER INDEX ? RENAME TO ?", clause.Column{Name: oldName}, clause.Column{Name: newName}).Error
}

// HasIndex reports whether the index exists, by its name or its field's.
func (m Migrator) HasIndex(value any, name string) bool {
	indexes, err := m.GetIndexes(value)
	if err != nil {
		return false
	}
	want := m.indexName(value, name)
	for _, idx := range indexes {
		if idx.Name() == want {
			return true
		}
	}
	return false
}

func (m Migrator) indexName(value any, name string) (found string) {
	found = name
	_ = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		if stmt.Schema != nil {
			if idx := stmt.Schema.LookIndex(name); idx != nil {
				found = idx.Name
			}
		}
		return nil
	})
	return found
}

// GetIndexes describes a table's indexes; the first is the primary key.
func (m Migrator) GetIndexes(value any) (list []gorm.Index, err error) {
	err = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		rows, err := m.DB.Session(&gorm.Session{NewDB: true}).Raw(`SELECT i.id, i.name, i.opts, i.parts FROM _pico_index AS i
			INNER JOIN _pico_table AS t ON t.id = i.table_id WHERE t.name = ? ORDER BY i.id`, stmt.Table).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var (
				id          int64
				name        string
				opts, parts string
			)
			if err := rows.Scan(&id, &name, &opts, &parts); err != nil {
				return err
			}
			var flags []map[string]any
			var fields [][]any
			if err := json.Unmarshal([]byte(opts), &flags); err != nil {
				return fmt.Errorf("gormpico: _pico_index.opts of %s: %w", name, err)
			}
			if err := json.Unmarshal([]byte(parts), &fields); err != nil {
				return fmt.Errorf("gormpico: _pico_index.parts of %s: %w", name, err)
			}
			idx := migrator.Index{TableName: stmt.Table, NameValue: name, PrimaryKeyValue: sql.NullBool{Bool: id == 0, Valid: true}}
			for _, f := range flags {
				if unique, ok := f["unique"].(bool); ok {
					idx.UniqueValue = sql.NullBool{Bool: unique, Valid: true}
				}
			}
			for _, f := range fields {
				if len(f) > 0 {
					if column, ok := f[0].(string); ok && column != "bucket_id" {
						idx.ColumnList = append(idx.ColumnList, column)
					}
				}
			}
			list = append(list, idx)
		}
		return rows.Err()
	})
	return list, err
}
