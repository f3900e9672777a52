package wire

import (
	"database/sql/driver"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What comes out of a box is what Go's own conversion makes: the same type, equal, fit for a switch, and it stays what it was
// while others are made and the collector runs.
func TestBoxesAreInterfaces(t *testing.T) {
	var b boxes
	var got, want []driver.Value
	for i := range 1000 {
		at := time.Unix(int64(i), 0).UTC()
		text := strings.Repeat("x", i%70) + fmt.Sprint(i)
		got = append(got, b.ints.value(int64(i)), b.floats.value(float64(i)/2), b.strings.value(text), b.times.value(at))
		want = append(want, int64(i), float64(i)/2, strings.Clone(text), at)
		if i%100 == 0 {
			runtime.GC()
		}
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%d: %#v, want %#v", i, got[i], want[i])
		}
		switch v := got[i].(type) {
		case int64, float64, string, time.Time:
		default:
			t.Fatalf("%d is a %T", i, v)
		}
	}
}

// A value of a long result costs an allocation with many others; of a result of one row it costs what it always did.
func TestBoxesAllocate(t *testing.T) {
	body := []byte("\x00\x03\x00\x00\x00\x051234\x35\x00\x00\x00\x04name\x00\x00\x00\x041e-3")
	reads := []decoder{textInt, textString, textNumber}
	dest := make([]driver.Value, 3)
	for _, c := range []struct {
		boxes *boxes
		most  float64
	}{{nil, 4}, {new(boxes), 1.5}} { // the number's plain form is a text of its own
		texts := arena{boxes: c.boxes}
		if n := testing.AllocsPerRun(1000, func() {
			if _, _, err := decodeRow(body, reads, dest, &texts); err != nil {
				t.Fatal(err)
			}
		}); n > c.most {
			t.Errorf("%v allocations, want %v at most", n, c.most)
		}
		if dest[0] != int64(12345) || dest[1] != "name" || dest[2] != "0.001" {
			t.Errorf("%#v", dest)
		}
	}
}
