package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/picodata/go-picodata/internal/wire"
)

// What can be lost, in the words of the wire.
var (
	errEOF      = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	reset       = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	stuckCause  = wire.ErrInterrupted
	fatalAnswer = &pq.Error{Severity: "FATAL", Code: "57P01", Message: "terminating connection due to administrator command"}
)

func sent(cause error) error {
	return &wire.Error{Stage: wire.StageQuery, Node: "i1", Address: "h:1", Sent: true, Cause: cause}
}

func unsent(cause error) error {
	return &wire.Error{Stage: wire.StageQuery, Node: "i1", Address: "h:1", Cause: cause}
}

func answered(code, message string) error {
	return &wire.Error{Stage: wire.StageQuery, Node: "i1", Address: "h:1", Sent: true, Answered: true,
		Cause: &pq.Error{Severity: "ERROR", Code: pqerror.Code(code), Message: message}}
}

// bound is an error that came after BindComplete.
func bound(code, message string) error {
	err := answered(code, message).(*wire.Error)
	err.Saw.Bound = true
	return err
}

func textOf(sql string) *Text { return newText(sql) }

// simple is an error that came to a Query message.
func simple(code, message string) error {
	err := answered(code, message).(*wire.Error)
	err.Saw.Simple = true
	return err
}

const (
	unreachable = "Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: failed to connect to address 127.0.0.1:3301: Connection refused (os error 111)"
	plainRead   = "select * from t where id = $1"
	oddRead     = "select f(id) from t"
	oneRow      = "insert into t values ($1, $2)"
	manyRows    = "insert into t values ($1, $2), ($3, $4)"
	update      = "update t set v = 1"
	upsert      = "insert into t values ($1, $2) on conflict do replace"
	atomicText  = "DO $$ BEGIN INSERT INTO t VALUES (1, 2); END $$"
	ddl         = "create table t (id int primary key)"
	noOp        = "begin"
	readonly    = "sbroad: box error: ProcLua: {\"message\":\"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Failed to execute '.proc_sql_execute': sbroad: invalid transaction: transaction rolled-back: failed to insert space: box error: Readonly: Can't modify data on a read-only instance - box.cfg.read_only is true\"}"
	routeError  = "sbroad: box error: ProcLua: Bucket 7 cannot be found. Is rebalancing in progress?"
	forwardOff  = `sbroad: invalid option: cannot satisfy "forward = off": buckets are not present on the current node, try using "forward = ro_to_rw" instead`
	duplicate   = `sbroad: failed to insert space: TupleFound: Duplicate key exists in unique index "t_pkey"`
)

