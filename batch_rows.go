package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"
)

// buffered is an answer in memory. It is its own driver, so that what reads it is an ordinary *sql.Rows, with the
// conversions of database/sql and whatever reads that type.
type buffered struct {
	columns []string
	types   []string
	rows    [][]driver.Value
	at      int
}

var (
	_ driver.Rows                           = (*buffered)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*buffered)(nil)
	_ driver.QueryerContext                 = memory{}
	_ driver.NamedValueChecker              = memory{}
)

func (b *buffered) Columns() []string                       { return b.columns }
func (b *buffered) ColumnTypeDatabaseTypeName(i int) string { return b.types[i] }
func (b *buffered) Close() error                            { return nil }
func (b *buffered) Next(dest []driver.Value) error {
	if b.at == len(b.rows) {
		return io.EOF
	}
	copy(dest, b.rows[b.at])
	b.at++
	return nil
}

// memory is a driver whose one statement is "give back the argument".
type memory struct{}

var errMemory = errors.New("picodata: only buffered rows are read here")

func (memory) Connect(context.Context) (driver.Conn, error) { return memory{}, nil }
func (memory) Driver() driver.Driver                        { return memory{} }
func (memory) Open(string) (driver.Conn, error)             { return memory{}, nil }
func (memory) Prepare(string) (driver.Stmt, error)          { return nil, errMemory }
func (memory) Begin() (driver.Tx, error)                    { return nil, errMemory }
func (memory) Close() error                                 { return nil }
func (memory) CheckNamedValue(*driver.NamedValue) error     { return nil }
func (memory) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 1 {
		if b, ok := args[0].Value.(*buffered); ok {
			return b, nil
		}
	}
	return nil, errMemory
}

// Collect reads all rows of an answer into a slice: each row's one column into a T, or its columns, in their order,
// into the exported fields of a struct T that is neither a sql.Scanner nor a time.Time. It closes the rows.
//
//	names, err := picodata.Collect[string](item.Rows())
//	cities, err := picodata.Collect[City](db.Query(`SELECT id, name FROM cities`))
func Collect[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(reflect.TypeFor[T](), columns)
	if err != nil {
		return nil, err
	}
	var all []T
	into := make([]any, len(columns))
	for rows.Next() {
		var row T
		if fields == nil {
			into[0] = &row
		} else {
			v := reflect.ValueOf(&row).Elem()
			for i, f := range fields {
				into[i] = v.Field(f).Addr().Interface()
			}
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// fieldsOf are the fields of a struct that take the columns; nil: the type takes one column as a whole.
func fieldsOf(t reflect.Type, columns []string) ([]int, error) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]()) || t == reflect.TypeFor[time.Time]() {
		if len(columns) != 1 {
			return nil, fmt.Errorf("picodata: Collect[%v] takes one column a row, the answer has %d: use a struct", t, len(columns))
		}
		return nil, nil
	}
	var fields []int
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			fields = append(fields, i)
		}
	}
	if len(fields) != len(columns) {
		return nil, fmt.Errorf("picodata: Collect[%v]: %d exported fields, the answer has %d columns", t, len(fields), len(columns))
	}
	return fields, nil
}
