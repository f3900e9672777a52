package gormpico

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"
)

// Migrator implements gorm.Migrator over _pico_table and _pico_index. What Picodata can't do returns an error that
// says so; constraints other than the primary key and unique indexes are left out of tables.
type Migrator struct{ migrator.Migrator }

var _ gorm.Migrator = Migrator{}

func cannot(what string) error { return fmt.Errorf("gormpico: Picodata can't %s", what) }

// CreateTable creates tables with their indexes.
func (m Migrator) CreateTable(values ...any) error {
	for _, value := range m.ReorderModels(values, false) {
		err := m.RunWithValue(value, func(stmt *gorm.Statement) error {
			text, vars, err := createTable(&m, stmt)
			if err != nil {
				return err
			}
			if err := m.DB.Session(&gorm.Session{}).Exec(text, vars...).Error; err != nil {
				return err
			}
			for _, idx := range stmt.Schema.ParseIndexes() {
				if err := m.CreateIndex(value, idx.Name); err != nil {
					return err
				}
			}
			for _, f := range uniqueFields(stmt.Schema) {
				if err := m.MigrateColumnUnique(value, f, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AutoMigrate creates what is missing: tables, columns, indexes. It changes and drops nothing. What the server can't have is
// refused before anything is created, at the first call and at every later one.
func (m Migrator) AutoMigrate(values ...any) error {
	for _, value := range values {
		if err := m.RunWithValue(value, func(stmt *gorm.Statement) error { return possible(stmt.Schema) }); err != nil {
			return err
		}
	}
	// Foreign keys and checks don't exist; GORM would ask for them.
	inner := m
	inner.DB = m.DB.Session(&gorm.Session{NewDB: true})
	inner.DB.Config = cloneConfig(m.DB.Config)
	inner.DB.DisableForeignKeyConstraintWhenMigrating = true
	return inner.Migrator.AutoMigrate(values...)
}

func cloneConfig(c *gorm.Config) *gorm.Config {
	clone := *c
	return &clone
}

// FullDataTypeOf is a column's type and whether it may be NULL.
func (m Migrator) FullDataTypeOf(f *schema.Field) clause.Expr {
	text := m.DataTypeOf(f)
	if f.NotNull || f.PrimaryKey {
		text += " NOT NULL"
	}
	return clause.Expr{SQL: text}
}

// CurrentDatabase is "": a cluster is one database.
func (m Migrator) CurrentDatabase() string { return "" }

// GetTables names the tables that aren't the system's.
func (m Migrator) GetTables() (names []string, err error) {
	err = m.DB.Raw("SELECT name FROM _pico_table ORDER BY name").Scan(&names).Error
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "_pico_") }), err
}

// HasTable reports whether the table exists.
func (m Migrator) HasTable(value any) bool {
	_, err := m.format(value)
	return err == nil
}

// DropTable drops tables.
func (m Migrator) DropTable(values ...any) error {
	values = m.ReorderModels(values, false)
	for i := len(values) - 1; i >= 0; i-- {
		err := m.RunWithValue(values[i], func(stmt *gorm.Statement) error {
			return m.DB.Session(&gorm.Session{}).Exec("DROP TABLE IF EXISTS ?", m.CurrentTable(stmt)).Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// column is an element of _pico_table.format.
type column struct {
	Name     string `json:"name"`
	Type     string `json:"field_type"`
	Nullable bool   `json:"is_nullable"`
}

var errNoTable = errors.New("gormpico: no such table")

// format reads a table's columns, without bucket_id, which the server adds.
func (m Migrator) format(value any) (columns []column, err error) {
	err = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		var text string
		row := m.DB.Session(&gorm.Session{NewDB: true}).Raw("SELECT format FROM _pico_table WHERE name = ?", stmt.Table).Row()
		if row == nil {
			return errNoTable
		}
		if err := row.Scan(&text); errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %s", errNoTable, stmt.Table)
		} else if err != nil {
			return err
		}
		var all []column
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return fmt.Errorf("gormpico: _pico_table.format of %s: %w", stmt.Table, err)
		}
		for _, c := range all {
			if c.Name != "bucket_id" {
				columns = append(columns, c)
			}
		}
		return nil
	})
	return columns, err
}

// ColumnTypes describes a table's columns.
func (m Migrator) ColumnTypes(value any) ([]gorm.ColumnType, error) {
	columns, err := m.format(value)
	if err != nil {
		return nil, err
	}
	indexes, err := m.GetIndexes(value)
	if err != nil {
		return nil, err
	}
	primary := map[string]bool{}
	for _, idx := range indexes {
		if pk, _ := idx.PrimaryKey(); pk {
			for _, c := range idx.Columns() {
				primary[c] = true
			}
		}
	}
	var list []gorm.ColumnType
	for _, c := range columns {
		list = append(list, migrator.ColumnType{
			NameValue:       sql.NullString{String: c.Name, Valid: true},
			DataTypeValue:   sql.NullString{String: c.Type, Valid: true},
			ColumnTypeValue: sql.NullString{String: c.Type, Valid: true},
			NullableValue:   sql.NullBool{Bool: c.Nullable, Valid: true},
			PrimaryKeyValue: sql.NullBool{Bool: primary[c.Name], Valid: true},
		})
	}
	return list, nil
}

// HasColumn reports whether the table has the column; field is its name or the field's.
func (m Migrator) HasColumn(value any, field string) bool {
	columns, err := m.format(value)
	if err != nil {
		return false
	}
	name := m.columnName(value, field)
	for _, c := range columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

func (m Migrator) columnName(value any, field string) (name string) {
	name = field
	_ = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		if stmt.Schema != nil {
			if f := stmt.Schema.LookUpField(field); f != nil {
				name = f.DBName
			}
		}
		return nil
	})
	return name
}

// AddColumn adds a column; it may be NULL whatever the model says, for existing rows have no value.
func (m Migrator) AddColumn(value any, field string) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		f, err := fieldOf(stmt, field)
		if err != nil {
			return err
		}
		return m.DB.Session(&gorm.Session{}).Exec("ALTER TABLE ? ADD COLUMN ? ?",
			m.CurrentTable(stmt), clause.Column{Name: f.DBName}, clause.Expr{SQL: m.DataTypeOf(f)}).Error
	})
}