// The table "Failure" of the design, row by row.
func TestJudge(t *testing.T) {
	type flags = attempt
	for _, c := range []struct {
		name   string
		err    error
		sql    string
		a      attempt
		act    action
		what   ending
		partly bool
		doubt  bool // run again although it may have taken effect
		// refresh, connErr
		refresh, health bool
	}{
		// The context is done.
		{"cancelled before a byte was sent", unsent(context.Canceled), oneRow, flags{}, giveUp, early, false, false, false, false},
		{"cancelled read", sent(context.Canceled), plainRead, flags{}, giveUp, byCtx, false, false, false, false},
		{"cancelled write", sent(context.DeadlineExceeded), oneRow, flags{}, giveUp, unknown, false, false, false, false},
		{"cancelled idempotent write isn't run again", sent(context.Canceled), oneRow, flags{idempotent: true}, giveUp, unknown, false, false, false, false},
		{"cancelled read that may do more", sent(context.Canceled), oddRead, flags{}, giveUp, unknown, false, false, false, false},
		{"cancelled prepare of a write", sent(context.Canceled), oneRow, flags{op: opPrepare}, giveUp, early, false, false, false, false},
		{"cancelled ping", sent(context.Canceled), "", flags{op: opPing}, giveUp, early, false, false, false, false},

		// The connection is lost, nothing written.
		{"lost before a byte was sent", unsent(errEOF), oneRow, flags{}, retry, notSent, false, false, true, true},
		{"the same in a Tx", unsent(errEOF), oneRow, flags{tx: true}, retry, notSent, false, false, true, true},
		{"the same with NoRetry", unsent(errEOF), oneRow, flags{noRetry: true}, giveUp, notSent, false, false, true, true},

		// The connection is lost after writing.
		{"read", sent(errEOF), plainRead, flags{}, retry, lost, false, false, true, true},
		{"read, reset", sent(reset), plainRead, flags{}, retry, lost, false, false, true, true},
		{"read, a row delivered", sent(errEOF), plainRead, flags{delivered: true}, giveUp, lost, false, false, true, true},
		{"read with NoRetry", sent(errEOF), plainRead, flags{noRetry: true}, giveUp, lost, false, false, true, true},
		{"a read that may do more", sent(errEOF), oddRead, flags{}, giveUp, unknown, false, false, true, true},
		{"one row", sent(errEOF), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, true, true},
		{"one row, FATAL", sent(fatalAnswer), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, true, true},
		{"one row, shut down", answered("57P01", "terminating connection"), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, true, true},
		{"read, shut down", answered("57P03", "the database system is shutting down"), plainRead, flags{}, retry, lost, false, false, true, true},
		{"undecodable read", sent(&wire.DecodeError{Column: 1}), plainRead, flags{}, giveUp, undecodable, false, false, false, false},
		{"undecodable answer of a block", sent(&wire.DecodeError{Column: 1}), atomicText, flags{}, giveUp, undecodable, false, false, false, false},
		{"undecodable answer of an idempotent write", sent(&wire.DecodeError{Type: "command tag"}), oneRow, flags{idempotent: true}, giveUp, undecodable, false, false, false, false},
		{"malformed message, read", sent(&wire.FrameError{Type: 'T', Framed: true}), plainRead, flags{}, giveUp, lost, false, false, false, false},
		{"malformed message, write", sent(&wire.FrameError{Type: 'T', Framed: true}), oneRow, flags{}, giveUp, unknown, false, false, false, false},
		{"out of step, read", sent(&wire.FrameError{Type: '?'}), plainRead, flags{}, retry, lost, false, false, true, true},
		{"read, FATAL", sent(fatalAnswer), plainRead, flags{}, retry, lost, false, false, true, true},
		{"update", sent(errEOF), update, flags{}, giveUp, unknown, false, false, true, true},
		{"DDL", sent(errEOF), ddl, flags{}, giveUp, unknown, false, false, true, true},
		{"block", sent(errEOF), atomicText, flags{}, giveUp, unknown, false, false, true, true},
		{"not understood", sent(errEOF), "merge into t", flags{}, giveUp, unknown, false, false, true, true},
		{"idempotent write", sent(errEOF), oneRow, flags{idempotent: true}, retry, unknown, false, true, true, true},
		{"idempotent, but NoRetry outweighs it", sent(errEOF), oneRow, flags{idempotent: true, noRetry: true}, giveUp, unknown, false, true, true, true},
		{"begin", sent(errEOF), noOp, flags{}, giveUp, lost, false, false, true, true},
		{"ping", sent(errEOF), "", flags{op: opPing}, retry, lost, false, false, true, true},
		{"prepare of a write", sent(errEOF), oneRow, flags{op: opPrepare}, retry, lost, false, false, true, true},

		// It waited since before a leader changed.
		{"stuck read", sent(stuckCause), plainRead, flags{}, revive, lost, false, false, false, false},
		{"stuck read, a row delivered", sent(stuckCause), plainRead, flags{delivered: true}, giveUp, lost, false, false, false, false},
		{"stuck write", sent(stuckCause), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, false, false},
		{"stuck idempotent write", sent(stuckCause), oneRow, flags{idempotent: true}, revive, unknown, false, true, false, false},
		{"stuck idempotent update, which may run later", sent(stuckCause), update, flags{idempotent: true}, giveUp, unknown, false, true, false, false},
		{"stuck idempotent update, at any time", sent(stuckCause), update, flags{idempotent: true, anyTime: true}, revive, unknown, false, true, false, false},
		{"stuck idempotent upsert, which may run later", sent(stuckCause), upsert, flags{idempotent: true}, giveUp, unknown, false, true, false, false},
		{"idempotent update, its connection lost", sent(errEOF), update, flags{idempotent: true}, retry, unknown, false, true, true, true},

		// The server proves that nothing ran.
		{"stale statement", answered("42999", "prepared statement x has been invalidated"), update, flags{}, retry, byServer, false, false, false, false},
		{"lost statement", answered("XX000", "Couldn't find statement 'x'."), update, flags{}, retry, byServer, false, false, false, false},
		{"statement's name taken", answered("42P05", "Statement 'x' for client 1 already exists"), update, flags{}, retry, byServer, false, false, false, false},
		{"a value that quotes a lost statement", answered("XX000", "sbroad: Type mismatch: can not convert string('Couldn't find statement') to integer"), update, flags{}, giveUp, byServer, false, false, false, false},
		{"a value that is a refusal, word for word", answered("XX000", "sbroad: rule parsing error: Couldn't find statement 'x'."), update, flags{}, giveUp, byServer, false, false, false, false},
		{"a lost statement after BindComplete", bound("XX000", "Couldn't find statement 'x'."), update, flags{}, giveUp, byServer, true, false, false, false},
		{"stale after BindComplete", bound("42999", "prepared statement 1 has been invalidated"), update, flags{}, giveUp, byServer, true, false, false, false},
		{"raft leader refuses connections", bound("XX000", "failed to connect to address h:1: Connection refused (os error 111)"), update, flags{}, retry, byServer, false, false, true, false},
		{"DDL in progress", bound("XX000", "TableNotOperable: t cannot be modified now as DDL operation is in progress"), update, flags{}, retry, byServer, false, false, false, false},
		{"storage of statements full", answered("XX000", "Statement storage is full. Current size limit: 2."), update, flags{}, retry, byServer, false, false, false, false},
		{"forward=off, routable", answered("XX000", forwardOff), oneRow, flags{routable: true}, reroute, byServer, false, false, false, false},
		{"forward=off, hinted or routed already", answered("XX000", forwardOff), oneRow, flags{}, giveUp, byServer, false, false, false, false},
		{"forward=off, NoRetry", answered("XX000", forwardOff), oneRow, flags{routable: true, noRetry: true}, giveUp, byServer, false, false, false, false},

		// Switchover, read-only and route errors.
		{"read-only, one bucket", answered("XX000", readonly), oneRow, flags{oneBucket: true}, retry, byServer, false, false, true, false},
		{"read-only, one bucket, in a Tx", answered("XX000", readonly), oneRow, flags{oneBucket: true, tx: true}, giveUp, byServer, false, false, true, false},
		{"read-only, one bucket, NoRetry", answered("XX000", readonly), oneRow, flags{oneBucket: true, noRetry: true}, giveUp, byServer, false, false, true, false},
		{"read-only, several rows", answered("XX000", readonly), manyRows, flags{}, giveUp, unknown, true, false, true, false},
		{"read-only, update", answered("XX000", readonly), update, flags{}, giveUp, unknown, true, false, true, false},
		{"read-only, update, idempotent", answered("XX000", readonly), update, flags{idempotent: true}, retry, unknown, true, true, true, false},
		{"read-only, DDL", answered("XX000", readonly), ddl, flags{}, giveUp, unknown, true, false, true, false},
		{"route, read", answered("XX000", routeError), plainRead, flags{}, retry, byServer, false, false, true, false},
		{"route, a read that may do more", answered("XX000", routeError), oddRead, flags{}, giveUp, unknown, true, false, true, false},
		{"route, a read that may do more, of one bucket", answered("XX000", routeError), oddRead, flags{oneBucket: true}, retry, byServer, false, false, true, false},
		{"route, read in a Tx", answered("XX000", routeError), plainRead, flags{tx: true}, retry, byServer, false, false, true, false},
		{"route, read, a row delivered", answered("XX000", routeError), plainRead, flags{delivered: true}, giveUp, byServer, false, false, true, false},
		{"route, one bucket", answered("XX000", routeError), update, flags{oneBucket: true}, retry, byServer, false, false, true, false},
		{"route, several rows", answered("XX000", routeError), manyRows, flags{}, giveUp, unknown, true, false, true, false},
		{"PostgreSQL's words for read-only", answered("25006", "cannot execute INSERT in a read-only transaction"), oneRow, flags{oneBucket: true}, retry, byServer, false, false, true, false},
		{"schema, one bucket", answered("XX000", "sbroad: storage schema version different from router"), oneRow, flags{oneBucket: true}, retry, byServer, false, false, false, false},
		{"schema, several", answered("XX000", "sbroad: storage schema version different from router"), update, flags{}, giveUp, unknown, true, false, false, false},

		// The server waited for another in vain.
		{"timeout, read", answered("XX000", "Timeout exceeded"), plainRead, flags{}, retry, byServer, false, false, true, false},
		{"timeout, a read that may do more", answered("XX000", "Timeout exceeded"), oddRead, flags{}, giveUp, unknown, true, false, true, false},
		{"timeout, one bucket", answered("XX000", "Timeout exceeded"), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, true, false},
		{"timeout, several", answered("XX000", "Timeout exceeded"), update, flags{}, giveUp, unknown, true, false, true, false},
		{"timeout, idempotent", answered("XX000", "Timeout exceeded"), oneRow, flags{idempotent: true, oneBucket: true}, retry, unknown, false, true, true, false},
		{"timeout, idempotent update, which may run later", answered("XX000", "Timeout exceeded"), update, flags{idempotent: true, oneBucket: true}, giveUp, unknown, false, false, true, false},
		{"the storage hung up, one bucket", answered("XX000", "Peer closed"), oneRow, flags{oneBucket: true}, giveUp, unknown, false, false, true, false},

		// Refused for good while it ran: definite for those who refused.
		{"duplicate key among several rows", bound("XX000", duplicate), manyRows, flags{}, giveUp, byServer, true, false, false, false},
		{"the same where the key proves one bucket", bound("XX000", duplicate), manyRows, flags{oneBucket: true}, giveUp, byServer, false, false, false, false},
		{"duplicate key, simple protocol", simple("XX000", duplicate), "insert into t values (1, 2), (3, 4)", flags{}, giveUp, byServer, true, false, false, false},
		{"an update that fails on a value", bound("XX000", "something new"), update, flags{}, giveUp, byServer, true, false, false, false},
		{"refused before it was bound", answered("XX000", "sbroad: rule parsing error:  --> 1:1"), manyRows, flags{}, giveUp, byServer, false, false, false, false},
		{"syntax, simple protocol", simple("XX000", "sbroad: rule parsing error:  --> 1:1"), update, flags{}, giveUp, byServer, false, false, false, false},
		{"DDL refused", simple("XX000", "something new"), ddl, flags{}, giveUp, byServer, false, false, false, false},
		{"a read refused", bound("XX000", "something new"), plainRead, flags{}, giveUp, byServer, false, false, false, false},
		{"a read that may do more, refused", bound("XX000", "something new"), oddRead, flags{}, giveUp, byServer, true, false, false, false},
		{"a storage says that it can't reach another, several", bound("XX000", unreachable), update, flags{}, giveUp, unknown, true, false, true, false},
		{"a storage says that it can't reach another, one bucket", bound("XX000", unreachable), oneRow, flags{oneBucket: true}, retry, byServer, false, false, true, false},

		// Everything else is the caller's.
		{"duplicate key", answered("XX000", duplicate), oneRow, flags{oneBucket: true, idempotent: true}, giveUp, byServer, false, false, false, false},
		{"refused parameter", answered("22P02", "failed to bind parameter $1"), oneRow, flags{}, giveUp, byServer, false, false, false, false},
		{"syntax", answered("XX000", "sbroad: rule parsing error: x"), "selct", flags{}, giveUp, byServer, false, false, false, false},
		{"permission", answered("XX000", "AccessDenied: x"), plainRead, flags{}, giveUp, byServer, false, false, false, false},
		{"limit", answered("XX000", "Exceeded maximum number of rows (5) in virtual table: 6"), plainRead, flags{}, giveUp, byServer, false, false, false, false},
		{"an error nobody knows", answered("XX000", "something new"), plainRead, flags{}, giveUp, byServer, false, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.a
			a.text = textOf(c.sql)
			v := judge(c.err, &a)
			if v.action != c.act || v.refresh != c.refresh || v.connErr != c.health || v.doubt != c.doubt {
				t.Errorf("action %d, refresh %v, health %v, doubt %v; want %d, %v, %v, %v",
					v.action, v.refresh, v.connErr, v.doubt, c.act, c.refresh, c.health, c.doubt)
			}
			if v.ending != c.what || v.partly != c.partly {
				t.Errorf("ending %d, partly %v; want %d, %v", v.ending, v.partly, c.what, c.partly)
			}
			if v.doubt && v.ending != unknown {
				t.Error("in doubt, and yet the caller would get something else")
			}
			// Whatever it becomes, the cause is within.
			w := c.err.(*wire.Error).Cause
			if !errors.Is(w, wire.ErrInterrupted) && !errors.Is(v.cause, w) {
				t.Errorf("%v doesn't lead to %v", v.cause, w)
			}
			if (v.ending == byCtx || v.ending == early) && v.cause != context.Canceled && v.cause != context.DeadlineExceeded {
				t.Errorf("%v isn't the context's own error", v.cause)
			}
		})
	}
}

