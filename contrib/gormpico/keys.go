package gormpico

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// fillKeys gives a zero primary key of an integer or uuid field a value. It reports whether all rows got theirs here.
func (d *Dialector) fillKeys(stmt *gorm.Statement) (fresh bool, err error) {
	if stmt.Schema == nil {
		return false, nil
	}
	field := stmt.Schema.PrioritizedPrimaryField
	if field == nil || !(field.AutoIncrement || isUUID(field)) {
		return false, nil
	}
	fresh = true
	fill := func(row reflect.Value) error {
		if _, zero := field.ValueOf(stmt.Context, row); !zero {
			fresh = false
			return nil
		}
		if field.AutoIncrement && field.Size < 64 {
			return fmt.Errorf("gormpico: %s.%s is zero, and %d bits are too few for a key made at random: use int64, or give the key",
				stmt.Schema.Name, field.Name, field.Size)
		}
		key, err := d.config.NewKey(field)
		if err != nil {
			return fmt.Errorf("gormpico: a key for %s.%s: %w", stmt.Schema.Name, field.Name, err)
		}
		return field.Set(stmt.Context, row, key)
	}
	switch rows := stmt.ReflectValue; rows.Kind() {
	case reflect.Struct:
		err := fill(rows)
		return fresh, err
	case reflect.Slice, reflect.Array:
		for i := range rows.Len() {
			row := reflect.Indirect(rows.Index(i))
			if row.Kind() != reflect.Struct {
				return false, nil // maps: the caller names every column
			}
			if err := fill(row); err != nil {
				return false, err
			}
		}
		return fresh, nil
	}
	return false, nil
}

func isUUID(f *schema.Field) bool { return strings.EqualFold(string(f.DataType), "uuid") }

// randomKey is a positive 63-bit number, or a UUID of version 4. Two of a milliard random numbers are the same with
// a probability of five in a hundred; then the INSERT fails with a duplicate key.
func randomKey(f *schema.Field) (any, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	if !isUUID(f) {
		return int64(binary.BigEndian.Uint64(b[:8])>>1 | 1), nil
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
