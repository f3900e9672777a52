package picodata

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// TestBatchItemScan: what a statement's answer is scanned into is what database/sql would have scanned it into, errors included.
func TestBatchItemScan(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	values := []driver.Value{nil, int64(5), int64(math.MinInt64), 1.5, math.Inf(1), true, "text", "7", []byte("bytes"), []byte{}, now}
	type word string
	dests := []func() any{
		func() any { return new(string) }, func() any { return new(int) }, func() any { return new(int8) }, func() any { return new(int64) },
		func() any { return new(float64) }, func() any { return new(bool) }, func() any { return new([]byte) }, func() any { return new(any) },
		func() any { return new(time.Time) }, func() any { return new(*string) }, func() any { return new(sql.NullString) }, func() any { return new(word) },
		func() any { return "no pointer" },
	}
	for _, v := range values {
		for _, d := range dests {
			it := &BatchItem{}
			it.it.Columns, it.it.Types, it.it.Rows = []string{"a", "b"}, []uint32{25, 25}, [][]driver.Value{{v, "z"}}
			var z, alsoZ string
			got, want := d(), d()
			err := it.Scan(got, &z)
			rows, rowsErr := it.Rows()
			if rowsErr != nil {
				t.Fatal(rowsErr)
			}
			rows.Next()
			wantErr := rows.Scan(want, &alsoZ)
			rows.Close()
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) || z != alsoZ {
				t.Errorf("%T %v into %T: %v, %v; want %v, %v", v, v, got, got, err, want, wantErr)
			}
			if b, ok := got.(*[]byte); ok && len(*b) > 0 {
				(*b)[0]++ // the answer stays as it is
				if again := new([]byte); it.Scan(again, &z) != nil || reflect.DeepEqual(*again, *b) {
					t.Errorf("%T is shared", v)
				}
			}
		}
	}
	it := &BatchItem{}
	it.it.Columns, it.it.Types, it.it.Rows = []string{"a"}, []uint32{25}, [][]driver.Value{{"z"}}
	var s string
	if err := it.Scan(&s, &s); err == nil {
		t.Error("two destinations for one column")
	}
	if n := testing.AllocsPerRun(100, func() { _ = it.Scan(&s) }); n > 1 {
		t.Errorf("%v allocations for a text", n)
	}
}
