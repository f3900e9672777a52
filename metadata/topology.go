// Package metadata knows what the cluster looks like: an immutable Topology, a Source
// that reads it from the system tables, a Watcher that keeps it fresh, and the bucket map.
package metadata

import (
	"time"

	"github.com/picodata/go-picodata/options"
)

// State is an instance's state as the server names it.
type State string

// The states that servers of 25.2 to 26.2 write; others are kept as they are and never count as Online.
const (
	Online   State = "Online"
	Offline  State = "Offline"
	Expelled State = "Expelled"
)

// Role is what an instance is in its replicaset.
type Role uint8

// Roles. RoleUnknown: the user may not read _pico_replicaset, or the replicaset is switching
// and the instance is its current or its target master.
const (
	RoleUnknown Role = iota
	RoleLeader
	RoleReplica
)

// String is the role in the words of log lines and Stats.
func (r Role) String() string {
	switch r {
	case RoleLeader:
		return "leader"
	case RoleReplica:
		return "replica"
	default:
		return "unknown"
	}
}

// Is tells whether an instance of role r serves who asks for an instance of role want. Nobody's role is any: an
// instance of unknown role serves only who takes all.
func (r Role) Is(want options.InstanceRole) bool {
	switch want {
	case options.RoleAny:
		return true
	case options.RoleLeader:
		return r == RoleLeader
	case options.RoleReplica:
		return r == RoleReplica
	default:
		return false
	}
}

// Instance is one row of _pico_instance joined with its pgproto address. Instances are
// keyed by UUID: names are reused after an expel.
type Instance struct {
	UUID           string
	Name           string
	RaftID         uint64
	ReplicasetUUID string
	ReplicasetName string
	Tier           string
	State          State // current state
	TargetState    State // "" when the row doesn't say
	Role           Role
	Version        string            // picodata_version
	Address        string            // where to dial, after address_map and the replacement of unspecified hosts; "" = the row's address can't be used
	Advertised     string            // as the row says it
	FailureDomain  map[string]string // read only

	incarnation uint64 // of State; grows with every return, so it tells an old row from a new one
}

// Replicaset is one row of _pico_replicaset.
type Replicaset struct {
	UUID          string
	Name          string
	Tier          string
	State         string
	CurrentMaster string // instance name
	TargetMaster  string // instance name
	LeaderUUID    string // "" while switching or unknown
	Switching     bool   // current and target master differ

	weight        string // as the row says it: buckets move when it changes
	configVersion uint64 // current_config_version; never goes back on the server
}

// Tier is one row of _pico_tier, or a name seen in _pico_instance alone.
type Tier struct {
	Name         string
	BucketCount  uint64
	BucketsKnown bool // false: the user may not read _pico_tier
	IsDefault    bool // always false before 25.4, which has no such column
}

// Seed is a node of the DSN as the cluster client knows it.
type Seed struct {
	Address      string // host:port of the DSN
	InstanceUUID string // what the server there said it is (pico_instance_uuid()); "" = not asked or no answer yet
	OwnAddress   bool   // that instance was met at its own Address too
}

// Topology is one snapshot of the cluster. It is immutable: share it, don't change it.
// A Topology that wasn't made by Build answers the same questions, only slower.
type Topology struct {
	Version     uint64 // grows by one with every change
	ReadAt      time.Time
	ReadFrom    string       // name or address of the node that answered
	RolesKnown  bool         // _pico_replicaset could be read
	Static      bool         // the instances could not be read: only Seeds is known
	Instances   []Instance   // sorted by tier, replicaset name, name
	Replicasets []Replicaset // sorted by tier, name
	Tiers       []Tier       // sorted by name
	Seeds       []Seed       // the nodes of the DSN, in its order
	Denied      []string     // system tables that the user may not read and whose content is missing here
	Skipped     int          // rows of this reading that were left out or lost their address

	index *index
}
