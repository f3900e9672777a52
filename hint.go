package picodata

import (
	"context"
	"strconv"
	"strings"

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

// Limits are limits that the server puts on one statement; the zero value leaves both to the connection's setting.
type Limits struct {
	// VdbeOpcodeMax is sql_vdbe_opcode_max: how many steps of the server's SQL engine the statement may take.
	VdbeOpcodeMax options.Limit
	// MotionRowMax is sql_motion_row_max: how many rows it may move between instances at one step.
	MotionRowMax options.Limit
}

// WithLimits returns a context whose SELECT, INSERT, UPDATE and DELETE statements have other limits than the connection: the
// driver adds an OPTION clause to their texts, which servers know from 25.1 on. options.NoLimit lifts a limit. A statement of another kind, or
// one that has an OPTION clause of its own, is an error.
func WithLimits(ctx context.Context, l Limits) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) {
		h.Limits = exec.Limits{Opcodes: l.VdbeOpcodeMax, MotionRows: l.MotionRowMax}
	})
}

// In writes the list of an IN condition for values, with parameters from $first on, and gives the arguments that belong to it:
//
//	list, args := picodata.In(2, ids)
//	rows, err := db.QueryContext(ctx, "SELECT … WHERE tenant = $1 AND id IN "+list, append([]any{tenant}, args...)...)
//
// The list comes in parentheses and has a power of two places: the last value fills those that are left over, which changes nothing, so that lists
// of many lengths share few texts, and the server few plans. No values make (NULL), which nothing is in; NOT IN (NULL) is true of nothing either.
// A statement takes 65,535 arguments at most. Picodata has no = ANY($1).
func In[T any](first int, values []T) (list string, args []any) {
	if len(values) == 0 {
		return "(NULL)", nil
	}
	n := 1
	for n < len(values) {
		n *= 2
	}
	if most := 65535 - (first - 1); n > most {
		n = max(most, len(values)) // too many, if it comes to that, is said where the statement is sent
	}
	args = make([]any, n)
	var b strings.Builder
	for i := range n {
		separator := byte(',')
		if i == 0 {
			separator = '('
		}
		b.WriteByte(separator)
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
		args[i] = values[min(i, len(values)-1)]
	}
	b.WriteByte(')')
	return b.String(), args
}
