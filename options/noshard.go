package options

import (
	"fmt"
	"strconv"
	"strings"
)

// maxShard bounds N of shard_N; it only keeps nonsense out.
const maxShard = 99_999

var noShardNames = [...]string{"balance", "random", "random_healthy", "shard_N", "fail"}

// String is the text of the DSN key no_shard_specified_behavior.
func (v NoShard) String() string {
	if v.Behavior == NoShardN {
		return "shard_" + strconv.Itoa(v.Shard)
	}
	return enumText(noShardNames[:], v.Behavior)
}

// ParseNoShard reads balance, random, random_healthy, shard_N (N from 0) or fail.
func ParseNoShard(text string) (NoShard, error) {
	if digits, ok := strings.CutPrefix(text, "shard_"); ok {
		n, err := parseDecimal(digits, 0, maxShard)
		if err != nil {
			return NoShard{}, &ConfigError{Key: "no_shard_specified_behavior", Value: text,
				Msg: fmt.Sprintf("want N of shard_N from 0 to %d", maxShard)}
		}
		return NoShard{Behavior: NoShardN, Shard: n}, nil
	}
	b, err := parseEnum[NoShardBehavior]("no_shard_specified_behavior", noShardNames[:], text)
	return NoShard{Behavior: b}, err
}

// MarshalText is String for encoders.
func (v NoShard) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseNoShard for decoders.
func (v *NoShard) UnmarshalText(text []byte) (err error) {
	*v, err = ParseNoShard(string(text))
	return err
}

// valid tells whether v is one of the behaviours, with a shard only where it means something.
func (v NoShard) valid() bool {
	if v.Behavior == NoShardN {
		return v.Shard >= 0 && v.Shard <= maxShard
	}
	return int(v.Behavior) < len(noShardNames) && v.Shard == 0
}
