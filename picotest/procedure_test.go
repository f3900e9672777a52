package picotest_test

import (
	"fmt"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestProcedure: the parameters in a procedure's body are its own, not those of the statement that makes it.
func TestProcedure(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	for _, sql := range []string{
		"create table t (id int primary key, v int) distributed by (id)",
		"create procedure p(int, int) language sql as $$insert into t values ($1::int, $2::int)$$",
		"call p(55, 1)",
	} {
		if err := sideStatement(c, "admin", "", "i1", sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	conn := session(t, c, "i2", "")
	if _, err := conn.Exec(t.Context(), "call p($1, $2)", 56, 2); err != nil {
		t.Error(err)
	}
	if rows, err := c.Query("select id, v from t order by id"); err != nil || fmt.Sprint(rows) != "[[55 1] [56 2]]" {
		t.Errorf("the procedure wrote %v, %v", rows, err)
	}
}
