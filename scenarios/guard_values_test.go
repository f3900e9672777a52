package scenarios_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// guard-stored: What a program stores is what it reads, in whatever order numbers with and without a fraction come; with the guard off the
// server keeps the plan of the first.
func TestFloatsAreStoredAsTheyAre(t *testing.T) {
	numbers := []any{7.0, 7.75, math.Inf(1), -2.0, math.Inf(-1), 0.5, 8, 1e18, -1e-300, "7.25", 7, "1e-3", "9"}
	for _, on := range []bool{true, false} {
		_, db, _ := startDB(t, picotest.Config{}, options.WithFloatGuard(on))
		mustExec(t, db, "create table t (id int primary key, d double)")
		mustExec(t, db, "insert into t values (1, 0.5)")
		wrong := 0
		for range 2 {
			for _, v := range numbers {
				mustExec(t, db, "update t set d = $1 where id = 1", v)
				f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
				if err != nil {
					t.Fatal(err)
				}
				var got float64
				if err := db.QueryRow("select d from t where id = 1").Scan(&got); err != nil || got != f {
					if wrong++; on {
						t.Errorf("%v came back as %v, %v", f, got, err)
					}
				}
			}
		}
		if !on && wrong == 0 {
			t.Error("with the guard off nothing went wrong: this cluster doesn't show what it is for")
		}
	}
}

// guard-bulk: The same for INSERTs of many rows, into sharded tables, which share one text, and into global ones.
func TestFloatsOfManyRowsAreStoredAsTheyAre(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table s (id int primary key, d double)")
	mustExec(t, db, "create table g (id int primary key, d double) distributed globally")
	for _, table := range []string{"s", "g"} {
		id := 0
		for round := range 6 {
			text, args := "insert into "+table+" values ", []any(nil)
			for i := range 8 {
				if i > 0 {
					text += ", "
				}
				text += fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2)
				f := float64(id)
				if (i+round)%3 == 0 && round > 0 {
					f += 0.25
				}
				args = append(args, id, f)
				id++
			}
			mustExec(t, db, text, args...)
		}
		rows, err := db.Query("select id, d from " + table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			var id int
			var d float64
			if err := rows.Scan(&id, &d); err != nil {
				t.Fatal(err)
			}
			want := float64(id)
			if (id%8+id/8)%3 == 0 && id/8 > 0 {
				want += 0.25
			}
			if n++; d != want {
				t.Errorf("%s: row %d holds %v, want %v", table, id, d, want)
			}
		}
		if err := rows.Err(); err != nil || n != id {
			t.Errorf("%d rows, %v", n, err)
		}
	}
}
