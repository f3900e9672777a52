package metadata

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// TopologyStats tells how well the cluster is known.
type TopologyStats struct {
	Version         uint64        // of the snapshot in force; 0 = none yet
	Age             time.Duration // since that snapshot was last confirmed
	ReadFrom        string        // the node that answered
	Static          bool          // only the nodes of the DSN are known
	RolesKnown      bool
	Refreshes       uint64 // readings that succeeded
	Readings        uint64 // of those, how many read rows: the others learnt by a small question that nothing had changed
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

// GrantFor is the statement that lets the user read the system table, to be run by an administrator.
func GrantFor(table, user string) string {
	return "GRANT READ ON TABLE " + table + " TO " + quoteIdent(user)
}

// quoteIdent writes a name for SQL. Picodata folds unquoted names to lower case.
func quoteIdent(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) && (name[0] < '0' || name[0] > '9')
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// MissingGrants are the statements that would give the user what this snapshot lacks, sorted.
func (t *Topology) MissingGrants(user string) []string {
	if t == nil {
		return nil
	}
	var grants []string
	for _, table := range t.Denied {
		grants = append(grants, GrantFor(table, user))
	}
	slices.Sort(grants)
	return slices.Compact(grants)
}

// NodeError is what became of one node.
type NodeError struct {
	Node string // address
	Err  error
}

// Error names the node.
func (e *NodeError) Error() string {
	return fmt.Sprintf("picodata: node %s: %v", e.Node, strings.TrimPrefix(e.Err.Error(), "picodata: "))
}

// Unwrap is the cause.
func (e *NodeError) Unwrap() error { return e.Err }