func fieldOf(stmt *gorm.Statement, name string) (*schema.Field, error) {
	if stmt.Schema == nil {
		return nil, errors.New("gormpico: the model has no schema")
	}
	f := stmt.Schema.LookUpField(name)
	if f == nil {
		return nil, fmt.Errorf("gormpico: %s has no field %s", stmt.Schema.Name, name)
	}
	return f, nil
}

// MigrateColumn refuses a column of another type than the model's: the server changes no types. Everything else stays as it is.
func (m Migrator) MigrateColumn(_ any, f *schema.Field, have gorm.ColumnType) error {
	if f.IgnoreMigration {
		return nil
	}
	want := strings.ToUpper(m.DataTypeOf(f))
	if storage(want) != storage(strings.ToUpper(have.DatabaseTypeName())) {
		return fmt.Errorf("gormpico: column %s is %s in the cluster and %s in the model, and Picodata changes no column's type: add a column of another name, or make a new table and copy the rows",
			f.DBName, have.DatabaseTypeName(), want)
	}
	return nil
}

// storage is the storage's name for a type of SQL; the two differ, and SQL has synonyms.
func storage(name string) string {
	name, _, _ = strings.Cut(name, "(")
	switch strings.TrimSpace(name) {
	case "INT", "INTEGER", "INT2", "INT4", "INT8", "BIGINT", "SMALLINT", "UNSIGNED":
		return "INTEGER"
	case "TEXT", "VARCHAR", "STRING":
		return "STRING"
	case "BOOL", "BOOLEAN":
		return "BOOLEAN"
	case "DECIMAL", "NUMERIC", "NUMBER":
		return "DECIMAL"
	}
	return strings.TrimSpace(name)
}

// AlterColumn is refused, for the server refuses ALTER TABLE … ALTER COLUMN.
func (m Migrator) AlterColumn(any, string) error {
	return cannot("change a column; add one of another name, or make a new table and copy the rows")
}

// DropColumn is refused, for the server refuses ALTER TABLE … DROP COLUMN.
func (m Migrator) DropColumn(any, string) error {
	return cannot("drop a column; leave it NULL, or make a new table and copy the rows")
}

// MigrateColumnUnique makes the unique index of a field with the tag unique, if it isn't there.
func (m Migrator) MigrateColumnUnique(value any, f *schema.Field, _ gorm.ColumnType) error {
	if !f.Unique || f.PrimaryKey {
		return nil
	}
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		name := m.DB.NamingStrategy.UniqueName(stmt.Table, f.DBName)
		if m.HasIndex(value, name) {
			return nil
		}
		return m.DB.Session(&gorm.Session{}).Exec("CREATE UNIQUE INDEX ? ON ? (?)", clause.Column{Name: name}, m.CurrentTable(stmt), clause.Column{Name: f.DBName}).Error
	})
}

// CreateConstraint is refused.
func (m Migrator) CreateConstraint(any, string) error {
	return cannot("have foreign keys, checks or unique constraints; use a unique index")
}

// DropConstraint is refused.
func (m Migrator) DropConstraint(any, string) error { return cannot("have constraints") }

// HasConstraint is false.
func (m Migrator) HasConstraint(any, string) bool { return false }

// CreateView is refused.
func (m Migrator) CreateView(string, gorm.ViewOption) error { return cannot("have views") }

// DropView is refused.
func (m Migrator) DropView(string) error { return cannot("have views") }