// An error that isn't the wire's was found before anything was sent.
func TestJudgeForeignError(t *testing.T) {
	err := errors.New("a wrong argument")
	a := attempt{text: textOf(oneRow), idempotent: true}
	if v := judge(err, &a); v.action != giveUp || v.cause != err || v.refresh || v.connErr {
		t.Errorf("got %+v", v)
	}
	for _, w := range []*wire.Error{{Local: true, Cause: err}, {Config: true, Cause: err}} {
		if v := judge(w, &a); v.action != giveUp || v.refresh || v.connErr || !errors.Is(v.cause, err) {
			t.Errorf("got %+v", v)
		}
	}
}

// Whatever happens to the attempts after one that may have taken effect, the caller hears of it.
func TestDoubtIsNotForgotten(t *testing.T) {
	first := &Unknown{Fingerprint: "INSERT …", Cause: errEOF, Partly: true}
	last := errors.New("a duplicate key")
	u := inDoubt(first, last)
	if !u.Partly || u.Fingerprint != first.Fingerprint || !errors.Is(u.Cause, io.ErrUnexpectedEOF) || !errors.Is(u.Cause, last) {
		t.Errorf("got %+v", u)
	}
	if first.Cause != errEOF {
		t.Error("the first attempt's description was changed")
	}
}

