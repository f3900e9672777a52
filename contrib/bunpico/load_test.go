package bunpico

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// TestLoad: rows reach their owners, nothing is passed on, and bun reads what it would have written.
func TestLoad(t *testing.T) {
	c, db := start(t, "")
	ctx := t.Context()
	if err := CreateTable(ctx, db, (*city)(nil), Placement{By: []string{"id"}}, nil); err != nil {
		t.Fatal(err)
	}
	mayor := "O'Neil \\ x"
	cities := make([]city, 100)
	for i := range cities {
		cities[i] = city{ID: int64(i + 1), Name: fmt.Sprint("city ", i), Area: float64(i) + 0.5, Founded: time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), Tags: []string{"a'b", `c"d`}, Raw: []byte("text"), Capital: i == 0}
		if i%2 == 0 {
			cities[i].Key, cities[i].Mayor = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", &mayor
		}
	}
	c.ResetCounters()
	res, err := Load(ctx, db, cities[:99])
	if err != nil || res.Inserted != 99 || res.Plain != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	nodes := map[string]int{}
	for _, s := range c.Statements(picotest.SQL("INSERT INTO")) {
		if s.ErrText == "" { // what a slow machine makes go to another node is refused there (forward = off)
			nodes[s.Node]++
		}
		if s.Hops > 0 {
			t.Errorf("passed on: %s", s.SQL)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("INSERTs by node: %v", nodes)
	}
	if _, err := db.NewInsert().Model(&cities[99]).Exec(ctx); err != nil { // as bun writes it
		t.Fatal(err)
	}
	var got []city
	if err := db.NewSelect().Model(&got).Order("id").Scan(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Founded = got[i].Founded.UTC()
	}
	if !reflect.DeepEqual(got, cities) {
		t.Errorf("%+v\nwant %+v", got[:2], cities[:2])
	}
	if _, err := Load(ctx, db, []*city{nil}); err == nil || !strings.Contains(err.Error(), "row 0: it is nil") {
		t.Error(err)
	}
	if _, err := Load(ctx, db, []int{1}); err == nil || !strings.Contains(err.Error(), "want a model's struct") {
		t.Error(err)
	}
	if res, err := Load(ctx, db, []*city{{ID: 500, Name: "x", Founded: time.Unix(0, 0)}}); err != nil || res.Inserted != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}
