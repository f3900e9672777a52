package picodata

import (
	"context"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/options"
)

// A context carries at most one hint; each of the functions below copies it and adds to it.

func withPlace(ctx context.Context, change func(*route.Hint)) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) {
		h.Placed = true
		change(&h.Place)
	})
}

// ToInstance returns a context whose statements run on the instance of that name or uuid. If the
// instance isn't in the node set the statement fails with a typed error; it never moves elsewhere.
func ToInstance(ctx context.Context, nameOrUUID string) context.Context {
	return withPlace(ctx, func(h *route.Hint) { h.Instance = nameOrUUID })
}

// ToReplicaset returns a context whose statements run on a node of the replicaset of that name or uuid.
func ToReplicaset(ctx context.Context, nameOrUUID string) context.Context {
	return withPlace(ctx, func(h *route.Hint) { h.Replicaset = nameOrUUID })
}

// ToTier returns a context whose statements run on nodes of that tier.
func ToTier(ctx context.Context, tier string) context.Context {
	return withPlace(ctx, func(h *route.Hint) { h.Tier = tier })
}

// ToLeader returns a context whose statements run on leaders only; with ToReplicaset, ToBucket
// or ShardKey on that replicaset's leader.
func ToLeader(ctx context.Context) context.Context {
	return withPlace(ctx, func(h *route.Hint) { h.Role = options.RoleLeader })
}

// ToReplica returns a context whose statements run on replicas only. It says where the statement
// is handed in, not where the server reads: that is read_preference's business.
func ToReplica(ctx context.Context) context.Context {
	return withPlace(ctx, func(h *route.Hint) { h.Role = options.RoleReplica })
}

// ToBucket returns a context whose statements run in the replicaset that holds the bucket (1 up to
// the tier's bucket count), on its leader unless ToReplica says otherwise. An empty tier means the default tier.
func ToBucket(ctx context.Context, tier string, bucket uint64) context.Context {
	return withPlace(ctx, func(h *route.Hint) {
		h.Tier, h.Bucket, h.BucketSet, h.Key, h.KeySet = tier, bucket, true, nil, false
	})
}

// ShardKey returns a context whose statements run in the replicaset that owns the row with this
// sharding key, on its leader unless ToReplica says otherwise. The values come in the order of DISTRIBUTED BY.
// An empty tier means the default tier. The values must have the types that the server will see for
// the key's columns: int64 1 and the decimal 1 lie in different buckets.
func ShardKey(ctx context.Context, tier string, values ...any) context.Context {
	return withPlace(ctx, func(h *route.Hint) {
		h.Tier, h.Bucket, h.BucketSet, h.Key, h.KeySet = tier, 0, false, append([]any(nil), values...), true
	})
}

// Idempotent returns a context whose statements may be run again by the driver after a lost
// connection although they aren't plain reads: the caller vouches that running one twice is
// the same as running it once (INSERT … ON CONFLICT DO NOTHING, for example).
//
// What hangs in a living server may run minutes later. So an UPDATE, a DELETE, a block, a CALL or an INSERT … ON CONFLICT
// DO REPLACE is not run again while its first run may be asleep there (a leader changed under it, or the server's own
// timeout): a second run would be acknowledged, and the first could undo what came after it. See IdempotentAnyTime.
func Idempotent(ctx context.Context) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) { h.Idempotent = true })
}

// IdempotentAnyTime is Idempotent for statements that a late repetition can't harm either, whatever was written meanwhile:
// those that are guarded by a version (UPDATE … WHERE id = $1 AND version = $2), or whose rows nobody else changes. They
// are run again also while their first run may be asleep on a living instance.
func IdempotentAnyTime(ctx context.Context) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) { h.Idempotent, h.AnyTime = true, true })
}

// NoRetry returns a context whose statements the driver hands to one node once. It outweighs Idempotent.
func NoRetry(ctx context.Context) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) { h.NoRetry = true })
}
