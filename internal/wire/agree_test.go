package wire

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
)

// describeColumn makes the RowDescription of one column.
func describeColumn(oid uint32) string {
	b := []byte("\x00\x01c\x00\x00\x00\x00\x00\x00\x00")
	b = binary.BigEndian.AppendUint32(b, oid)
	return frame('T', string(append(b, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0)))
}

// rowOf makes a DataRow of one value.
func rowOf(value []byte) string {
	b := []byte{0, 1}
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return frame('D', string(append(b, value...)))
}

// columnTypes are all types that Picodata reports, and some of PostgreSQL's.
var columnTypes = []uint32{20, 25, 16, 701, 1700, 2950, 114, 1184, 1016, 1009, 705, 21, 23, 700, 1043, 3802, 17, 1114, 1082, 19, 1083, 1266}

// libpqDecodes has lib/pq by itself read the first row of an answer, and makes of it what this package gives.
func libpqDecodes(t *testing.T, answer []byte, oid uint32, prepare bool) (v driver.Value, ok bool) {
	defer func() {
		if recover() != nil {
			v, ok = nil, false
		}
	}()
	connector, err := pq.NewConnectorConfig(pq.Config{User: "u", Host: "h", SSLMode: pq.SSLModeDisable, BinaryParameters: true, Passfile: "\x00"})
	if err != nil {
		t.Fatal(err)
	}
	connector.Dialer(cannedDialer{canned{bytes.NewReader(answer)}})
	conn, err := connector.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}
	var rows driver.Rows
	if prepare {
		st, err := conn.(driver.ConnPrepareContext).PrepareContext(bg, "select $1")
		if err != nil {
			t.Fatal(err)
		}
		rows, err = st.(driver.StmtQueryContext).QueryContext(bg, args)
		if err != nil {
			t.Fatal(err)
		}
	} else if rows, err = conn.(driver.QueryerContext).QueryContext(bg, "select $1", args); err != nil {
		t.Fatal(err)
	}
	dest := make([]driver.Value, 1)
	if rows.Next(dest) != nil {
		return nil, false
	}
	switch v := dest[0].(type) {
	case []byte:
		switch oid {
		case 114, 3802, 17:
			return v, true
		case 1700:
			return plainDecimal(string(v)), true
		}
		return string(v), true
	case time.Time:
		return v.UTC(), true
	}
	return dest[0], true
}

type cannedDialer struct{ canned }

func (d cannedDialer) Dial(string, string) (net.Conn, error) { return d.canned, nil }
func (d cannedDialer) DialTimeout(string, string, time.Duration) (net.Conn, error) {
	return d.canned, nil
}

