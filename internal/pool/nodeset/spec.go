// Package nodeset knows which nodes a request may use and which of them it should: descriptions, filters, classes,
// levels and candidates. It is pure: it holds no connection, no lock, no clock and no goroutine. internal/pool tells it
// what has become of a node and asks it to choose.
//
// The words: a class is the nodes that one kind of request may use. A level is the part of a class that comes
// before the next one (weight above 0, priority, zone). A candidate is a node that can take a connection now.
package nodeset

import (
	"cmp"
	"maps"
	"strings"

	"github.com/picodata/go-picodata/metadata"
)

// Spec describes a node.
type Spec struct {
	ID             string // instance uuid, or "seed:host:port" while the identity isn't known
	Name           string
	Address        string // another address makes it another node
	Tier           string
	Replicaset     string // uuid
	ReplicasetName string
	Role           metadata.Role
	Weight         int // 0 = overflow only
	Priority       int // higher ones first
	MaxConns       int // 0 = no cap
	Zone           map[string]string
	Eligible       bool // false: known, but excluded by the policy (role, tier); it is never leased
	Target         any  // for whoever dials
}

// Info identifies the node of a lease. It is never changed.
type Info struct {
	ID             string
	Name           string
	Address        string
	Tier           string
	Replicaset     string
	ReplicasetName string
	Role           metadata.Role
	Eligible       bool // the policy (role, tiers) lets statements use it
}

// String is name@address, or what there is of it.
func (n *Info) String() string {
	if n.Name == "" || n.Name == n.Address { // nobody has identified it
		return n.Address
	}
	return n.Name + "@" + n.Address
}

// Info makes the identity that leases carry.
func (s *Spec) Info() *Info {
	return &Info{ID: s.ID, Name: s.Name, Address: s.Address, Tier: s.Tier, Replicaset: s.Replicaset,
		ReplicasetName: s.ReplicasetName, Role: s.Role, Eligible: s.Eligible}
}

// Overflow tells whether only overflow may use the node.
func (s *Spec) Overflow() bool { return s.Weight <= 0 }

// Same tells whether two descriptions are the same, Target aside: it belongs to the address.
func (s *Spec) Same(o *Spec) bool {
	return s.sameClasses(o) && s.Address == o.Address && s.ReplicasetName == o.ReplicasetName && s.MaxConns == o.MaxConns
}

// sameClasses tells whether two descriptions put a node into the same classes and levels and show it alike there.
func (s *Spec) sameClasses(o *Spec) bool {
	return s.ID == o.ID && s.Name == o.Name && s.Tier == o.Tier && s.Replicaset == o.Replicaset && s.Role == o.Role &&
		s.Weight == o.Weight && s.Priority == o.Priority && s.Eligible == o.Eligible && maps.Equal(s.Zone, o.Zone)
}

// Compare orders nodes as statistics and errors list them.
func (s *Spec) Compare(o *Spec) int {
	return cmp.Or(
		strings.Compare(s.Tier, o.Tier),
		strings.Compare(s.ReplicasetName, o.ReplicasetName),
		strings.Compare(s.Name, o.Name),
		strings.Compare(s.ID, o.ID),
	)
}
