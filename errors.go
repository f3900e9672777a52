package picodata

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/hazard"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/wire"
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

func nodeOf(n *pool.NodeInfo) Node {
	if n == nil {
		return Node{}
	}
	if n.Name == n.Address {
		return Node{Address: n.Address} // a node of the DSN that nobody has identified
	}
	return Node{Name: n.Name, Address: n.Address}
}

// Errors about nodes and connections: what kept a statement from being handed to a server. Use errors.As.

type (
	// ConfigError is a fault in a DSN or a Config.
	ConfigError = options.ConfigError
	// IdentityError says that an instance answered at a node's address which doesn't belong to the cluster. It got no statement.
	IdentityError = metadata.IdentityError
	// NodeError says what a node answered that was asked for the topology, or why it couldn't be asked.
	NodeError = metadata.NodeError
)

// AcquireTimeoutError says that no connection became free within acquire_timeout, and who holds them. It is
// net.Error-like: Timeout returns true. It isn't a context error: the caller's context is still good.
type AcquireTimeoutError struct {
	Filter  string        // which nodes would have done
	Waited  time.Duration // acquire_timeout
	Nodes   []NodeLoad    // those that would have done; read only, errors may share it
	Max     int           // the cluster's cap; 0 = none
	Open    int           // connections that count toward it
	Waiting int           // requests waiting at that time, this one included
	Dial    *DialError    // dials that failed meanwhile; nil: none
}

// NodeLoad says who holds a node's connections.
type NodeLoad struct {
	Name, Address string
	State         string        // "", "ejected", "full" (the server said so), "slow" (dials take long)
	Max           int           // cap; 0 = none
	Busy          int           // leased
	Idle          int           // can't be used by the request, or there would be no error
	Dialing       int           // slots taken for dials
	Draining      int           // being closed
	Waiting       int           // requests that wait for a dial of this node
	Longest       time.Duration // age of its oldest lease
}

// Error lists the nodes with what holds them.
func (e *AcquireTimeoutError) Error() string {
	p := pool.AcquireTimeoutError{Filter: e.Filter, Waited: e.Waited, Max: e.Max, Open: e.Open, Waiting: e.Waiting}
	for _, n := range e.Nodes {
		p.Nodes = append(p.Nodes, pool.NodeLoad(n))
	}
	if e.Dial != nil {
		p.Dial = e.Dial.internal()
	}
	return p.Error()
}

// Timeout is true.
func (e *AcquireTimeoutError) Timeout() bool { return true }

// Unwrap gives the failed dials, if there were any.
func (e *AcquireTimeoutError) Unwrap() error {
	if e.Dial == nil {
		return nil
	}
	return e.Dial
}

// NoNodeError says that no node of the set may serve a request, and which condition left none.
type NoNodeError struct {
	Filter     string        // which nodes were asked for
	Nodes      int           // known nodes
	Ineligible int           // excluded by instance_role or the tiers that are allowed
	Unmatched  int           // excluded by the filter
	Roleless   int           // would match but for their role, which isn't known now
	Ejected    int           // match, but are ejected
	Overflow   int           // match, but have weight 0 and overflow doesn't allow them now
	RetryIn    time.Duration // when the first ejection ends; 0 = none
	Waited     time.Duration
}

// Error says which condition left no node.
func (e *NoNodeError) Error() string { return (*pool.NoNodeError)(e).Error() }

// DialError says that no candidate could be connected to, with the cause for each. It unwraps to all of them.
type DialError struct {
	Filter string // which nodes would have done
	Nodes  []*NodeDialError
}

// NodeDialError is a failed dial of one node. It unwraps to the cause.
type NodeDialError struct {
	Node, Address string
	Err           error
}

// Error names the node.
func (e *NodeDialError) Error() string { return (*pool.NodeDialError)(e).Error() }

// Unwrap gives the cause.
func (e *NodeDialError) Unwrap() error { return e.Err }

// Error lists every attempt with its cause.
func (e *DialError) Error() string { return e.internal().Error() }

// Unwrap gives the attempts, so that errors.Is and errors.As look into each.
func (e *DialError) Unwrap() []error {
	errs := make([]error, len(e.Nodes))
	for i, n := range e.Nodes {
		errs[i] = n
	}
	return errs
}

func (e *DialError) internal() *pool.DialError {
	p := &pool.DialError{Filter: e.Filter}
	for _, n := range e.Nodes {
		p.Nodes = append(p.Nodes, (*pool.NodeDialError)(n))
	}
	return p
}

// AuthError says that a node refused the login. It is final for the connector until the password
// function gives another password or a cool-down ends: after four failed logins in a row
// Picodata locks a user on that instance. It unwraps to *pq.Error.
type AuthError struct {
	Node, Address string
	CoolDown      time.Duration // from the refusal; 0 = none
	Err           error
}

// Error names the node and the cool-down.
func (e *AuthError) Error() string { return (*pool.LoginError)(e).Error() }

// Unwrap gives the server's error.
func (e *AuthError) Unwrap() error { return e.Err }

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

// ShardRangeError: no_shard_specified_behavior=shard_N names a replicaset that the tier doesn't have.
type ShardRangeError struct {
	Shard int
	Tier  string
	Have  int // replicasets of the tier
}

// Error says what there is.
func (e *ShardRangeError) Error() string { return (*route.ShardRangeError)(e).Error() }

