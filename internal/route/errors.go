package route

import (
	"fmt"
	"strconv"
)

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
