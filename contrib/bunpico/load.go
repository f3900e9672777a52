package bunpico

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	picodata "github.com/picodata/go-picodata"
)

// Load inserts many rows of a model with picodata.Insert: each goes straight to the leader that owns it, many to a statement, each statement all or
// nothing. NewInsert and InsertBatches write values into the text, which nobody but the server can split over owners. T is the model's struct, or a pointer to it.
// Hooks of the model don't run, and no key is filled in. What the options and the result say stands at picodata.Insert.
func Load[T any](ctx context.Context, db *bun.DB, rows []T, opts ...picodata.InsertOption) (picodata.InsertResult, error) {
	typ := reflect.TypeFor[T]()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return picodata.InsertResult{}, fmt.Errorf("bunpico: Load of %v: want a model's struct", typ)
	}
	table := db.Table(typ)
	columns := make([]string, len(table.Fields))
	for i, f := range table.Fields {
		columns[i] = f.Name
	}
	var broken error
	result, err := picodata.Insert(ctx, db.DB, table.Name, columns, func(yield func([]any) bool) {
		for n := range rows {
			var values []any
			if values, broken = arguments(table.Fields, reflect.ValueOf(&rows[n]).Elem()); broken != nil {
				broken = fmt.Errorf("bunpico: Load: row %d: %w", n, broken)
				return
			}
			if !yield(values) {
				return
			}
		}
	}, opts...)
	if err == nil {
		err = broken
	}
	return result, err
}

// arguments are a row's values as parameters: what bun would write into the text.
func arguments(fields []*schema.Field, row reflect.Value) ([]any, error) {
	if row = reflect.Indirect(row); !row.IsValid() {
		return nil, errors.New("it is nil")
	}
	values := make([]any, len(fields))
	for i, f := range fields {
		v := f.Value(row)
		if v.Kind() == reflect.Pointer && v.IsNil() || f.NullZero && f.HasZeroValue(row) {
			continue
		}
		var err error
		if values[i], err = argument(v); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return values, nil
}

// argument is one value; what has no type of SQL is a JSON text.
func argument(v reflect.Value) (any, error) {
	switch x := v.Interface().(type) {
	case driver.Valuer, time.Time, []byte, *time.Time, *[]byte:
		return x, nil
	}
	v = reflect.Indirect(v)
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Interface:
		text, err := json.Marshal(v.Interface())
		return string(text), err
	default:
		return v.Interface(), nil
	}
}