// BucketRangeError: ToBucket names a bucket that the tier doesn't have.
type BucketRangeError struct {
	Tier   string
	Bucket uint64
	Count  uint64 // buckets are numbered from 1 to Count
}

// Error says which buckets there are.
func (e *BucketRangeError) Error() string { return (*route.BucketRangeError)(e).Error() }

// UnknownNameError: ToInstance, ToReplicaset or ToTier names what the cluster doesn't have.
type UnknownNameError struct {
	What string // "instance", "replicaset" or "tier"
	Name string
}

// Error says what was asked for.
func (e *UnknownNameError) Error() string { return (*route.UnknownNameError)(e).Error() }

// LeaderlessError says that a statement needs a leader that is dead, or a replicaset's that nobody leads, and that the
// wait for the next one ended: with the context, with dead_leader_timeout, or at once under dead_leader=fail. Nothing
// was sent, so that it may be run again (IsRetryable). It unwraps to the context's error, if that ended the wait.
type LeaderlessError struct {
	Instance   string // the dead leader; "" = the replicaset has none
	Replicaset string
	Tier       string
	Since      time.Duration // how long the leader has been known to be dead; 0 = not known
	Waited     time.Duration // 0 under dead_leader=fail
	Cause      error
}

// Error says who is missed and what to do.
func (e *LeaderlessError) Error() string {
	who := fmt.Sprintf("nobody leads replicaset %s of tier %s", e.Replicaset, e.Tier)
	if e.Instance != "" {
		who = fmt.Sprintf("%s, which leads replicaset %s of tier %s, has not answered for %v", e.Instance, e.Replicaset, e.Tier, e.Since.Round(time.Millisecond))
	}
	why := "dead_leader=fail"
	switch {
	case e.Cause != nil:
		why = fmt.Sprintf("waited %v: %v", e.Waited.Round(time.Millisecond), e.Cause)
	case e.Waited > 0:
		why = fmt.Sprintf("waited %v, all that dead_leader_timeout allows", e.Waited.Round(time.Millisecond))
	}
	return "picodata: the statement was not sent: " + who + ": " + why + "; the cluster replaces a dead leader after some 30 seconds (governor_auto_offline_timeout), pico check tells more"
}

// Unwrap gives the context's error, or nil.
func (e *LeaderlessError) Unwrap() error { return e.Cause }

// faults makes the errors that programs see: it is the exec.Faults.
type faults struct{}

// Server is what a server answered with.
func (faults) Server(r *exec.Refused) error {
	e := newError(r.Err, nodeOf(r.Node))
	e.Partly, e.Help = r.Partly, r.Help
	return e
}

// Undecodable is an answer that the client can't decode.
func (faults) Undecodable(err error, n *pool.NodeInfo) error {
	var d *wire.DecodeError
	if !errors.As(err, &d) {
		return err
	}
	return &DecodeError{Node: nodeOf(n), Column: d.Column, Name: d.Name, Type: d.Type, Length: d.Length, cause: d}
}

// Unknown says that nobody can tell whether a statement took effect.
func (faults) Unknown(u *exec.Unknown) error {
	return &OutcomeUnknownError{Node: nodeOf(u.Node), Fingerprint: u.Fingerprint, Partly: u.Partly, cause: u.Cause}
}

// RolesUnknown says which grants would tell who leads.
func (faults) RolesUnknown(grants []string, cause error) error {
	return &RoleUnknownError{Grants: grants, cause: cause}
}

// Leaderless says that a statement waited for a leader, and was not sent.
func (faults) Leaderless(l *exec.Leaderless) error { return (*LeaderlessError)(l) }

// Plan is the public form of what keeps a hint or setting from being met.
func (faults) Plan(err error) error {
	switch e := err.(type) {
	case *route.ShardRangeError:
		return (*ShardRangeError)(e)
	case *route.BucketRangeError:
		return (*BucketRangeError)(e)
	case *route.UnknownNameError:
		return (*UnknownNameError)(e)
	}
	return err
}

// Pool is the public form of an error of the gate's.
func (faults) Pool(err error) error {
	switch e := err.(type) {
	case *pool.AcquireTimeoutError:
		t := &AcquireTimeoutError{Filter: e.Filter, Waited: e.Waited, Max: e.Max, Open: e.Open, Waiting: e.Waiting}
		t.Nodes = make([]NodeLoad, len(e.Nodes))
		for i := range e.Nodes {
			t.Nodes[i] = NodeLoad(e.Nodes[i])
		}
		if e.Dial != nil {
			t.Dial = dialError(e.Dial)
		}
		return t
	case *pool.NoNodeError:
		return (*NoNodeError)(e)
	case *pool.DialError:
		return dialError(e)
	case *pool.LoginError:
		return (*AuthError)(e)
	}
	return err
}

func dialError(e *pool.DialError) *DialError {
	d := &DialError{Filter: e.Filter, Nodes: make([]*NodeDialError, len(e.Nodes))}
	for i, n := range e.Nodes {
		d.Nodes[i] = (*NodeDialError)(n)
	}
	return d
}

// Hazard is the public form of a refusal.
func (faults) Hazard(err error) error {
	var h *hazard.Error
	if !errors.As(err, &h) {
		return err
	}
	return &GuardError{Hazard: string(h.Kind), Ordinal: h.Ordinal, Why: h.Why, Setting: h.Setting}
}
