package schema

// Reason says what may be outdated in what is known of the cluster; "" is nothing.
type Reason string

// Reasons to ask the cluster again. HintUnknownReplicaset and HintBuckets are about the bucket map, HintTables about
// tables, the others about the topology alone.
const (
	HintConnectionLost    Reason = "connection_lost"
	HintSwitchover        Reason = "switchover"         // an error text of a switchover or of a read-only instance
	HintUnknownReplicaset Reason = "unknown_replicaset" // a bucket or an error names one that no snapshot has
	HintNoNode            Reason = "no_node"            // a statement found no node
	HintBuckets           Reason = "buckets"            // an answer proved the bucket map wrong
	HintTables            Reason = "tables"             // a statement proved stale, a table unknown, DDL was run
	HintRows              Reason = "rows"               // an INSERT of several rows was met, whose key servers do not tell
)
