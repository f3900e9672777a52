// Package servererr reads what a server says when it refuses: it alone knows SQLSTATEs and messages.
// Picodata answers XX000 to nearly everything, so the message decides where the SQLSTATE doesn't.
package servererr

// Kind is what a server's error means to a caller.
type Kind uint8

// The kinds.
const (
	Other           Kind = iota
	Query                // the statement is wrong: syntax, names, types, values
	Parameters           // a parameter or their number was refused; nothing ran
	Unsupported          // 0A000
	UniqueViolation      // a duplicate key
	Permission           // the user lacks a privilege
	Limit                // sql_motion_row_max, sql_vdbe_opcode_max
	Capacity             // connections, statements or portals of the instance are used up
	Login                // 28P01, 28000
	Stale                // 42999: the prepared statement was invalidated; nothing ran
	LostStatement        // the server doesn't know the name of a prepared statement or portal, or knows it already; nothing ran
	Schema               // router and storage see different schemas; the storage refused
	Switchover           // a leader changed while the statement was under way
	Route                // a replicaset couldn't be reached or its buckets weren't where the router looked
	Timeout              // the instance that was asked waited for another in vain; the outcome of a write is unknown
	Forward              // cannot satisfy "forward = …"; nothing ran
	Unreachable          // the instance that was asked could not connect to the one that would have had to do it; nothing ran
	TableBusy            // a DDL operation on the table is in progress; nothing ran
)

var kindNames = [...]string{
	Other: "server error", Query: "query error", Parameters: "parameters refused", Unsupported: "not supported",
	UniqueViolation: "unique violation", Permission: "permission denied", Limit: "limit reached", Capacity: "capacity used up",
	Login: "login refused", Stale: "stale statement", LostStatement: "lost statement", Schema: "schema changed",
	Switchover: "switchover", Route: "no route", Timeout: "server timeout", Forward: "forward refused", Unreachable: "instance unreachable", TableBusy: "table busy with DDL",
}

// String is a short name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown kind"
}

// NotRun reports whether a server error of this kind proves that a statement which touches
// one bucket at most has not run.
func (k Kind) NotRun() bool {
	switch k {
	case Stale, LostStatement, Schema, Switchover, Route, Forward, Capacity, Unreachable, TableBusy:
		return true
	}
	return false
}

// Passes reports whether a cluster that is on its way to another state says so, and says something else when it is there.
func (k Kind) Passes() bool {
	switch k {
	case Schema, Switchover, Route, Unreachable, TableBusy:
		return true
	}
	return false
}

// StaleRole reports whether an error of this kind hints that the topology snapshot is behind.
func (k Kind) StaleRole() bool { return k == Switchover || k == Route || k == Unreachable }

// Cause says more than a kind where somebody acts on it.
type Cause uint8

// The causes. What they name is in Report.Object.
const (
	NoCause          Cause = iota
	PlanChanged            // the plan of a prepared statement is of an older schema: the server refused the Bind
	StatementUnknown       // the server doesn't know the name of the prepared statement
	StatementExists        // the server knows the name of the prepared statement already
	StatementsFull         // no room for one more prepared statement on this instance
	SchemaVersion          // a storage refused a plan of another schema
	NoSpace                // the table is gone since the plan was made
	ReadOnly               // the instance, or the one it asked, holds no writes: its replicaset is led by another
	AccessDenied           // Object is the table that the user may not use
	NoFunction             // Object is the SQL function that this version lacks
	NoTier                 // the tier has no buckets or doesn't exist
	DifferentBuckets       // the writes of a block lie in several buckets
	ReadAfterWrite         // a block reads after it wrote
	Syntax                 // the server's grammar doesn't know the text
	TLSRequired            // the server takes no logins without TLS
	MotionRows             // a statement moved more rows than sql_motion_row_max
	Opcodes                // a statement took more steps than sql_vdbe_opcode_max
	NotAdmitted            // the server takes no login of this user from here; another transport may do
)

// Report is what an error says.
type Report struct {
	Kind       Kind
	Cause      Cause
	Message    string // the innermost message, without the wrappings of router and storage
	Replicaset string // uuid of the replicaset that refused, where the server names it
	Object     string // see Cause
}
