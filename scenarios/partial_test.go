package scenarios_test

import (
	"fmt"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
)

// A write of several replicasets that one of them refuses for good says so, and that it may be applied in part; one that
// is known to touch one bucket doesn't.
func TestRefusedInPart(t *testing.T) {
	_, db, _ := startDB(t, two)
	mustExec(t, db, "create table t (id int primary key, v text) distributed by (id)")
	count := func() (n int) {
		if err := db.QueryRow("select count(*) from t").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustExec(t, db, "insert into t values ($1, $2)", 1, "there already")
	var rows []string
	var args []any
	for i := range 10 {
		rows = append(rows, fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2))
		args = append(args, i+1, "new")
	}
	for _, again := range []bool{false, true} { // by the extended and by the simple protocol
		text, values := "insert into t values "+strings.Join(rows, ", "), args
		if again {
			mustExec(t, db, "delete from t where id > 1")
			for i := range 10 {
				text = strings.Replace(text, rows[i], fmt.Sprintf("(%d, 'new')", i+1), 1)
			}
			values = nil
		}
		_, err := db.Exec(text, values...)
		if !picodata.IsUniqueViolation(err) || picodata.IsOutcomeUnknown(err) || picodata.IsRetryable(err) {
			t.Errorf("got %v", err)
		}
		left := count()
		if left == 1 || left == 10 {
			t.Fatalf("%d rows: the cluster applies such a statement whole or not at all, the test shows nothing", left)
		}
		if !picodata.MayBePartial(err) || !strings.Contains(err.Error(), "possibly partly applied") {
			t.Errorf("%d of 10 rows are there, and %v", left, err)
		}
	}
	for _, refused := range []struct {
		text string
		args []any
	}{
		{"insert into t values ($1, $2)", []any{1, "again"}},     // one row, one bucket
		{"insert into t values (1, 'again')", nil},               // the same, simple
		{"insert into nothing values ($1), ($2)", []any{1, 2}},   // found before anything runs
		{"insrt into t values (1, 'x'), (2, 'y')", nil},          // not even read
		{"select count(*) from t where id = $1", []any{"seven"}}, // a read
	} {
		if _, err := db.Exec(refused.text, refused.args...); err == nil || picodata.MayBePartial(err) {
			t.Errorf("%s: %v", refused.text, err)
		}
	}
}
