package wire

import (
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// A result counts as complete if its last row was given to the caller, whether or not he asked
// for another one: QueryRow doesn't.
func TestCompleteMeansNoRowWasLeft(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	cfg.Options.StatementCacheThreshold = 1
	c := dialNode(t, cfg, cluster.Node("i1"))
	mustExec(t, c, "create table cm (id int primary key) distributed globally")
	mustExec(t, c, "insert into cm values (1), (2), (3)")
	read := func(taken int, sql string, args ...any) bool {
		t.Helper()
		rows, err := c.Query(bg, sql, checked(t, args...))
		if err != nil {
			t.Fatal(err)
		}
		for range taken {
			if err := rows.Next(make([]driver.Value, 1)); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		if rows.Complete() {
			t.Error("complete before Close")
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		return rows.Complete()
	}
	for have := range 4 {
		for taken := range 5 {
			want := taken > 0 && taken >= have
			if got := read(taken, fmt.Sprintf("select id from cm where id <= %d", have)); got != want {
				t.Errorf("simple, %d of %d rows: %v", taken, have, got)
			}
			for use := range 3 { // unnamed, being named, named
				if got := read(taken, "select id from cm where id <= $1", have); got != want {
					t.Errorf("use %d, %d of %d rows: %v", use, taken, have, got)
				}
			}
		}
	}
}
