// Package route decides where a statement may run: what the caller's context asks for, the
// leader that owns the row whose sharding key the statement carries, or any node by the balancing
// policy. It is pure: everything it needs is passed in, and it does no I/O.
//
// A wrong decision costs one hop inside the cluster and never a wrong result, for the server
// computes the bucket again. Still nothing is guessed: what isn't certain is left to the policy, and
// the reason is counted.
package route

import (
	"database/sql/driver"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
)

// Kind is what a Plan asks of whoever leases a connection.
type Kind uint8

// Kinds.
const (
	// Balance: any node, by the balancing policy.
	Balance Kind = iota
	// Leader: the instance InstanceUUID, which leads the replicaset of the statement's bucket; by
	// the policy if it can't take a connection within routing_acquire_timeout.
	Leader
	// Filter: a node that meets all of InstanceUUID, ReplicasetUUID, Tier and Role that are set.
	// With Strict no other node will do; without it the policy follows.
	Filter
	// Learn: nothing may run before the text's sharding key was asked for with a Parse alone.
	// Decide again then, with Input.KeyKnown or, if no notice came, Input.KeyAsked.
	Learn
	// NoShard: no_shard_specified_behavior=fail. Nothing may run.
	NoShard
	// Invalid: a hint or setting that can't be met whatever happens; Err says what. Nothing may run.
	Invalid
)

var kindNames = [...]string{"balance", "leader", "filter", "learn", "no shard", "invalid"}

// String is the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Plan is where a statement may run, and why. It is a plain value.
type Plan struct {
	Kind Kind
	// Strict: only nodes that meet the filter, see Filter.
	Strict bool
	// BucketKnown: Tier and Bucket are the statement's.
	BucketKnown bool
	// Shared: the rows of an INSERT lie in several buckets of one replicaset, ReplicasetUUID. By the server's own map
	// they may lie elsewhere by now, so that this proves nothing about a refusal.
	Shared bool
	// Hinted: the caller's context decided.
	Hinted bool
	// Role is wanted of the node in addition; RoleAny: no matter.
	Role options.InstanceRole

	Tier           string
	Bucket         uint64 // from 1; valid with BucketKnown
	ReplicasetUUID string
	Replicaset     string // its name, where it is known
	InstanceUUID   string
	Instance       string // its name, where it is known

	// Shard is the behaviour of no_shard_specified_behavior that chose the replicaset, and
	// ByShard that one did.
	Shard   options.NoShardBehavior
	ByShard bool

	// Reason says why a statement that could have been routed isn't; Detail adds words.
	Reason Reason
	Detail string
	Err    error // of Invalid

	// Refresh says what proved to be behind, for metadata.Watcher.Hint; "" = nothing.
	Refresh schema.Reason
}

// Routed reports whether the statement goes to its key's replicaset without having been told to.
func (p *Plan) Routed() bool {
	return !p.Hinted && (p.BucketKnown || p.Shared) && p.Reason == NoReason && (p.Kind == Leader || p.Kind == Filter)
}

// OneBucket reports whether the statement is known to touch one bucket only, so that an error of
// its replicaset can't have left a part of it applied elsewhere. A bucket that a hint names proves
// nothing: the statement may go beyond it.
func (p *Plan) OneBucket() bool { return p.BucketKnown && !p.Hinted }

// Counter is the name under which the decision is counted: a Reason, "routed", "hint", the
// no-shard behaviour that chose where there is no reason, or "balance". Who leases sets Reason to
// LeaderEjected or LeaderBusy first, if the leader couldn't be had.
func (p *Plan) Counter() string {
	switch {
	case p.Hinted && p.Reason == NoReason:
		return "hint"
	case p.Routed():
		return "routed"
	case p.Reason != NoReason:
		return string(p.Reason)
	case p.ByShard:
		return shardWord(p.Shard)
	}
	return "balance"
}

// Hint is what the caller's context asks for. The zero Hint asks for nothing.
type Hint struct {
	Instance   string // name or uuid
	Replicaset string // name or uuid
	Tier       string // with Bucket or Key: whose; "" = the default tier
	Role       options.InstanceRole
	Bucket     uint64 // with BucketSet
	BucketSet  bool
	Key        []any // with KeySet: the sharding key's values, in its order
	KeySet     bool
}

func (h *Hint) empty() bool {
	return h.Instance == "" && h.Replicaset == "" && h.Tier == "" && h.Role == options.RoleAny && !h.BucketSet && !h.KeySet
}

// Input is everything a decision needs. Only View and Info must be given.
type Input struct {
	View *View
	Info *sqltext.Info
	Args []driver.NamedValue // as they will be sent
	Hint *Hint               // nil: none

	// Key is what a server's notice said of the text; valid with KeyKnown.
	Key      schema.KeyMeta
	KeyKnown bool
	// KeyAsked: the text was parsed with the notice asked for, and none came.
	KeyAsked bool

	// Keys has the keys of reads, updates and deletes looked at under routing=insert too.
	Keys bool

	// Candidate is what Consider found of the text; nil: it is found anew.
	Candidate *Candidate

	// Random is a uniformly random number, for no_shard_specified_behavior=random and random_healthy.
	Random uint64
	// Health and Now are for random_healthy. Without Health it is random.
	Health *Health
	Now    time.Time
}

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