// Rows are decoded here, not by lib/pq: both must agree on every value, in text and in binary, and on what is no
// value, wherever the row stands.
func FuzzRowsAgree(f *testing.F) {
	for i, text := range []string{"-12", "text", "t", "1.5e3", "12.50", "f47ac10b-58cc-4372-a567-0e02b2c3d479", `{"a":1}`, "2024-01-02 03:04:05.123+03:30", "{1,2}", `{"a"}`, "x", "7", "8"} {
		f.Add(uint8(i), []byte(text))
	}
	f.Add(uint8(0), []byte("\x00\x00\x00\x00\x00\x00\x00\x05"))
	f.Add(uint8(0), []byte("9223372036854775808"))
	f.Add(uint8(0), []byte("+1"))
	f.Add(uint8(20), []byte("24:00:00"))
	f.Add(uint8(21), []byte("24:00:00+01:30"))
	f.Add(uint8(16), []byte(`a\001\\`))
	f.Add(uint8(16), []byte(`\x0a`))
	f.Add(uint8(2), []byte(""))
	f.Add(uint8(7), []byte("infinity"))
	f.Add(uint8(7), []byte("0044-03-15 12:00:00+00 BC"))
	f.Add(uint8(3), []byte("0x1p-2"))
	f.Add(uint8(3), []byte("1_0"))
	f.Add(uint8(7), []byte("2024-99-99 03:04:05+00"))
	f.Add(uint8(7), []byte("2024-01-02 24:00:00+00"))
	f.Add(uint8(18), []byte("2023-02-29"))
	f.Fuzz(func(t *testing.T, typ uint8, value []byte) {
		oid := columnTypes[int(typ)%len(columnTypes)]
		login := frame('R', "\x00\x00\x00\x00") + idle
		rows := rowOf(value) + rowOf(value) + frame('C', "SELECT 2\x00") + idle
		text := frame('1', "") + frame('2', "") + describeColumn(oid) + rows
		named := frame('1', "") + frame('t', "\x00\x01\x00\x00\x00\x00") + describeColumn(oid) + idle + frame('2', "") + rows
		for form, answer := range map[string]string{"text": text, "named": named} {
			c, err := dialCanned([]byte(login + answer))
			if err != nil {
				t.Fatal(err)
			}
			c.stmts.threshold = 1
			if form == "named" {
				if err := c.Prepare(bg, "select $1"); err != nil {
					t.Fatal(err)
				}
			}
			rows, err := c.Query(bg, "select $1", []driver.NamedValue{{Ordinal: 1, Value: int64(1)}})
			if err != nil {
				t.Fatal(err)
			}
			first, second := make([]driver.Value, 1), make([]driver.Value, 1)
			want, ok := libpqDecodes(t, []byte(login+answer), oid, form == "named")
			err = rows.Next(first)
			carried := ok && err != nil && noTime(want, value)
			if (err == nil) != ok && !carried && !errors.Is(err, errBinary) { // lib/pq doesn't look at the length
				t.Fatalf("%s, type %d, %q: lib/pq %v, %v; here %v", form, oid, value, want, ok, err)
			}
			if err != nil {
				if err := rows.Close(); !errors.As(err, new(*DecodeError)) || !c.Usable() {
					t.Fatalf("usable %v: %v", c.Usable(), err)
				}
				continue
			}
			keep(first)
			if !same(first[0], want) {
				t.Fatalf("%s, type %d, %q: %T %v, of lib/pq %T %v", form, oid, value, first[0], first[0], want, want)
			}
			if err := rows.Next(second); err != nil {
				t.Fatalf("%s, type %d, %q: %v, then %v", form, oid, value, first[0], err)
			}
			if !same(first[0], second[0]) {
				t.Fatalf("%s, type %d, %q: %T %v, then %T %v", form, oid, value, first[0], first[0], second[0], second[0])
			}
			if err := rows.Close(); err != nil || !c.Usable() {
				t.Fatalf("usable %v: %v", c.Usable(), err)
			}
		}
	})
}

// noTime tells whether lib/pq made a time of a text that is none, by carrying over: the 99th of a month.
func noTime(v driver.Value, text []byte) bool {
	if _, ok := v.(time.Time); !ok {
		return false
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.DateTime + "Z07", time.DateTime + "Z07:00", time.DateTime + "Z07:00:00"} {
		if _, err := time.Parse(layout, string(text)); err == nil {
			return false
		}
	}
	return true
}

// keep copies bytes that are valid until the next row only.
func keep(row []driver.Value) {
	for i, v := range row {
		if b, ok := v.([]byte); ok {
			row[i] = append([]byte{}, b...)
		}
	}
}

// same is equality, also of NaNs and of no bytes.
func same(a, b driver.Value) bool {
	p, ok := a.([]byte)
	q, ok2 := b.([]byte)
	if ok && ok2 {
		return bytes.Equal(p, q)
	}
	x, isFloat := a.(float64)
	y, isFloat2 := b.(float64)
	return isFloat && isFloat2 && math.IsNaN(x) && math.IsNaN(y) || reflect.DeepEqual(a, b)
}

// Strings of an arena are themselves for good, whatever is added later.
func TestArena(t *testing.T) {
	var a arena
	var got, want []string
	for i := range 2000 {
		s := strings.Repeat(string(rune('a'+i%26)), i%150)
		b := []byte(s)
		got, want = append(got, a.string(b)), append(want, s)
		for j := range b {
			b[j] = '?'
		}
	}
	if !slices.Equal(got, want) {
		t.Fatal("a string changed")
	}
	var few arena
	b := []byte("some name")
	if n := testing.AllocsPerRun(1000, func() { few.string(b) }); n > 0.1 {
		t.Fatalf("%v allocations a text", n)
	}
}
