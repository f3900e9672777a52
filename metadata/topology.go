// Package metadata is what a program may ask about a cluster: an immutable Topology, what changed between
// two of them, the node set that a Config makes of one, and the bucket map.
package metadata

import (
	"cmp"
	"fmt"
	"slices"
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

	// Incarnation is State's: it grows when the instance joins again after a restart, also if nobody had
	// missed it, so it tells an old row from a new one.
	Incarnation uint64
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

	Weight        float64 // its share of the tier's buckets: they move when it changes
	ConfigVersion uint64  // current_config_version, which never goes back; 0 = the row doesn't say
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

// index holds positions in the slices of one Topology.
type index struct {
	instances   map[string]int // by uuid
	names       map[string]int
	replicasets map[string]int // by uuid
	tiers       map[string]int
}

// Build sorts the slices of t, which it takes over, resolves leaders and roles, and returns
// a Topology that looks things up in constant time. Of several rows with one UUID the first stays.
func Build(t Topology) *Topology {
	t.Instances = uniqueBy(t.Instances, func(i Instance) string { return i.UUID })
	t.Replicasets = uniqueBy(t.Replicasets, func(r Replicaset) string { return r.UUID })
	t.Tiers = uniqueBy(t.Tiers, func(x Tier) string { return x.Name })
	slices.SortStableFunc(t.Instances, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.ReplicasetName, b.ReplicasetName),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	slices.SortStableFunc(t.Replicasets, func(a, b Replicaset) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	slices.SortStableFunc(t.Tiers, func(a, b Tier) int { return cmp.Compare(a.Name, b.Name) })

	x := &index{
		instances:   make(map[string]int, len(t.Instances)),
		names:       make(map[string]int, len(t.Instances)),
		replicasets: make(map[string]int, len(t.Replicasets)),
		tiers:       make(map[string]int, len(t.Tiers)),
	}
	for i := range t.Instances {
		in := &t.Instances[i]
		x.instances[in.UUID] = i
		if old, ok := x.names[in.Name]; !ok || supersedes(in, &t.Instances[old]) {
			x.names[in.Name] = i
		}
	}
	for i := range t.Replicasets {
		x.replicasets[t.Replicasets[i].UUID] = i
	}
	for i := range t.Tiers {
		x.tiers[t.Tiers[i].Name] = i
	}
	t.index = x
	if t.RolesKnown {
		resolveRoles(&t)
	}
	return &t
}

// supersedes tells whether a is the one that a name means today. An expelled instance's
// row stays for ever and its name is given to a new one, whose raft id is greater.
func supersedes(a, b *Instance) bool {
	if (a.State == Expelled) != (b.State == Expelled) {
		return b.State == Expelled
	}
	return a.RaftID > b.RaftID
}

// resolveRoles fills LeaderUUID, Switching and Role. A master is a name, and names are
// reused: it counts only if an instance of that name, not expelled, belongs to the replicaset by uuid.
func resolveRoles(t *Topology) {
	for i := range t.Replicasets {
		r := &t.Replicasets[i]
		r.Switching = r.CurrentMaster != r.TargetMaster
		r.LeaderUUID = ""
	}
	for i := range t.Instances {
		in := &t.Instances[i]
		in.Role = RoleUnknown
		at, ok := t.index.replicasets[in.ReplicasetUUID]
		if !ok || in.State == Expelled {
			continue
		}
		if r := &t.Replicasets[at]; in.Name == r.CurrentMaster && !r.Switching {
			if other, taken := t.index.instances[r.LeaderUUID]; !taken || supersedes(in, &t.Instances[other]) {
				r.LeaderUUID = in.UUID
			}
		}
	}
	for i := range t.Instances {
		in := &t.Instances[i]
		at, ok := t.index.replicasets[in.ReplicasetUUID]
		if !ok || in.State == Expelled {
			continue
		}
		switch r := &t.Replicasets[at]; {
		case r.LeaderUUID == in.UUID:
			in.Role = RoleLeader
		case r.LeaderUUID != "":
			in.Role = RoleReplica
		case r.Switching && in.Name != r.CurrentMaster && in.Name != r.TargetMaster:
			in.Role = RoleReplica // whoever wins, it isn't this one
		}
	}
}

// uniqueBy keeps the first of the items with one key, in order.
func uniqueBy[T any](items []T, key func(T) string) []T {
	seen := make(map[string]struct{}, len(items))
	return slices.DeleteFunc(items, func(item T) bool {
		k := key(item)
		_, twice := seen[k]
		seen[k] = struct{}{}
		return twice
	})
}

// find is the position of the item that an index, or without one a search, gives.
func find[T any](x map[string]int, indexed bool, items []T, key string, has func(*T) bool) (*T, bool) {
	if indexed {
		if i, ok := x[key]; ok {
			return &items[i], true
		}
		return nil, false
	}
	for i := range items {
		if has(&items[i]) {
			return &items[i], true
		}
	}
	return nil, false
}

// Instance returns the instance with this uuid.
func (t *Topology) Instance(uuid string) (*Instance, bool) {
	if t == nil {
		return nil, false
	}
	if t.index != nil {
		return find(t.index.instances, true, t.Instances, uuid, nil)
	}
	return find(nil, false, t.Instances, uuid, func(i *Instance) bool { return i.UUID == uuid })
}

// ByName returns the instance that bears this name today: one that isn't expelled before
// one that is, then the one that joined last.
func (t *Topology) ByName(name string) (*Instance, bool) {
	if t == nil {
		return nil, false
	}
	if t.index != nil {
		return find(t.index.names, true, t.Instances, name, nil)
	}
	var best *Instance
	for i := range t.Instances {
		if in := &t.Instances[i]; in.Name == name && (best == nil || supersedes(in, best)) {
			best = in
		}
	}
	return best, best != nil
}

// Replicaset returns the replicaset with this uuid.
func (t *Topology) Replicaset(uuid string) (*Replicaset, bool) {
	if t == nil {
		return nil, false
	}
	if t.index != nil {
		return find(t.index.replicasets, true, t.Replicasets, uuid, nil)
	}
	return find(nil, false, t.Replicasets, uuid, func(r *Replicaset) bool { return r.UUID == uuid })
}

// Leader returns the leader of the replicaset with this uuid; none while it is switching,
// or when roles aren't known.
func (t *Topology) Leader(replicasetUUID string) (*Instance, bool) {
	r, ok := t.Replicaset(replicasetUUID)
	if !ok || r.LeaderUUID == "" {
		return nil, false
	}
	return t.Instance(r.LeaderUUID)
}

// Tier returns the tier with this name.
func (t *Topology) Tier(name string) (*Tier, bool) {
	if t == nil {
		return nil, false
	}
	if t.index != nil {
		return find(t.index.tiers, true, t.Tiers, name, nil)
	}
	return find(nil, false, t.Tiers, name, func(x *Tier) bool { return x.Name == name })
}

// ReplicasetsWithoutReplica names the replicasets of which no replica is Online. With
// read_preference=replica the server lets reads of them hang for minutes.
func ReplicasetsWithoutReplica(t *Topology) []string {
	if t == nil || !t.RolesKnown {
		return nil
	}
	alive := make(map[string]bool, len(t.Replicasets))
	for i := range t.Instances {
		if in := &t.Instances[i]; in.Role == RoleReplica && in.State == Online {
			alive[in.ReplicasetUUID] = true
		}
	}
	var names []string
	for i := range t.Replicasets {
		r := &t.Replicasets[i]
		if tier, ok := t.Tier(r.Tier); ok && tier.BucketsKnown && tier.BucketCount == 0 || r.State == "expelled" {
			continue
		}
		if !alive[r.UUID] {
			names = append(names, r.Name)
		}
	}
	return names
}

// IdentityError says that an instance answered at an address which isn't one of the cluster's by the snapshot in
// force: the address belongs to somebody else now, to another cluster perhaps that knows the same users. It got no
// statement and its word about the topology wasn't taken. An instance that has just joined is met again once a
// snapshot shows it.
type IdentityError struct {
	Address string // host:port
	Want    string // uuid of the instance that the snapshot has at the address; "": a host of the DSN
	Got     string // uuid of the instance that answered; "": a server that isn't Picodata
}

// Error names both.
func (e *IdentityError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("the server at %s doesn't say which instance it is: the address belongs to another one", e.Address)
	}
	if e.Want == "" {
		return fmt.Sprintf("instance %s answers at %s, which the cluster doesn't know: the address belongs to another cluster, or the instance has just joined", e.Got, e.Address)
	}
	return fmt.Sprintf("instance %s answers at %s in place of %s, and the cluster doesn't know it: the address belongs to another cluster, or the instance has just joined", e.Got, e.Address, e.Want)
}
