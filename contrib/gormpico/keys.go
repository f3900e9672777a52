package gormpico

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

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
			return fmt.Errorf("gormpico: %s.%s is zero, and %d bits are too few for a key made by the client: use int64, or give the key",
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

// renewKey gives the statement's one row another key.
func (d *Dialector) renewKey(stmt *gorm.Statement) error {
	field, row := stmt.Schema.PrioritizedPrimaryField, stmt.ReflectValue
	if row.Kind() != reflect.Struct {
		row = reflect.Indirect(row.Index(0))
	}
	key, err := d.config.NewKey(field)
	if err != nil {
		return fmt.Errorf("gormpico: a key for %s.%s: %w", stmt.Schema.Name, field.Name, err)
	}
	return field.Set(stmt.Context, row, key)
}

func isUUID(f *schema.Field) bool { return strings.EqualFold(string(f.DataType), "uuid") }

// keyEpoch is where the time in integer keys begins: 2024-01-01 UTC, in milliseconds.
const keyEpoch = 1_704_067_200_000

// sequenceBits are the low bits of an integer key; 41 bits of milliseconds above them last until 2093.
const sequenceBits = 12

// timeKeys makes keys that grow with time. Integers have 53 bits, which JavaScript's numbers hold exactly: 41 bits of milliseconds and
// a 12-bit sequence that begins at random in each millisecond, so that processes that know nothing of each other seldom
// meet. If they do, the INSERT of a single row is tried again with another key.
type timeKeys struct {
	now func() time.Time

	mu   sync.Mutex
	last int64
}

// next is a value for a zero primary key: an int64, or for a uuid a UUID of version 7.
func (k *timeKeys) next(f *schema.Field) (any, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	ms := k.now().UnixMilli()
	if isUUID(f) {
		b := random
		var stamp [8]byte
		binary.BigEndian.PutUint64(stamp[:], uint64(ms)<<16)
		copy(b[:6], stamp[:6])
		b[6] = b[6]&0x0f | 0x70
		b[8] = b[8]&0x3f | 0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
	}
	key := (ms - keyEpoch) << sequenceBits
	k.mu.Lock()
	defer k.mu.Unlock()
	if key>>sequenceBits > k.last>>sequenceBits {
		// Half of the range at most, so that many rows of one millisecond stay in it.
		k.last = key | int64(binary.BigEndian.Uint16(random[:])&(1<<(sequenceBits-1)-1))
	} else {
		k.last++ // the same millisecond, or a clock that went back
	}
	return k.last, nil
}
