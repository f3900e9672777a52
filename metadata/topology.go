// Package metadata knows what the cluster looks like: an immutable Topology, a Source
// that reads it from the system tables, a Watcher that keeps it fresh, and the bucket map.
package metadata

import "time"

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

// Roles. RoleUnknown: the user may not read _pico_replicaset, or the replicaset is switching.
const (
	RoleUnknown Role = iota
	RoleLeader
	RoleReplica
)

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
	TargetState    State
	Role           Role
	Version        string            // picodata_version
	Address        string            // where to dial, after address_map and the replacement of unspecified hosts
	Advertised     string            // as the row says it
	FailureDomain  map[string]string // read only
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
}

// Tier is one row of _pico_tier.
type Tier struct {
	Name         string
	BucketCount  uint64
	BucketsKnown bool // false: the user may not read _pico_tier
	IsDefault    bool
}

// Topology is one snapshot of the cluster. It is immutable: share it, don't change it.
type Topology struct {
	Version     uint64 // grows by one with every change
	ReadAt      time.Time
	ReadFrom    string       // name or address of the node that answered
	RolesKnown  bool         // _pico_replicaset could be read
	Instances   []Instance   // sorted by tier, replicaset name, name
	Replicasets []Replicaset // sorted by tier, name
	Tiers       []Tier       // sorted by name
}
