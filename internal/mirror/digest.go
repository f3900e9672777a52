package mirror

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"time"
)

// digest is a result in twenty bytes or so. Rows are added up whatever their order is: without ORDER BY
// a distributed database gives them in another one each time, with it rows that are equal by it.
type digest struct {
	hash maphash.Hash
	rows uint64
	sum  uint64
}

func (d *digest) init(seed maphash.Seed) { d.hash.SetSeed(seed) }

// row adds a row as the driver delivers it.
func (d *digest) row(values []driver.Value) {
	d.hash.Reset()
	for _, v := range values {
		d.value(v)
	}
	d.rows++
	d.sum += mix(d.hash.Sum64())
}

// value adds a value with its type: 1 and "1" are different results. Lengths keep neighbours apart.
func (d *digest) value(v driver.Value) {
	switch v := v.(type) {
	case nil:
		_ = d.hash.WriteByte('n')
	case int64:
		d.number('i', uint64(v))
	case float64:
		if v != v {
			v = math.NaN() // all NaNs are one
		}
		d.number('f', math.Float64bits(v))
	case bool:
		b := byte('0')
		if v {
			b = '1'
		}
		_ = d.hash.WriteByte(b)
	case string:
		d.number('s', uint64(len(v)))
		_, _ = d.hash.WriteString(v)
	case []byte:
		d.number('b', uint64(len(v)))
		_, _ = d.hash.Write(v)
	case time.Time:
		d.number('t', uint64(v.Unix()))
		d.number('t', uint64(v.Nanosecond()))
	default:
		// Not a value that the wire gives.
		_, _ = fmt.Fprintf(&d.hash, "%T %v", v, v)
	}
}

func (d *digest) number(tag byte, n uint64) {
	var b [9]byte
	b[0] = tag
	binary.LittleEndian.PutUint64(b[1:], n)
	_, _ = d.hash.Write(b[:]) // a Hash never fails
}
