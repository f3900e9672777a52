// Package route decides where a statement may run: what the caller's context asks for, the
// leader that owns the row whose sharding key the statement carries, or any node by the balancing
// policy. It is pure: everything it needs is passed in, and it does no I/O.
//
// A wrong decision costs one hop inside the cluster and never a wrong result, for the server
// computes the bucket again. Still nothing is guessed: what isn't certain is left to the policy, and
// the reason is counted.
package route

// Reason says why a statement that could have been routed wasn't. The words are the names of
// counters and are the same in the official clients where they have them.
type Reason string

// Reasons. NoReason: the statement was routed, or it isn't one that is.
const (
	NoReason      Reason = ""
	MetaMiss      Reason = "meta_miss"      // nobody has said yet what the text's sharding key is
	NotRoutable   Reason = "not_routable"   // the text has no key to route by
	NoTopology    Reason = "no_topology"    // nothing is known of buckets yet, or the user may not read it
	UnknownTier   Reason = "unknown_tier"   // the statement's tier has no known buckets
	NoBucket      Reason = "no_bucket"      // the key's hash isn't certain, or nobody owns its bucket at present
	SeveralOwners Reason = "several_owners" // the rows of one INSERT belong to several replicasets
	NoLeader      Reason = "no_leader"      // the replicaset is switching, or roles aren't known
	LeaderEjected Reason = "leader_ejected" // the leader's connections failed; said by who leases
	LeaderBusy    Reason = "leader_busy"    // the leader is full and routing_acquire_timeout over; said by who leases
	StaleRead     Reason = "stale_read"     // the leader is dead, and a replica answers; said by who waits for leaders
	RoleExcluded  Reason = "role_excluded"  // instance_role, the tiers or the mode leave the leader out
)

// Reasons are all of them, in the order in which a statement meets them.
func Reasons() []Reason {
	return []Reason{MetaMiss, NotRoutable, NoTopology, UnknownTier, NoBucket, SeveralOwners, NoLeader, RoleExcluded, LeaderEjected, LeaderBusy, StaleRead}
}

var reasonWords = map[Reason]string{
	MetaMiss:      "its sharding key isn't known yet",
	NotRoutable:   "it carries no sharding key to route by",
	NoTopology:    "the buckets of the cluster aren't known",
	UnknownTier:   "the buckets of its tier aren't known",
	NoBucket:      "the owner of its bucket can't be told",
	SeveralOwners: "its rows belong to several replicasets",
	NoLeader:      "the replicaset has no known leader at present",
	LeaderEjected: "the leader is ejected after failed connections",
	LeaderBusy:    "the leader has no free connection",
	StaleRead:     "the leader doesn't answer, and a replica that may be behind does",
	RoleExcluded:  "the leader isn't among the nodes that may be used",
}

// Words say the reason in a sentence's part.
func (r Reason) Words() string { return reasonWords[r] }
