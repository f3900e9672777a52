package metadata

import "time"

// TopologyStats tells how well the cluster is known.
type TopologyStats struct {
	Version         uint64        // of the snapshot in force; 0 = none yet
	Age             time.Duration // since that snapshot was last confirmed
	ReadFrom        string        // the node that answered
	Static          bool          // only the nodes of the DSN are known
	RolesKnown      bool
	Refreshes       uint64 // readings that succeeded
	Failures        uint64 // readings that no node answered
	Dials           uint64 // connections opened for the topology
	DialFailures    uint64
	Hints           uint64 // events that asked for a refresh
	Stale           uint64 // readings dropped because the node that answered lagged behind
	LastError       string // of the last failure; stays after a success, see LastErrorAt
	LastErrorAt     time.Time
	BucketRefreshes uint64 // answers of _pico_bucket(), one a tier
	BucketFailures  uint64
	Buckets         []TierBuckets // by tier
	SkippedRows     int           // of the last reading
	DegradedGrants  []string      // statements that would give the user what is missing, sorted
	Unreachable     []string      // instances that live by the DSN's address because nobody answers at their own
	WithoutReplica  []string      // replicasets on which reads hang, because read_preference=replica and none is Online
}
