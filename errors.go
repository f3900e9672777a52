package picodata

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/servererr"
)

// Sentinel errors; use errors.Is.
var (
	// ErrTxUnsupported is what BeginTx gives unless the DSN says transactions=autocommit. Picodata
	// accepts BEGIN, COMMIT and ROLLBACK and ignores them, so a transaction would be a lie.
	ErrTxUnsupported = errors.New("picodata: Picodata has no interactive transactions: use picodata.Block for an atomic DO block (servers from 26.1 on), or set transactions=autocommit to run each statement of a Tx by itself")

	// ErrNotRolledBack is what Rollback gives under transactions=autocommit after a statement
	// that may have written: nothing was undone.
	ErrNotRolledBack = errors.New("picodata: nothing was rolled back: under transactions=autocommit each statement took effect at once")

	// ErrNoShard is what a statement gives that is bound to a shard which isn't known, under
	// no_shard_specified_behavior=fail. Nothing of it was executed.
	ErrNoShard = exec.ErrNoShard

	// ErrTxLost is what the statements of a Tx give once the connection that it is tied to is gone, and its Commit: what
	// ran before stays done, and a Tx doesn't move to another connection. It is no driver.ErrBadConn: database/sql runs
	// nothing again. A sql.Conn moves: Picodata keeps no state of a session that could be lost.
	ErrTxLost = exec.ErrTxLost

	// ErrClosed is what a closed connector's sessions give.
	ErrClosed = exec.ErrClosed
)

// Kind is what a server's error means to a caller. Picodata answers XX000 to nearly everything,
// so the text decides where the SQLSTATE doesn't.
type Kind uint8

// The kinds. They are numbered as servererr's are; a test compares.
const (
	KindOther           Kind = iota // an error that is none of the others
	KindQuery                       // the statement is wrong: syntax, names, types, values
	KindParameters                  // a parameter or their number was refused; nothing ran
	KindUnsupported                 // 0A000
	KindUniqueViolation             // a duplicate key
	KindPermission                  // the user lacks a privilege
	KindLimit                       // sql_motion_row_max, sql_vdbe_opcode_max
	KindCapacity                    // connections, statements or portals of the instance are used up
	KindLogin                       // 28P01, 28000
	KindStale                       // 42999: the prepared statement was invalidated; nothing ran
	KindLostStatement               // the server doesn't know the name of a prepared statement or portal, or knows it already; nothing ran
	KindSchema                      // router and storage see different schemas; the storage refused
	KindSwitchover                  // a leader changed while the statement was under way
	KindRoute                       // a replicaset couldn't be reached or its buckets weren't where the router looked
	KindTimeout                     // the instance that was asked waited for another in vain; the outcome of a write is unknown
	KindForward                     // cannot satisfy "forward = …"; nothing ran
	KindUnreachable                 // the instance that was asked couldn't connect to the one that would have had to do it; nothing ran
	KindTableBusy                   // a DDL operation on the table is in progress; nothing ran
)

// String is a short name of the kind.
func (k Kind) String() string { return servererr.Kind(k).String() }

// Error is an error that a server answered with. It unwraps to *pq.Error, which holds the
// server's own words.
type Error struct {
	Kind       Kind   // what the code and the text mean
	Code       string // SQLSTATE; XX000 for most of what Picodata says
	Message    string // the innermost message, without the wrappings of router and storage
	Node       Node   // the instance that was asked
	Replicaset string // uuid of the replicaset that refused, where the server names it
	// Help says what of the statement Picodata doesn't know, and what to write instead, where the driver can tell: its
	// own words are a position in the text and a list of tokens.
	Help string
	// Partly: the statement isn't known to touch one bucket alone, and was refused while it ran. The refusal is definite
	// for the part of the replicaset that refused; others may have applied theirs. See MayBePartial.
	Partly bool
	report servererr.Report
	cause  *pq.Error
}

// Error gives the node, the kind where it helps, and the innermost message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("picodata: ")
	if e.Help != "" {
		b.WriteString(e.Help)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	b.WriteString(" (")
	if e.Kind != KindQuery && e.Kind != KindOther {
		b.WriteString(e.Kind.String())
		b.WriteString(", ")
	}
	b.WriteString("SQLSTATE ")
	b.WriteString(e.Code)
	if e.Node != (Node{}) {
		b.WriteString(", node ")
		b.WriteString(e.Node.String())
	}
	if e.Replicaset != "" {
		b.WriteString(", replicaset ")
		b.WriteString(e.Replicaset)
	}
	if e.Partly {
		b.WriteString(", possibly partly applied")
	}
	b.WriteByte(')')
	switch e.report.Cause {
	case servererr.Opcodes:
		b.WriteString("; the limit is sql_vdbe_opcode_max" + raiseLimit)
	case servererr.MotionRows:
		b.WriteString("; the limit is sql_motion_row_max" + raiseLimit)
	}
	return b.String()
}

// raiseLimit says how to raise a limit of the server.
const raiseLimit = ": set it in the DSN, or for one statement by picodata.WithLimits; 0 lifts it. An index or a condition on the sharding key may make it needless"

// Unwrap gives the *pq.Error.
func (e *Error) Unwrap() error { return e.cause }

