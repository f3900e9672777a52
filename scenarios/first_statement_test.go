package scenarios_test

import (
	"testing"
	"time"
)

// first-statement: What a process waits for before its first statement is answered: two logins of two flights each, and three flights
// more: one for all that is read of the cluster, one for the buckets' owners, one for the statement.
func TestFirstStatement(t *testing.T) {
	const flight = time.Millisecond
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{"select 1", nil},
		{"insert into f values ($1, $2)", []any{1, 2}},
		{"select v from f where id = $1", []any{1}},
	} {
		t.Run(s.sql, func(t *testing.T) {
			bubble(t, three, func(t *testing.T, w *world) {
				w.open(nil)
				w.must("create table f (id int primary key, v int)")
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				logins := 0
				for _, n := range w.cluster.Nodes() {
					logins -= n.Counters().Logins
					n.Delay(flight)
				}
				w.open([]string{w.cluster.Node("i2").Addr()})
				begun := time.Now()
				if _, err := readAll(t.Context(), w.DB, s.sql, s.args...); err != nil {
					t.Fatal(err)
				}
				took := time.Since(begun)
				for _, n := range w.cluster.Nodes() {
					logins += n.Counters().Logins
					n.Delay(0)
				}
				if logins != 2 || took != 7*flight {
					t.Errorf("%d logins, %d flights one after the other", logins, took/flight)
				}
			})
		})
	}
}
