package servererr

// rule is one way to recognise a kind by a part of the text. The order of the table counts: a duplicate key
// inside a rolled-back transaction is a unique violation before it is anything else.
type rule struct {
	part  string
	kind  Kind
	cause Cause
}

// textRules hold every text of picodata.md §4–6 and of the recordings, and the neighbours of each
// that other versions of the same source file raise.
var textRules = []rule{
	{"TupleFound:", UniqueViolation, NoCause},
	{"Duplicate key exists in unique index", UniqueViolation, NoCause},
	{"AccessDenied:", Permission, NoCause},
	{" is denied for user ", Permission, NoCause},
	{`cannot satisfy "forward = `, Forward, NoCause},

	{"Statement storage is full", Capacity, StatementsFull},
	{"Portal storage is full", Capacity, NoCause},
	{"Exceeded maximum number of rows", Limit, NoCause},
	{"Reached a limit on max executed vdbe opcodes", Limit, NoCause},

	{"storage schema version different from router", Schema, SchemaVersion},
	{"Couldn't find statement", LostStatement, StatementUnknown},
	{"Couldn't find portal", LostStatement, NoCause},

	{"DML was sent to the replica during master switchover", Switchover, ReadOnly},
	{"Readonly:", Switchover, ReadOnly},
	{"Can't modify data on a read-only instance", Switchover, ReadOnly},
	{"instance is read-only", Switchover, ReadOnly},
	{"box.cfg.read_only is true", Switchover, ReadOnly},
	{"is not a master for replicaset", Switchover, ReadOnly},
	{"Failed to add a storage reference", Switchover, NoCause},
	{"Can not add a storage ref", Switchover, NoCause},
	{"not a leader, actual leader", Switchover, NoCause},
	{"leader is unknown yet", Switchover, NoCause},
	{"operation request from different term", Switchover, NoCause},

	{"Master of replicaset", Route, NoCause},
	{"Master is not configured for replicaset", Route, NoCause},
	{"There is no active replicas in replicaset", Route, NoCause},
	{"cannot be found. Is rebalancing in progress?", Route, NoCause},
	{"is in backoff", Route, NoCause},
	{"no router found for tier", Route, NoCause},
	{"Object is outdated after module reload/reconfigure", Route, NoCause},
	{"Can not use a storage ref", Route, NoCause},
	{"Failed to use a storage reference", Route, NoCause},

	// The router waited for a storage in vain, or lost it while it waited. That the storage hasn't
	// run the statement isn't said. The first is a fault in the router's own report of an error that it then swallows.
	{"attempt to concatenate local 'err_uuid' (a nil value)", Timeout, NoCause},
	{"Timeout exceeded", Timeout, NoCause},
	{"timeout exceeded", Timeout, NoCause},
	{"timed out", Timeout, NoCause},
	{"Peer closed", Timeout, NoCause},
	{"Connection closed", Timeout, NoCause},
	{"Connection is not established", Timeout, NoCause},
	{"Connection reset by peer", Timeout, NoCause},
	{"Connection refused", Timeout, NoCause},
	{"Broken pipe", Timeout, NoCause},
	{"Lost connection", Timeout, NoCause},

	{"_pico_bucket: tier", Query, NoTier},
	{"rule parsing error", Query, Syntax},
	{" not found", Query, NoCause},
	{"does not exist", Query, NoCause},
	{"already exists", Query, NoCause},
	{"NoSuchSpace", Query, NoSpace},
	{"failed to parse '", Query, NoCause},
	{"could not resolve", Query, NoCause},
	{"FieldType:", Query, NoCause},
	{"invalid OptionSpec", Query, NoCause},
	{"invalid option", Query, NoCause},
	{"invalid plan", Query, NoCause},
	{"invalid parameters usage", Query, NoCause},
	{"different buckets", Query, DifferentBuckets},
	{"must precede all DML statements", Query, ReadAfterWrite},
	{"Query cannot use tables from different tiers", Query, NoCause},
	{"doesn't exist", Query, NoCause},
	{"portal in state", Query, NoCause},
	{"invalid query", Query, NoCause},
	{"invalid expression", Query, NoCause},
	{"invalid column", Query, NoCause},
	{"not implemented", Query, NoCause},
	{"Failed to execute SQL statement", Query, NoCause},
	{"Type mismatch", Query, NoCause},
	{"out of range integral type conversion", Query, NoCause},
	{"unexpected expression", Query, NoCause},
	{"unsupported type", Query, NoCause},
	{"invalid value for '", Query, NoCause},
	{"unknown parameter: '", Query, NoCause},
}