// SQLState is the server's SQLSTATE.
func (e *Error) SQLState() string { return e.Code }

// newError reads the server's error that err wraps, with the evidence that err tells. node is the instance
// that was asked. nil: there is none.
func newError(err error, node Node) *Error {
	var p *pq.Error
	if !errors.As(err, &p) {
		return nil
	}
	r, _ := servererr.Of(err)
	return &Error{
		Kind:       Kind(r.Kind),
		Code:       string(p.Code),
		Message:    r.Message,
		Replicaset: r.Replicaset,
		Node:       node,
		report:     r,
		cause:      p,
	}
}

// DecodeError says that a statement ran and that the client can't decode its answer: an integer beyond int64, say.
// It is never run again, and nothing is held against the node. The rows before were good.
type DecodeError struct {
	Node   Node   // the instance that answered
	Column int    // counted from 1; 0: the row as a whole, or the command tag
	Name   string // of the column
	Type   string // of the column, as ColumnTypeDatabaseTypeName names it; else "row" or "command tag"
	Length int    // of the value in bytes; the value itself doesn't show
	cause  error
}

// Error names the column, its type and the value's length.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("picodata: answer of %s: %v", e.Node, e.cause)
}

// Unwrap gives what is wrong with the value.
func (e *DecodeError) Unwrap() error { return e.cause }

// OutcomeUnknownError says that a statement was sent and that nobody can tell whether, or in
// part, it took effect. The driver never runs such a statement again. It unwraps to the cause:
// the context's error, a lost connection, or the server's error.
type OutcomeUnknownError struct {
	Node        Node
	Fingerprint string // the statement with its literals left out
	Partly      bool   // the server answered with an error after some replicasets may have applied their part
	cause       error
}

// Error says what was sent where and what to do.
func (e *OutcomeUnknownError) Error() string {
	what := "outcome unknown"
	if e.Partly {
		what = "outcome unknown, possibly partly applied"
	}
	return fmt.Sprintf("picodata: %s: %q was sent to %s: %v; look before you run it again, or write it so that running it twice is harmless (ON CONFLICT DO NOTHING, picodata.Idempotent)",
		what, e.Fingerprint, e.Node, e.cause)
}

// Unwrap gives the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.cause }

// IsRetryable reports whether the statement that gave err has proven not to have run, so that the
// caller may run it again. The driver has done so already as often as max_retries allows. A context's error is among
// them if it came before anything was sent: while the statement waited for a connection, say. database/sql's own, while
// it waits for a session under SetMaxOpenConns, proves nothing: it comes without a mark.
func IsRetryable(err error) bool {
	if err == nil || IsOutcomeUnknown(err) || errors.Is(err, ErrTxLost) {
		return false
	}
	if e := asServerError(err); e != nil {
		return e.report.Kind.NotRun()
	}
	var (
		at *AcquireTimeoutError
		nn *NoNodeError
		de *DialError
		nw *exec.NotSentError
		nr *exec.NotRunError
		me *NodeError
		ae *AuthError
		le *LeaderlessError
	)
	if errors.As(err, &ae) {
		return false
	}
	return errors.As(err, &me) || errors.As(err, &at) || errors.As(err, &nn) || errors.As(err, &de) || errors.As(err, &nw) || errors.As(err, &nr) || errors.As(err, &le)
}

// IsUniqueViolation reports whether err is Picodata's "Duplicate key exists in unique index".
func IsUniqueViolation(err error) bool { return kindOf(err) == KindUniqueViolation }

// IsOutcomeUnknown reports whether err is an *OutcomeUnknownError.
func IsOutcomeUnknown(err error) bool {
	var e *OutcomeUnknownError
	return errors.As(err, &e)
}

// MayBePartial reports whether some replicasets may have applied their part of the statement that gave err while another
// refused its own: an INSERT of ten rows over two replicasets, one of them a duplicate, leaves the other replicaset's
// rows in place. It is true beside IsUniqueViolation and the like, and of an *OutcomeUnknownError that a server's refusal
// led to. It is false of statements that are known to touch one bucket: routed by their key, an INSERT of one row, a Block.
// Where no answer came at all nobody knows: ask IsOutcomeUnknown.
func MayBePartial(err error) bool {
	if i := (*InsertError)(nil); errors.As(err, &i) {
		return i.Result.Inserted+i.Result.Skipped+i.Result.Unknown > 0
	}
	var u *OutcomeUnknownError
	if errors.As(err, &u) {
		return u.Partly
	}
	var e *Error
	return errors.As(err, &e) && e.Partly
}

// IsPermission reports whether the server refused because the user lacks a privilege.
func IsPermission(err error) bool { return kindOf(err) == KindPermission }

// IsLimit reports whether the server refused because a limit was reached: rows of a motion, executed
// opcodes, stored statements or portals, connections. The error of the first two names the setting and how to raise it.
func IsLimit(err error) bool {
	k := kindOf(err)
	return k == KindLimit || k == KindCapacity
}

// kindOf is what the server said, if it was a server.
func kindOf(err error) Kind {
	if e := asServerError(err); e != nil {
		return e.Kind
	}
	return KindOther
}

// asServerError finds an *Error, or makes one of a bare *pq.Error.
func asServerError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return newError(err, Node{})
}
