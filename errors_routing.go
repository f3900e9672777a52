package picodata

import "github.com/picodata/go-picodata/internal/route"

// Typed errors of hints and settings that can't be met whatever happens; use errors.As.
type (
	// ShardRangeError: no_shard_specified_behavior=shard_N names a replicaset that the tier doesn't have.
	ShardRangeError = route.ShardRangeError
	// BucketRangeError: ToBucket names a bucket that the tier doesn't have.
	BucketRangeError = route.BucketRangeError
	// UnknownNameError: ToInstance, ToReplicaset or ToTier names what the cluster doesn't have.
	UnknownNameError = route.UnknownNameError
)
