package metadata

import (
	"cmp"
	"slices"
)

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
		if old, ok := x.names[in.Name]; !ok || bearsNameRather(in, &t.Instances[old]) {
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

// bearsNameRather tells whether a is the one that a name means today. An expelled instance's
// row stays for ever and its name is given to a new one, whose raft id is greater.
func bearsNameRather(a, b *Instance) bool {
	if (a.State == Expelled) != (b.State == Expelled) {
		return b.State == Expelled
	}
	return a.RaftID > b.RaftID
}

// Incarnation counts the returns of the instance: it grows when the instance joins again after a
// restart, also if nobody had missed it.
func (in *Instance) Incarnation() uint64 { return in.incarnation }

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
			if other, taken := t.index.instances[r.LeaderUUID]; !taken || bearsNameRather(in, &t.Instances[other]) {
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
		if in := &t.Instances[i]; in.Name == name && (best == nil || bearsNameRather(in, best)) {
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
