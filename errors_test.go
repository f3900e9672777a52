package picodata

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/servererr"
)

// The kinds are servererr's, number by number.
func TestKinds(t *testing.T) {
	for kind, inside := range map[Kind]servererr.Kind{
		KindOther: servererr.Other, KindQuery: servererr.Query, KindParameters: servererr.Parameters, KindUnsupported: servererr.Unsupported,
		KindUniqueViolation: servererr.UniqueViolation, KindPermission: servererr.Permission, KindLimit: servererr.Limit,
		KindCapacity: servererr.Capacity, KindLogin: servererr.Login, KindStale: servererr.Stale, KindLostStatement: servererr.LostStatement,
		KindSchema: servererr.Schema, KindSwitchover: servererr.Switchover, KindRoute: servererr.Route, KindTimeout: servererr.Timeout,
		KindForward: servererr.Forward, KindUnreachable: servererr.Unreachable, KindTableBusy: servererr.TableBusy,
	} {
		if Kind(inside) != kind {
			t.Errorf("%v is %d here and %d there", kind, kind, inside)
		}
	}
	if next := Kind(KindTableBusy + 1); next.String() != "unknown kind" {
		t.Errorf("servererr knows a kind %q that this package doesn't export", next)
	}
}

// Every error of the pool becomes one of this package's, in the same words, and leads to the same causes.
func TestPoolErrorsHavePublicForms(t *testing.T) {
	cause := errors.New("refused")
	dial := &pool.DialError{Filter: "any node", Nodes: []*pool.NodeDialError{{Node: "i1", Address: "h:1", Err: cause}}}
	for _, inside := range []error{
		&pool.AcquireTimeoutError{Filter: "any node", Waited: 5, Nodes: []pool.NodeLoad{{Name: "i1", Busy: 3, Max: 3}}, Waiting: 2, Dial: dial},
		&pool.NoNodeError{Filter: "a leader", Nodes: 3, Ejected: 2},
		dial,
		&pool.LoginError{Node: "i1", Address: "h:1", CoolDown: 5, Err: cause},
	} {
		err := faults{}.Pool(inside)
		if err.Error() != inside.Error() {
			t.Errorf("got  %v\nwant %v", err, inside)
		}
		if errors.Is(err, cause) != errors.Is(inside, cause) {
			t.Errorf("%T: the cause is lost", err)
		}
		var (
			at *AcquireTimeoutError
			nn *NoNodeError
			de *DialError
			ae *AuthError
		)
		if !errors.As(err, &at) && !errors.As(err, &nn) && !errors.As(err, &de) && !errors.As(err, &ae) {
			t.Errorf("%T isn't of this package", err)
		}
		if want := !errors.As(err, &ae); IsRetryable(err) != want {
			t.Errorf("%T: IsRetryable is %v", err, !want)
		}
	}
}

// A statement of unknown outcome says where it was sent and what it was, and is never safe to run again, whatever
// the attempts after it met.
func TestUnknownOutcomeOutweighsItsCauses(t *testing.T) {
	at := &pool.NodeInfo{Name: "i1", Address: "h:1"}
	for _, cause := range []error{
		&AcquireTimeoutError{},
		newError(&pq.Error{Code: "XX000", Message: "Readonly: Can't modify data on a read-only instance"}, Node{}),
	} {
		err := faults{}.Unknown(&exec.Unknown{Node: at, Fingerprint: "insert …", Cause: cause})
		if IsRetryable(err) || !IsOutcomeUnknown(err) {
			t.Errorf("%v is said to be safe to run again", err)
		}
		if !strings.Contains(err.Error(), `"insert …" was sent to i1@h:1`) || !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	}
	duplicate := faults{}.Unknown(&exec.Unknown{Node: at, Cause: newError(&pq.Error{Code: "XX000", Message: `TupleFound: Duplicate key exists in unique index "x"`}, Node{})})
	if !IsUniqueViolation(duplicate) {
		t.Error("the server's error isn't found within")
	}
}

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
