package picodata

import (
	"encoding/json"
	"strings"

	"github.com/lib/pq"
)

// Kind is what a server's error means to a caller. Picodata answers XX000 to nearly everything,
// so the text decides where the SQLSTATE doesn't.
type Kind uint8

// The kinds.
const (
	KindOther           Kind = iota
	KindQuery                // the statement is wrong: syntax, names, types, values
	KindParameters           // a parameter or their number was refused; nothing ran
	KindUnsupported          // 0A000
	KindUniqueViolation      // a duplicate key
	KindPermission           // the user lacks a privilege
	KindLimit                // sql_motion_row_max, sql_vdbe_opcode_max
	KindCapacity             // connections, statements or portals of the instance are used up
	KindLogin                // 28P01, 28000
	KindStale                // 42999: the prepared statement was invalidated; nothing ran
	KindLostStatement        // the server doesn't know the name of a prepared statement or portal, or knows it already; nothing ran
	KindSchema               // router and storage see different schemas; the storage refused
	KindSwitchover           // a leader changed while the statement was under way
	KindRoute                // a replicaset couldn't be reached or its buckets weren't where the router looked
	KindTimeout              // the instance that was asked waited for another in vain; the outcome of a write is unknown
	KindForward              // cannot satisfy "forward = …"; nothing ran
)

var kindNames = [...]string{
	KindOther: "server error", KindQuery: "query error", KindParameters: "parameters refused", KindUnsupported: "not supported",
	KindUniqueViolation: "unique violation", KindPermission: "permission denied", KindLimit: "limit reached", KindCapacity: "capacity used up",
	KindLogin: "login refused", KindStale: "stale statement", KindLostStatement: "lost statement", KindSchema: "schema changed",
	KindSwitchover: "switchover", KindRoute: "no route", KindTimeout: "server timeout", KindForward: "forward refused",
}

// String is a short name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown kind"
}

// notRun reports whether a server error of this kind proves that a statement which touches
// one bucket at most has not run.
func (k Kind) notRun() bool {
	switch k {
	case KindStale, KindLostStatement, KindSchema, KindSwitchover, KindRoute, KindForward, KindCapacity:
		return true
	}
	return false
}

// staleRole reports whether an error of this kind hints that the topology snapshot is behind.
func (k Kind) staleRole() bool { return k == KindSwitchover || k == KindRoute }

// newError reads a server's error. node is the instance that was asked.
func newError(p *pq.Error, node Node) *Error {
	m := unwrapMessage(p.Message)
	return &Error{
		Kind:       classify(string(p.Code), p.Message),
		Code:       string(p.Code),
		Message:    m.text,
		Replicaset: m.replicaset,
		Node:       node,
		cause:      p,
	}
}

// rule is one way to recognise a kind by a part of the text. The order of the table counts: a duplicate key
// inside a rolled-back transaction is a unique violation before it is anything else.
type rule struct {
	part string
	kind Kind
}

