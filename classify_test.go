package picodata

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lib/pq"
)

func TestErrorLeadsToTheServersWords(t *testing.T) {
	p := &pq.Error{Code: "XX000", Message: `sbroad: box error: ProcLua: {"message":"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Failed to execute '.proc_sql_execute': sbroad: TupleFound: Duplicate key exists in unique index \"i\""}`}
	var err error = fmt.Errorf("wrapped: %w", newError(p, Node{Name: "i1", Address: "h:1"}))
	var got *pq.Error
	if !errors.As(err, &got) || got != p {
		t.Error("the *pq.Error isn't found")
	}
	if !IsUniqueViolation(err) || IsRetryable(err) || IsPermission(err) || IsLimit(err) || IsOutcomeUnknown(err) {
		t.Error("the predicates are wrong")
	}
	if !IsUniqueViolation(p) {
		t.Error("a bare *pq.Error isn't understood")
	}
	want := `wrapped: picodata: TupleFound: Duplicate key exists in unique index "i" (unique violation, SQLSTATE XX000, node i1@h:1, replicaset 27d39d2f-596a-41ba-b726-46f1afe30125)`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}
