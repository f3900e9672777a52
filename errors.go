package picodata

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
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
	ErrNoShard = errors.New("picodata: the statement names no shard: give its sharding key as parameters, use picodata.ShardKey or picodata.ToBucket, or set no_shard_specified_behavior to something else than fail")

	// ErrClosed is what a closed connector's sessions give.
	ErrClosed = errors.New("picodata: the connector is closed")
)

// Typed errors that arise below and are the root's own to its users; use errors.As.
type (
	// ConfigError is a fault in a DSN or a Config.
	ConfigError = options.ConfigError
	// AcquireTimeoutError says who holds what after acquire_timeout.
	AcquireTimeoutError = pool.AcquireTimeoutError
	// NoNodeError says which filter left no node.
	NoNodeError = pool.NoNodeError
	// AuthError says that a node refused the login. It is final for the connector until the password
	// function gives another password or a cool-down ends: after four failed logins in a row
	// Picodata locks a user on that instance. It unwraps to *pq.Error.
	AuthError = pool.LoginError
	// NodeError says what a node answered that was asked for the topology, or why it couldn't be asked.
	NodeError = metadata.NodeError
	// DialError lists every node that was tried and why it couldn't be connected to.
	DialError = pool.DialError
)

// Node names an instance in errors and in the answers of Conn and Explain.
type Node struct {
	Name    string // instance name; empty while only the address is known
	Address string // host:port
}

// String is name@address, or what there is of it.
func (n Node) String() string {
	switch {
	case n.Name == "":
		return n.Address
	case n.Address == "":
		return n.Name
	}
	return n.Name + "@" + n.Address
}

// Error is an error that a server answered with. It unwraps to *pq.Error, which holds the
// server's own words.
type Error struct {
	Kind       Kind   // what the code and the text mean
	Code       string // SQLSTATE; XX000 for most of what Picodata says
	Message    string // the innermost message, without the wrappings of router and storage
	Node       Node   // the instance that was asked
	Replicaset string // uuid of the replicaset that refused, where the server names it
	report     servererr.Report
	cause      *pq.Error
}

// Error gives the node, the kind where it helps, and the innermost message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("picodata: ")
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
	b.WriteByte(')')
	return b.String()
}

// Unwrap gives the *pq.Error.
func (e *Error) Unwrap() error { return e.cause }

// SQLState is the server's SQLSTATE.
func (e *Error) SQLState() string { return e.Code }

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

// RoleUnknownError says that instance_role asks for a role and that the user may not read who has
// which. It unwraps to *NoNodeError.
type RoleUnknownError struct {
	Grants []string // statements that an administrator can run to mend it
	cause  error
}

// Error gives the GRANT that helps.
func (e *RoleUnknownError) Error() string {
	return fmt.Sprintf("%v; the user may not read which instance leads: as admin run %s, or use instance_role=any", e.cause, strings.Join(e.Grants, "; "))
}

// Unwrap gives the cause.
func (e *RoleUnknownError) Unwrap() error { return e.cause }

// IsRetryable reports whether the statement that gave err has proven not to have run, so that the
// caller may run it again. The driver has done so already as often as max_retries allows.
func IsRetryable(err error) bool {
	if err == nil || IsOutcomeUnknown(err) {
		return false
	}
	if e := asServerError(err); e != nil {
		return e.report.Kind.NotRun()
	}
	var (
		at *AcquireTimeoutError
		nn *NoNodeError
		de *DialError
		nw *notSentError
		me *NodeError
		ae *AuthError
	)
	if errors.As(err, &ae) {
		return false
	}
	return errors.As(err, &me) || errors.As(err, &at) || errors.As(err, &nn) || errors.As(err, &de) || errors.As(err, &nw)
}

// IsUniqueViolation reports whether err is Picodata's "Duplicate key exists in unique index".
func IsUniqueViolation(err error) bool { return kindOf(err) == KindUniqueViolation }

// IsOutcomeUnknown reports whether err is an *OutcomeUnknownError.
func IsOutcomeUnknown(err error) bool {
	var e *OutcomeUnknownError
	return errors.As(err, &e)
}

// IsPermission reports whether the server refused because the user lacks a privilege.
func IsPermission(err error) bool { return kindOf(err) == KindPermission }

// IsLimit reports whether the server refused because a limit was reached: rows of a motion, executed
// opcodes, stored statements or portals, connections.
func IsLimit(err error) bool {
	k := kindOf(err)
	return k == KindLimit || k == KindCapacity
}

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
	var p *pq.Error
	if errors.As(err, &p) {
		return newError(p, Node{})
	}
	return nil
}

// notSentError says that a connection was lost before a byte of the statement was written, as
// often as the driver was willing to try.
type notSentError struct {
	node  Node
	cause error
}

func (e *notSentError) Error() string {
	return fmt.Sprintf("picodata: connection to %s lost before the statement was sent: %v", e.node, e.cause)
}

func (e *notSentError) Unwrap() error { return e.cause }
