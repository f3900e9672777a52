package route

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/picodata/go-picodata/options"
)

// pickWhere chooses uniformly among the shards that are good.
func pickWhere(shards []Shard, random uint64, good func(*Shard) bool) (Shard, bool) {
	n := 0
	for i := range shards {
		if good(&shards[i]) {
			n++
		}
	}
	if n == 0 {
		return Shard{}, false
	}
	at, _ := bits.Mul64(random, uint64(n)) // random * n / 2^64
	for i := range shards {
		if good(&shards[i]) {
			if at == 0 {
				return shards[i], true
			}
			at--
		}
	}
	return Shard{}, false // not reached
}

// Choose applies a behaviour to the replicasets of a tier, which View.Shards lists. Each
// usable replicaset is equally likely under random, whatever its size. ok is false where the balancing
// policy decides: for balance, and when no replicaset is usable. shard_N needs no usable node:
// who is told to go there doesn't go elsewhere.
//
// random is a uniformly random number. health may be nil.
func Choose(behavior options.NoShard, tier string, shards []Shard, random uint64, health *Health, now time.Time) (s Shard, ok bool, err error) {
	switch behavior.Behavior {
	case options.NoShardBalance, options.NoShardFail: // which chooses nobody
	case options.NoShardRandom:
		s, ok = pickWhere(shards, random, func(s *Shard) bool { return s.Usable })
	case options.NoShardRandomHealthy:
		if health == nil {
			s, ok = pickWhere(shards, random, func(s *Shard) bool { return s.Usable })
			break
		}
		s, ok = health.pick(shards, random, now)
	case options.NoShardN:
		if behavior.Shard < 0 || behavior.Shard >= len(shards) {
			return Shard{}, false, &ShardRangeError{Shard: behavior.Shard, Tier: tier, Have: len(shards)}
		}
		return shards[behavior.Shard], true, nil
	default:
		return Shard{}, false, fmt.Errorf("no_shard_specified_behavior=%v isn't a behaviour that chooses", behavior)
	}
	return s, ok, nil
}

// noShard is for a statement whose shard isn't known. tier is its tier, "" if that isn't known either.
func noShard(in *Input, p Plan, tier string) Plan {
	v := in.View
	behavior := v.cfg.NoShard
	switch behavior.Behavior {
	case options.NoShardBalance:
		return p
	case options.NoShardFail:
		p.Kind = NoShard
		return p
	case options.NoShardN, options.NoShardRandom, options.NoShardRandomHealthy: // Choose
	}
	shards := v.shards
	if tier != "" || behavior.Behavior == options.NoShardN {
		if tier == "" {
			tier = v.defaultTier
		}
		shards = v.byTier[tier]
	}
	s, ok, err := Choose(behavior, tier, shards, in.Random, in.Health, in.Now)
	if err != nil {
		p.Kind, p.Err = Invalid, err
		return p
	}
	if !ok {
		return p
	}
	p.Kind, p.ReplicasetUUID, p.Replicaset, p.Tier = Filter, s.UUID, s.Name, s.Tier
	p.Strict = behavior.Behavior == options.NoShardN
	p.Shard, p.ByShard = behavior.Behavior, true
	return p
}
