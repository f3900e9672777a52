package metadata

import (
	"maps"
	"slices"
)

// EventKind is what happened between two snapshots.
type EventKind uint8

// Kinds of events. For instances: Joined, Left, StateChanged, RoleChanged, AddressChanged,
// MovedReplicaset, VersionChanged. For replicasets: ReplicasetAdded, ReplicasetGone,
// SwitchStarted, SwitchEnded. For the client itself: RightsChanged, SeedIdentified.
const (
	Joined EventKind = iota + 1
	Left
	StateChanged
	RoleChanged
	AddressChanged
	MovedReplicaset
	VersionChanged
	ReplicasetAdded
	ReplicasetGone
	SwitchStarted
	SwitchEnded
	RightsChanged
	SeedIdentified
)

var eventNames = [...]string{
	Joined: "instance joined", Left: "instance left", StateChanged: "instance changed state", RoleChanged: "instance changed role",
	AddressChanged: "instance changed address", MovedReplicaset: "instance moved to another replicaset", VersionChanged: "instance changed version",
	ReplicasetAdded: "replicaset added", ReplicasetGone: "replicaset gone", SwitchStarted: "replicaset began to switch leaders",
	SwitchEnded: "replicaset has a leader", RightsChanged: "rights on system tables changed", SeedIdentified: "node of the DSN identified",
}

// String is the kind in the words of log lines.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "unknown event"
}

// Event is one difference between two snapshots.
type Event struct {
	Kind EventKind
	UUID string // of the instance or replicaset
	Name string // of the instance or replicaset, or the address of a seed
	Tier string
	From string // what it was; "" for something new
	To   string // what it is; "" for something gone
}

// Diff lists what happened from old to new, instances first, each in new's order and then those that are
// gone in old's. Either may be nil; rights change only between two. It allocates for what changed alone. Instances that are
// Expelled count as gone. Hidden counters, ReadAt and ReadFrom don't count.
func Diff(old, new *Topology) []Event {
	both := old != nil && new != nil
	if old == nil {
		old = &Topology{}
	}
	if new == nil {
		new = &Topology{}
	}
	var events []Event
	for i := range new.Instances {
		n := &new.Instances[i]
		o, had := old.Instance(n.UUID)
		events = diffInstance(events, o, n, had && o.State != Expelled)
	}
	for i := range old.Instances {
		o := &old.Instances[i]
		if _, has := new.Instance(o.UUID); !has && o.State != Expelled {
			events = append(events, Event{Kind: Left, UUID: o.UUID, Name: o.Name, Tier: o.Tier, From: o.Address})
		}
	}
	for i := range new.Replicasets {
		n := &new.Replicasets[i]
		o, had := old.Replicaset(n.UUID)
		if !had {
			events = append(events, Event{Kind: ReplicasetAdded, UUID: n.UUID, Name: n.Name, Tier: n.Tier, To: n.LeaderUUID})
			o = &Replicaset{}
		}
		switch {
		case n.Switching && (!o.Switching || o.TargetMaster != n.TargetMaster || o.CurrentMaster != n.CurrentMaster):
			events = append(events, Event{Kind: SwitchStarted, UUID: n.UUID, Name: n.Name, Tier: n.Tier, From: n.CurrentMaster, To: n.TargetMaster})
		case had && n.LeaderUUID != o.LeaderUUID && n.LeaderUUID != "":
			events = append(events, Event{Kind: SwitchEnded, UUID: n.UUID, Name: n.Name, Tier: n.Tier, From: o.LeaderUUID, To: n.LeaderUUID})
		}
	}
	for i := range old.Replicasets {
		o := &old.Replicasets[i]
		if _, has := new.Replicaset(o.UUID); !has {
			events = append(events, Event{Kind: ReplicasetGone, UUID: o.UUID, Name: o.Name, Tier: o.Tier, From: o.LeaderUUID})
		}
	}
	if both && (old.RolesKnown != new.RolesKnown || old.Static != new.Static) {
		events = append(events, Event{Kind: RightsChanged, From: old.Rights(), To: new.Rights()})
	}
	for _, s := range new.Seeds {
		at := slices.IndexFunc(old.Seeds, func(o Seed) bool { return o.Address == s.Address })
		was := ""
		if at >= 0 {
			was = old.Seeds[at].InstanceUUID
		}
		if was != s.InstanceUUID {
			events = append(events, Event{Kind: SeedIdentified, Name: s.Address, From: was, To: s.InstanceUUID})
		}
	}
	return events
}

func diffInstance(events []Event, o, n *Instance, had bool) []Event {
	if n.State == Expelled {
		if had {
			events = append(events, Event{Kind: Left, UUID: n.UUID, Name: n.Name, Tier: n.Tier, From: o.Address})
		}
		return events
	}
	add := func(kind EventKind, from, to string) {
		events = append(events, Event{Kind: kind, UUID: n.UUID, Name: n.Name, Tier: n.Tier, From: from, To: to})
	}
	if !had {
		add(Joined, "", n.Address)
		return events
	}
	if o.State != n.State || o.TargetState != n.TargetState {
		add(StateChanged, stateText(o), stateText(n))
	}
	if o.Role != n.Role {
		add(RoleChanged, o.Role.String(), n.Role.String())
	}
	if o.Address != n.Address {
		add(AddressChanged, o.Address, n.Address)
	}
	if o.ReplicasetUUID != n.ReplicasetUUID || o.ReplicasetName != n.ReplicasetName || o.Tier != n.Tier {
		add(MovedReplicaset, o.ReplicasetName, n.ReplicasetName)
	}
	if o.Version != n.Version {
		add(VersionChanged, o.Version, n.Version)
	}
	return events
}

// stateText is "Online", or "Online, target Offline" on the way.
func stateText(in *Instance) string {
	if in.TargetState == "" || in.TargetState == in.State {
		return string(in.State)
	}
	return string(in.State) + ", target " + string(in.TargetState)
}

// Rights says in a few words how much of the cluster the user may see.
func (t *Topology) Rights() string {
	switch {
	case t.Static:
		return "nodes of the DSN only"
	case !t.RolesKnown:
		return "instances without roles"
	default:
		return "full"
	}
}

// Equal tells whether two snapshots say the same of the cluster. Which reading said so (Version, ReadAt, ReadFrom,
// Skipped) and the numbers that only order readings (Weight and ConfigVersion of replicasets) don't count.
func (a *Topology) Equal(b *Topology) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Static == b.Static && a.RolesKnown == b.RolesKnown &&
		slices.Equal(a.Denied, b.Denied) && slices.Equal(a.Seeds, b.Seeds) && slices.Equal(a.Tiers, b.Tiers) &&
		slices.EqualFunc(a.Replicasets, b.Replicasets, func(x, y Replicaset) bool {
			x.ConfigVersion, y.ConfigVersion = 0, 0
			x.Weight, y.Weight = 0, 0
			return x == y
		}) &&
		slices.EqualFunc(a.Instances, b.Instances, sameInstance)
}

func sameInstance(x, y Instance) bool {
	return x.UUID == y.UUID && x.Name == y.Name && x.RaftID == y.RaftID &&
		x.ReplicasetUUID == y.ReplicasetUUID && x.ReplicasetName == y.ReplicasetName && x.Tier == y.Tier &&
		x.State == y.State && x.Incarnation == y.Incarnation && x.TargetState == y.TargetState && x.Role == y.Role && x.Version == y.Version &&
		x.Address == y.Address && x.Advertised == y.Advertised && maps.Equal(x.FailureDomain, y.FailureDomain)
}
