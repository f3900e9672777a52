package nodeset

import (
	"strings"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Filter says which nodes will do. The zero Filter is for any node of the set.
type Filter struct {
	Node       string               // ID of the one node
	Replicaset string               // uuid
	Tier       string               // name
	Role       options.InstanceRole // RoleAny: no matter
}

// Met tells whether a node is one of those.
func (f *Filter) Met(n *Info) bool {
	return f.matches(n.ID, n.Replicaset, n.Tier) && f.admits(n.Role)
}

// Fits is Met for a description, eligible or not.
func (f *Filter) Fits(s *Spec) bool { return f.Matches(s) && f.admits(s.Role) }

// Matches is Fits whatever the role: a replicaset between two leaders has nodes that match and don't fit.
func (f *Filter) Matches(s *Spec) bool { return f.matches(s.ID, s.Replicaset, s.Tier) }

func (f *Filter) matches(id, replicaset, tier string) bool {
	return (f.Node == "" || f.Node == id) && (f.Replicaset == "" || f.Replicaset == replicaset) && (f.Tier == "" || f.Tier == tier)
}

func (f *Filter) admits(role metadata.Role) bool { return role.Is(f.Role) }

// Narrow tells whether the filter names one node or one replicaset. Such requests look past weights and
// priorities, and past ejection only if the whole set is ejected.
func (f *Filter) Narrow() bool { return f.Node != "" || f.Replicaset != "" }

// Describe is the filter in words, for errors. node and replicaset are the names of what it has IDs of.
func (f *Filter) Describe(node, replicaset string) string {
	var parts []string
	switch f.Role {
	case options.RoleAny:
	case options.RoleLeader:
		parts = append(parts, "role leader")
	case options.RoleReplica:
		parts = append(parts, "role replica")
	}
	if f.Node != "" {
		parts = append(parts, "instance "+node)
	}
	if f.Replicaset != "" {
		parts = append(parts, "replicaset "+replicaset)
	}
	if f.Tier != "" {
		parts = append(parts, "tier "+f.Tier)
	}
	if len(parts) == 0 {
		return "any node"
	}
	return strings.Join(parts, ", ")
}
