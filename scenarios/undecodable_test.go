package scenarios_test

import (
	"errors"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What the client can't decode is the statement's fault: it runs once, its error names the column, no node is ejected
// and no connection is lost.
func TestUndecodableValue(t *testing.T) {
	bubble(t, two, func(t *testing.T, w *world) {
		w.open(nil, options.WithEjectionFailureThreshold(1))
		w.must("select 1")
		value := "18446744073709551615"
		row := append([]byte{'D', 0, 0, 0, byte(4 + 2 + 4 + len(value)), 0, 1, 0, 0, 0, byte(len(value))}, value...)
		for _, n := range w.cluster.Nodes() {
			n.Inject(picotest.AfterRows(1), picotest.Raw(row), picotest.SQL("select 44")).Times(-1)
		}
		for range 10 {
			rows, err := w.Query("select 44")
			if err != nil {
				t.Fatal(err)
			}
			good := 0
			for rows.Next() {
				good++
			}
			var d *picodata.DecodeError
			if err := rows.Err(); !errors.As(err, &d) || d.Column != 1 || d.Type != "INT8" || d.Length != len(value) || strings.Contains(err.Error(), value) {
				t.Fatalf("%d rows, then %v", good, err)
			}
			rows.Close()
		}
		if ran := len(w.cluster.Statements(picotest.SQL("select 44"))); ran != 10 {
			t.Errorf("10 statements ran %d times", ran)
		}
		for _, n := range w.c.Stats().Nodes {
			if n.Ejections != 0 || n.Lost != 0 {
				t.Errorf("%+v", n)
			}
		}
	})
}

// A value that is, word for word, what a server says when it refuses a statement before running it: the UPDATE that
// fails at it is run once and is no candidate for another run.
func TestValueThatReadsLikeARefusal(t *testing.T) {
	_, db, _ := startDB(t, two)
	mustExec(t, db, "create table t (id int primary key, n int, s text) distributed by (id)")
	for i := range 20 {
		mustExec(t, db, "insert into t values ($1, 0, '0')", i)
	}
	for _, s := range []string{"Couldn't find statement", "Couldn't find statement 'x'.", "Statement storage is full. Current size limit: 1.", "Readonly: Can't modify data on a read-only instance", "Timeout exceeded", "TupleFound: x"} {
		mustExec(t, db, "update t set n = 0, s = $1 where id = 7", s)
		_, err := db.Exec("update t set n = n + 1 + cast(s as int)")
		if err == nil || picodata.IsRetryable(err) || picodata.IsUniqueViolation(err) || picodata.IsOutcomeUnknown(err) {
			t.Fatalf("%q: %v", s, err)
		}
		var most int
		if err := db.QueryRow("select max(n) from t").Scan(&most); err != nil || most > 1 {
			t.Errorf("%q: n is %d: the statement ran more than once (%v)", s, most, err)
		}
		mustExec(t, db, "update t set n = 0, s = '0'")
	}
}