// textRules hold every text of picodata.md §4–6 and of the recordings, and the neighbours of each
// that other versions of the same source file raise.
var textRules = []rule{
	{"TupleFound:", KindUniqueViolation},
	{"Duplicate key exists in unique index", KindUniqueViolation},
	{"AccessDenied:", KindPermission},
	{" is denied for user ", KindPermission},
	{`cannot satisfy "forward = `, KindForward},

	{"Statement storage is full", KindCapacity},
	{"Portal storage is full", KindCapacity},
	{"Exceeded maximum number of rows", KindLimit},
	{"Reached a limit on max executed vdbe opcodes", KindLimit},

	{"storage schema version different from router", KindSchema},
	{"Couldn't find statement", KindLostStatement},
	{"Couldn't find portal", KindLostStatement},

	{"DML was sent to the replica during master switchover", KindSwitchover},
	{"Readonly:", KindSwitchover},
	{"Can't modify data on a read-only instance", KindSwitchover},
	{"instance is read-only", KindSwitchover},
	{"box.cfg.read_only is true", KindSwitchover},
	{"is not a master for replicaset", KindSwitchover},
	{"Failed to add a storage reference", KindSwitchover},
	{"Can not add a storage ref", KindSwitchover},
	{"not a leader, actual leader", KindSwitchover},
	{"leader is unknown yet", KindSwitchover},
	{"operation request from different term", KindSwitchover},

	{"Master of replicaset", KindRoute},
	{"Master is not configured for replicaset", KindRoute},
	{"There is no active replicas in replicaset", KindRoute},
	{"cannot be found. Is rebalancing in progress?", KindRoute},
	{"is in backoff", KindRoute},
	{"no router found for tier", KindRoute},
	{"Object is outdated after module reload/reconfigure", KindRoute},
	{"Can not use a storage ref", KindRoute},
	{"Failed to use a storage reference", KindRoute},

	// The router waited for a storage in vain, or lost it while it waited. That the storage hasn't
	// run the statement isn't said. The first is a fault in the router's own report of an error that it then swallows.
	{"attempt to concatenate local 'err_uuid' (a nil value)", KindTimeout},
	{"Timeout exceeded", KindTimeout},
	{"timeout exceeded", KindTimeout},
	{"timed out", KindTimeout},
	{"Peer closed", KindTimeout},
	{"Connection closed", KindTimeout},
	{"Connection is not established", KindTimeout},
	{"Connection reset by peer", KindTimeout},
	{"Connection refused", KindTimeout},
	{"Broken pipe", KindTimeout},
	{"Lost connection", KindTimeout},

	{"rule parsing error", KindQuery},
	{" not found", KindQuery},
	{"does not exist", KindQuery},
	{"already exists", KindQuery},
	{"NoSuchSpace", KindQuery},
	{"failed to parse '", KindQuery},
	{"could not resolve", KindQuery},
	{"FieldType:", KindQuery},
	{"invalid OptionSpec", KindQuery},
	{"invalid option", KindQuery},
	{"invalid plan", KindQuery},
	{"invalid parameters usage", KindQuery},
	{"different buckets", KindQuery},
	{"must precede all DML statements", KindQuery},
	{"Query cannot use tables from different tiers", KindQuery},
	{"doesn't exist", KindQuery},
	{"portal in state", KindQuery},
	{"invalid query", KindQuery},
	{"invalid expression", KindQuery},
	{"invalid column", KindQuery},
	{"not implemented", KindQuery},
	{"Failed to execute SQL statement", KindQuery},
	{"Type mismatch", KindQuery},
	{"out of range integral type conversion", KindQuery},
	{"unexpected expression", KindQuery},
	{"unsupported type", KindQuery},
	{"invalid value for '", KindQuery},
	{"unknown parameter: '", KindQuery},
}

// classify says what a server's error means.
func classify(code, message string) Kind {
	switch code {
	case "42999":
		return KindStale
	case "28P01", "28000":
		return KindLogin
	case "53300":
		return KindCapacity
	case "0A000":
		return KindUnsupported
	case "22P02", "22P03", "08P01":
		return KindParameters
	case "42P05", "42P03", "26000":
		return KindLostStatement
	case "42601":
		return KindQuery
	case "25006":
		// What PostgreSQL and proxies in front of it say of a write on a standby.
		return KindSwitchover
	}
	// A storage's message arrives as JSON inside the router's, its slashes and quotes escaped.
	text := strings.ReplaceAll(message, `\/`, "/")
	for _, r := range textRules {
		if strings.Contains(text, r.part) {
			return r.kind
		}
	}
	return KindOther
}

// innerMessage is what unwrapMessage finds.
type innerMessage struct {
	text       string
	replicaset string
}

// unwrapMessage peels the wrappings off a message: "sbroad: box error: ProcLua: {json}", whose
// "message" begins "Error on replicaset <uuid>: Failed to execute '.proc_sql_execute': sbroad: …".
// What it doesn't understand it leaves as it is.
func unwrapMessage(message string) innerMessage {
	m := innerMessage{text: message}
	// Each turn peels one layer; the bound only keeps a hostile message from costing much.
	for range 16 {
		next, rs, ok := peel(m.text)
		if rs != "" {
			m.replicaset = rs
		}
		if !ok {
			break
		}
		m.text = next
	}
	return m
}

// wrappings are prefixes that add nothing for a reader.
var wrappings = []string{
	"sbroad: ", "box error: ProcLua: ", "box error: ", "invalid transaction: ", "transaction rolled-back: ", "invalid box: ",
}

func peel(s string) (rest, replicaset string, ok bool) {
	for _, w := range wrappings {
		if r, found := strings.CutPrefix(s, w); found && r != "" {
			return r, "", true
		}
	}
	if strings.HasPrefix(s, "{") {
		var body struct {
			Message string `json:"message"`
		}
		if json.Unmarshal([]byte(s), &body) == nil && body.Message != "" {
			return body.Message, "", true
		}
		return s, "", false
	}
	if r, found := strings.CutPrefix(s, "Error on replicaset "); found {
		if uuid, after, found := strings.Cut(r, ": "); found && len(uuid) == 36 && after != "" {
			return after, uuid, true
		}
	}
	if r, found := strings.CutPrefix(s, "Failed to execute '"); found {
		if _, after, found := strings.Cut(r, "': "); found && after != "" {
			return after, "", true
		}
	}
	return s, "", false
}
