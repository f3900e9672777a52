package route

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/options"
)

// Describe says in one sentence's words where the statement may run and why. It names
// instances, replicasets, tiers and buckets, and holds no value of the statement.
func Describe(p Plan) string {
	var b strings.Builder
	switch p.Kind {
	case Balance:
		b.WriteString("any node, by the balancing policy")
	case Leader:
		fmt.Fprintf(&b, "%s, the leader of %s", either(p.Instance, p.InstanceUUID), either(p.Replicaset, p.ReplicasetUUID))
	case Filter:
		b.WriteString(describeFilter(&p))
	case Learn:
		b.WriteString("nowhere before a server was asked for the sharding key")
	case NoShard:
		b.WriteString("nowhere: no_shard_specified_behavior=fail")
	case Invalid:
		b.WriteString("nowhere: ")
		b.WriteString(strings.TrimPrefix(fmt.Sprint(p.Err), "picodata: "))
		return b.String()
	}
	switch {
	case p.BucketKnown && p.Reason == NoReason:
		fmt.Fprintf(&b, ", which owns bucket %d of tier %s", p.Bucket, p.Tier)
	case p.ByShard:
		fmt.Fprintf(&b, ", chosen by no_shard_specified_behavior=%s", shardWord(p.Shard))
	}
	if p.Hinted && p.Kind != Balance {
		b.WriteString(", as the context asks")
	}
	if p.Reason != NoReason {
		fmt.Fprintf(&b, ": %s (%s)", p.Reason.Words(), p.Reason)
		if p.BucketKnown {
			fmt.Fprintf(&b, "; bucket %d of tier %s", p.Bucket, p.Tier)
			if p.ReplicasetUUID != "" && p.Kind == Balance {
				fmt.Fprintf(&b, " lies in %s", either(p.Replicaset, p.ReplicasetUUID))
			}
		}
	}
	if p.Detail != "" {
		b.WriteString("; ")
		b.WriteString(p.Detail)
	}
	return b.String()
}

func describeFilter(p *Plan) string {
	role := ""
	switch p.Role {
	case options.RoleAny:
	case options.RoleLeader:
		role = "leader"
	case options.RoleReplica:
		role = "replica"
	}
	switch {
	case p.InstanceUUID != "":
		s := either(p.Instance, p.InstanceUUID)
		if role != "" {
			s += " if it is a " + role
		}
		return s
	case p.ReplicasetUUID != "" && role == "leader":
		return "the leader of " + either(p.Replicaset, p.ReplicasetUUID)
	case p.ReplicasetUUID != "" && role != "":
		return "a replica of " + either(p.Replicaset, p.ReplicasetUUID)
	case p.ReplicasetUUID != "":
		return "a node of " + either(p.Replicaset, p.ReplicasetUUID)
	case p.Tier != "" && role != "":
		return "a " + role + " of tier " + p.Tier
	case p.Tier != "":
		return "a node of tier " + p.Tier
	case role != "":
		return "a " + role
	}
	return "any node"
}

func either(name, uuid string) string {
	if name != "" {
		return name
	}
	return strconv.Quote(uuid)
}

func shardWord(b options.NoShardBehavior) string {
	if b == options.NoShardN {
		return "shard_N"
	}
	return options.NoShard{Behavior: b}.String()
}

// ShardRangeError says that no_shard_specified_behavior=shard_N names a replicaset that the
// tier doesn't have.
type ShardRangeError struct {
	Shard int
	Tier  string
	Have  int // replicasets of the tier
}

// Error says what there is.
func (e *ShardRangeError) Error() string {
	tier := "the tier"
	if e.Tier != "" {
		tier = "tier " + strconv.Quote(e.Tier)
	}
	if e.Have == 0 {
		return fmt.Sprintf("picodata: no_shard_specified_behavior=shard_%d: no replicaset of %s is known", e.Shard, tier)
	}
	return fmt.Sprintf("picodata: no_shard_specified_behavior=shard_%d: %s has %d replicasets, shard_0 to shard_%d", e.Shard, tier, e.Have, e.Have-1)
}

// BucketRangeError says that a hint names a bucket that the tier doesn't have.
type BucketRangeError struct {
	Tier   string
	Bucket uint64
	Count  uint64
}

// Error says which buckets there are.
func (e *BucketRangeError) Error() string {
	return fmt.Sprintf("picodata: bucket %d: tier %q has the buckets 1 to %d", e.Bucket, e.Tier, e.Count)
}

// UnknownNameError says that a hint names what the cluster doesn't have.
type UnknownNameError struct {
	What string // "instance", "replicaset" or "tier"
	Name string
}

// Error says what was asked for.
func (e *UnknownNameError) Error() string {
	return fmt.Sprintf("picodata: no %s %q in the cluster as it is known at present", e.What, e.Name)
}
