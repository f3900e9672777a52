package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// types-page: What the page about types says of values that come back into any.
func TestTypesAsDocumented(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	for _, tt := range []struct {
		expr string
		arg  any
		want any
	}{
		{"$1::bool", true, true}, {"$1::int", uint8(7), int64(7)}, {"$1::double", float32(0.1), 0.1}, {"$1::decimal", "0.10", "0.10"},
		{"$1::text", []byte("x"), "x"}, {"$1::uuid", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
		{"$1::datetime", time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600)), time.Date(2024, 5, 6, 6, 8, 9, 123456000, time.UTC)},
	} {
		var got any
		if err := db.QueryRow("select "+tt.expr, tt.arg).Scan(&got); err != nil {
			t.Errorf("%s of %v: %v", tt.expr, tt.arg, err)
			continue
		}
		if at, ok := tt.want.(time.Time); ok {
			if g, ok := got.(time.Time); !ok || !g.Equal(at) || g.Location() != time.UTC && g.Format("-07") != "+00" {
				t.Errorf("%s: %v, want %v in UTC", tt.expr, got, at)
			}
			continue
		}
		if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", tt.want, tt.want) {
			t.Errorf("%s: %T %v, want %T %v", tt.expr, got, got, tt.want, tt.want)
		}
	}
	var doc any
	if err := db.QueryRow("select distribution from _pico_table where name = $1", "_pico_table").Scan(&doc); err != nil {
		t.Error(err)
	} else if _, ok := doc.([]byte); !ok {
		t.Errorf("JSON is a %T", doc)
	}
	mustExec(t, db, "create table lists (id int primary key, list int[])")
	mustExec(t, db, "insert into lists values ($1, $2)", 1, []int64{1, 2, 3})
	var list []int64
	var text any
	if err := db.QueryRow("select list from lists where id = $1", 1).Scan(pq.Array(&list)); err != nil || fmt.Sprint(list) != "[1 2 3]" {
		t.Errorf("%v, %v", list, err)
	}
	if err := db.QueryRow("select list from lists where id = $1", 1).Scan(&text); err != nil || fmt.Sprintf("%T %v", text, text) != "string {1,2,3}" {
		t.Errorf("%T %v, %v", text, text, err)
	}
}

// in-lists: picodata.In finds the rows of a list, however long, and none of an empty one.
func TestInLists(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, tenant int)")
	for i := range 10 {
		mustExec(t, db, "insert into t values ($1, $2)", i, i%2)
	}
	for n := range 8 {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i
		}
		list, args := picodata.In(2, ids)
		var count int
		if err := db.QueryRow("select count(*) from t where tenant = $1 and id in "+list, append([]any{0}, args...)...).Scan(&count); err != nil || count != (n+1)/2 {
			t.Errorf("%d ids: %d rows, %v", n, count, err)
		}
	}
}

// column-nullable: Where the driver has read the tables, ColumnTypes says which columns of a plain SELECT may be NULL, and of no other.
func TestColumnTypesTellNullability(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{}, options.WithRouting(options.RoutingKeys))
	mustExec(t, db, "create table n (id int primary key, a text not null, b text)")
	mustExec(t, db, "insert into n values (1, 'x', null)")
	ask := func(query string) string {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, c := range types {
			nullable, known := c.Nullable()
			b.WriteString(map[[2]bool]string{{true, true}: "null ", {false, true}: "not ", {false, false}: "? "}[[2]bool{nullable, known}])
		}
		return strings.TrimSpace(b.String())
	}
	for range 500 { // until the tables are read
		if ask("select * from n") == "not not null" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := ask("select * from n"); got != "not not null" {
		t.Fatal(got)
	}
	for query, want := range map[string]string{
		"select b, a as c, id from n":                  "null not not",
		"select b || 'x' as b, a from n":               "? not",
		"select x.* from n x where x.id = 1":           "not not null",
		"select a from n union all select b from n":    "?",
		"select n.a from n join n as m on n.id = m.id": "?",
	} {
		if got := ask(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