// A storm of failures is run again a hundred times, and from then on one in ten.
func TestRetryBudget(t *testing.T) {
	var n budget
	retries := 0
	for range 1000 {
		if n.mayRetry() {
			n.retried(retry, false)
			retries++
		}
	}
	if retries != budgetFull/budgetRetry {
		t.Errorf("%d retries in a storm, want %d", retries, budgetFull/budgetRetry)
	}
	if s := n.stats(); s.BudgetSpent != uint64(1000-retries) || s.Retries != uint64(retries) {
		t.Errorf("%+v", s)
	}
	for range 1000 {
		n.succeeded()
		if n.mayRetry() {
			n.retried(retry, false)
			retries++
		}
	}
	if want := budgetFull/budgetRetry + 1000*budgetGain/budgetRetry; retries != want {
		t.Errorf("%d retries after a thousand successes, want %d", retries, want)
	}
	for range 100_000 {
		n.succeeded()
	}
	if m := n.missing.Load(); m > 0 || m < -budgetGain {
		t.Errorf("%d is missing: the budget must fill up and not grow beyond", m)
	}
	before := n.missing.Load()
	for range 10_000 {
		n.retried(revive, false)
	}
	if n.missing.Load() != before || n.stats().Revived != 10_000 {
		t.Error("statements that a leader's death caught cost budget")
	}
}

// The pauses grow, with jitter, up to their bound.
func TestBackoff(t *testing.T) {
	for n := range 100 {
		want := min(retryBackoff<<min(n, 10), retryBackoffMax)
		seen := map[bool]int{}
		for range 50 {
			d := backoff(n, retryBackoff, retryBackoffMax)
			if d < want*3/4 || d > want*5/4 {
				t.Fatalf("attempt %d: %v, want %v ± a quarter", n, d, want)
			}
			seen[d < want]++
		}
		if len(seen) < 2 {
			t.Errorf("attempt %d: no jitter", n)
		}
	}
}
