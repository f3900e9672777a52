package options

import (
	"fmt"
	"strconv"
	"strings"
)

// Each enum has its texts beside its constants, in their order: parser, formatter, documents and error texts all
// read them there. An empty text stands for "not given".

// Mode says which instances the node set is made of.
type Mode uint8

const (
	Discovery Mode = iota // all instances of the cluster
	Bootstrap             // only those that the DSN names
)

var modeNames = [...]string{"discovery", "bootstrap"}

// String is the text of the DSN key mode.
func (v Mode) String() string { return enumText(modeNames[:], v) }

// MarshalText is String for encoders.
func (v Mode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads discovery or bootstrap.
func (v *Mode) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "mode", modeNames[:], string(text))
}

// InstanceRole says which nodes users' statements may use.
type InstanceRole uint8

const (
	RoleAny     InstanceRole = iota // all
	RoleLeader                      // leaders of their replicaset
	RoleReplica                     // the others
)

var instanceRoleNames = [...]string{"any", "leader", "replica"}

// String is the text of the DSN key instance_role.
func (v InstanceRole) String() string { return enumText(instanceRoleNames[:], v) }

// MarshalText is String for encoders.
func (v InstanceRole) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads any, leader or replica.
func (v *InstanceRole) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "instance_role", instanceRoleNames[:], string(text))
}

// ReadPreference is the server's read_preference setting.
type ReadPreference uint8

const (
	ReadPreferenceUnset   ReadPreference = iota // not given: the server's own setting holds
	ReadPreferenceLeader                        // reads run on leaders
	ReadPreferenceReplica                       // reads run on replicas
	ReadPreferenceAny                           // reads run where they arrive, if the data are there
)

var readPreferenceNames = [...]string{"", "leader", "replica", "any"}

// String is the text of the DSN key read_preference; "" if not given.
func (v ReadPreference) String() string { return enumText(readPreferenceNames[:], v) }

// MarshalText is String for encoders.
func (v ReadPreference) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads leader, replica or any, in any case as the server does; an empty text means not given.
func (v *ReadPreference) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	return unmarshalEnum(v, "read_preference", readPreferenceNames[:], string(text))
}

// Forward is the server's forward setting.
type Forward uint8

const (
	ForwardUnset  Forward = iota // not given: the server's default, on
	ForwardOn                    // an instance may ask all others
	ForwardROToRW                // it may pass a statement to one leader
	ForwardOff                   // it passes nothing on
)

var forwardNames = [...]string{"", "on", "ro_to_rw", "off"}

// String is the text of the DSN key forward; "" if not given.
func (v Forward) String() string { return enumText(forwardNames[:], v) }

// MarshalText is String for encoders.
func (v Forward) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads on, ro_to_rw or off. The case matters, as it does to the server, which closes the connection without a word on
// anything else; an empty text means not given.
func (v *Forward) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	return unmarshalEnum(v, "forward", forwardNames[:], string(text))
}

// BalanceStrategy names a built-in strategy.
type BalanceStrategy uint8

const (
	RoundRobin BalanceStrategy = iota // in turn, by weight
	Random                            // at random, by weight
	LeastBusy                         // of two at random the one with less in flight per weight
	Nearest                           // the nearest by round-trip time, then the least busy
)

var balanceStrategyNames = [...]string{"round_robin", "random", "least_busy", "nearest"}

// String is the text of the DSN key balance_strategy.
func (v BalanceStrategy) String() string { return enumText(balanceStrategyNames[:], v) }

// MarshalText is String for encoders.
func (v BalanceStrategy) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads round_robin, random, least_busy or nearest.
func (v *BalanceStrategy) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "balance_strategy", balanceStrategyNames[:], string(text))
}

// Overflow says when nodes of weight 0 may be used.
type Overflow uint8

const (
	OverflowAny       Overflow = iota // the others are full, ejected or gone
	OverflowSaturated                 // only while at least one other lives and all living ones are full
	OverflowOff
)

var overflowNames = [...]string{"any", "saturated", "off"}

// String is the text of the DSN key overflow.
func (v Overflow) String() string { return enumText(overflowNames[:], v) }

// MarshalText is String for encoders.
func (v Overflow) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads any, saturated or off.
func (v *Overflow) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "overflow", overflowNames[:], string(text))
}

// Routing says which statements are sent to the leader that owns their bucket.
type Routing uint8

const (
	RoutingInsert Routing = iota // parametrised INSERTs of one row
	RoutingKeys                  // also statements whose WHERE gives the whole sharding key
	RoutingOff                   // none
)

var routingNames = [...]string{"insert", "keys", "off"}

// String is the text of the DSN key routing.
func (v Routing) String() string { return enumText(routingNames[:], v) }

// MarshalText is String for encoders.
func (v Routing) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads insert, keys or off.
func (v *Routing) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "routing", routingNames[:], string(text))
}

// NoShard says what happens to a statement that is bound to a shard which isn't known.
type NoShard struct {
	Behavior NoShardBehavior
	Shard    int // of ShardN, counted from 0
}

// NoShardBehavior is the kind of a NoShard.
type NoShardBehavior uint8

const (
	NoShardBalance       NoShardBehavior = iota // the balancing policy
	NoShardRandom                               // a replicaset at random
	NoShardRandomHealthy                        // the same, favouring those without recent errors
	NoShardN                                    // the replicaset of number NoShard.Shard
	NoShardFail                                 // an error before anything runs
)

var noShardNames = [...]string{"balance", "random", "random_healthy", "shard_N", "fail"}

// maxShard bounds N of shard_N; it only keeps nonsense out.
const maxShard = 99_999

// String is the text of the DSN key no_shard_specified_behavior.
func (v NoShard) String() string {
	if v.Behavior == NoShardN {
		return "shard_" + strconv.Itoa(v.Shard)
	}
	return enumText(noShardNames[:], v.Behavior)
}

// MarshalText is String for encoders.
func (v NoShard) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads balance, random, random_healthy, shard_N (N from 0 to 99999) or fail.
func (v *NoShard) UnmarshalText(text []byte) error {
	if digits, ok := strings.CutPrefix(string(text), "shard_"); ok {
		n, err := parseDecimal(digits, 0, maxShard)
		if err != nil {
			return &ConfigError{Key: "no_shard_specified_behavior", Value: string(text),
				Msg: fmt.Sprintf("want N of shard_N from 0 to %d", maxShard)}
		}
		*v = NoShard{Behavior: NoShardN, Shard: n}
		return nil
	}
	b, err := parseEnum[NoShardBehavior]("no_shard_specified_behavior", noShardNames[:], string(text))
	if err != nil {
		return err
	}
	*v = NoShard{Behavior: b}
	return nil
}

// valid tells whether v is one of the behaviours, with a shard only where it means something.
func (v NoShard) valid() bool {
	if v.Behavior == NoShardN {
		return v.Shard >= 0 && v.Shard <= maxShard
	}
	return int(v.Behavior) < len(noShardNames) && v.Shard == 0
}

// NoShardScope says which statements NoShard is for.
type NoShardScope uint8

const (
	NoShardBound NoShardScope = iota // those that are bound to a shard
	NoShardAll                       // every unrouted statement
)

var noShardScopeNames = [...]string{"bound", "all"}

// String is the text of the DSN key no_shard_scope.
func (v NoShardScope) String() string { return enumText(noShardScopeNames[:], v) }

// MarshalText is String for encoders.
func (v NoShardScope) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads bound or all.
func (v *NoShardScope) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "no_shard_scope", noShardScopeNames[:], string(text))
}

// DeadLeader says what happens to a statement that needs a leader which doesn't answer and isn't replaced yet.
type DeadLeader uint8

const (
	DeadLeaderWait DeadLeader = iota // it waits in the driver for the next leader
	DeadLeaderFail                   // it fails at once
)

var deadLeaderNames = [...]string{"wait", "fail"}

// String is the text of the DSN key dead_leader.
func (v DeadLeader) String() string { return enumText(deadLeaderNames[:], v) }

// MarshalText is String for encoders.
func (v DeadLeader) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads wait or fail.
func (v *DeadLeader) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "dead_leader", deadLeaderNames[:], string(text))
}

// StaleReads says what happens to a read whose owner's leader doesn't answer and isn't replaced yet.
type StaleReads uint8

const (
	StaleReadsOff      StaleReads = iota // it waits for the next leader, as other statements do
	StaleReadsDegraded                   // a living replica answers, which may be behind
)

var staleReadsNames = [...]string{"off", "degraded"}

// String is the text of the DSN key stale_reads.
func (v StaleReads) String() string { return enumText(staleReadsNames[:], v) }

// MarshalText is String for encoders.
func (v StaleReads) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads off or degraded.
func (v *StaleReads) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "stale_reads", staleReadsNames[:], string(text))
}

// Prepare says what db.Prepare does.
type Prepare uint8

const (
	PrepareLazy  Prepare = iota // nothing on the wire
	PrepareEager                // one flight, so that errors show there
)

var prepareNames = [...]string{"lazy", "eager"}

// String is the text of the DSN key prepare.
func (v Prepare) String() string { return enumText(prepareNames[:], v) }

// MarshalText is String for encoders.
func (v Prepare) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads lazy or eager.
func (v *Prepare) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "prepare", prepareNames[:], string(text))
}

// Transactions says what BeginTx does.
type Transactions uint8

const (
	TransactionsReject     Transactions = iota // fail with an error that names the choices
	TransactionsAutocommit                     // pin a connection and run each statement by itself
)

var transactionsNames = [...]string{"reject", "autocommit"}

// String is the text of the DSN key transactions.
func (v Transactions) String() string { return enumText(transactionsNames[:], v) }

// MarshalText is String for encoders.
func (v Transactions) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads reject or autocommit.
func (v *Transactions) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "transactions", transactionsNames[:], string(text))
}

// SSLMode is libpq's sslmode.
type SSLMode uint8

const (
	SSLPrefer     SSLMode = iota // TLS where the node has it, unverified
	SSLDisable                   // no TLS
	SSLAllow                     // TLS only where the node insists on it, unverified
	SSLRequire                   // TLS, unverified but for a given SSLRootCert
	SSLVerifyCA                  // TLS, and a trusted authority
	SSLVerifyFull                // TLS, a trusted authority and the right name
)

var sslModeNames = [...]string{"prefer", "disable", "allow", "require", "verify-ca", "verify-full"}

// String is the text of the DSN key sslmode.
func (v SSLMode) String() string { return enumText(sslModeNames[:], v) }

// MarshalText is String for encoders.
func (v SSLMode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads prefer, disable, allow, require, verify-ca or verify-full.
func (v *SSLMode) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "sslmode", sslModeNames[:], string(text))
}

// SSLNegotiation is libpq's sslnegotiation.
type SSLNegotiation uint8

const (
	SSLPostgres SSLNegotiation = iota // ask for TLS first
	SSLDirect                         // begin with the handshake
)

var sslNegotiationNames = [...]string{"postgres", "direct"}

// String is the text of the DSN key sslnegotiation.
func (v SSLNegotiation) String() string { return enumText(sslNegotiationNames[:], v) }

// MarshalText is String for encoders.
func (v SSLNegotiation) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads postgres or direct.
func (v *SSLNegotiation) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "sslnegotiation", sslNegotiationNames[:], string(text))
}

// MirrorMode says which statements are mirrored.
type MirrorMode uint8

const (
	MirrorReads MirrorMode = iota // plain reads
	MirrorAll                     // all
)

var mirrorModeNames = [...]string{"reads", "all"}

// String is the text of the DSN key mirror_mode.
func (v MirrorMode) String() string { return enumText(mirrorModeNames[:], v) }

// MarshalText is String for encoders.
func (v MirrorMode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads reads or all.
func (v *MirrorMode) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "mirror_mode", mirrorModeNames[:], string(text))
}

// Log says where the driver's log goes without a Logger.
type Log uint8

const (
	LogOff    Log = iota // nowhere
	LogStderr            // to the standard error output, as text, from level INFO on
)

var logNames = [...]string{"off", "stderr"}

// String is the text of the DSN key log.
func (v Log) String() string { return enumText(logNames[:], v) }

// MarshalText is String for encoders.
func (v Log) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads off or stderr.
func (v *Log) UnmarshalText(text []byte) error {
	return unmarshalEnum(v, "log", logNames[:], string(text))
}

// enumText is the text of v, or a form that no parser accepts if v isn't a constant.
func enumText[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "invalid(" + strconv.Itoa(int(v)) + ")"
}

// parseEnum finds text among names. An empty name is never found.
func parseEnum[T ~uint8](key string, names []string, text string) (T, error) {
	for i, name := range names {
		if name != "" && (name == text || key == settingReadPreference && strings.EqualFold(name, text)) {
			return T(i), nil
		}
	}
	return 0, &ConfigError{Key: key, Value: text, Msg: "want " + alternatives(names)}
}

// unmarshalEnum is parseEnum into v, which stays what it was if the text is none of the names.
func unmarshalEnum[T ~uint8](v *T, key string, names []string, text string) error {
	parsed, err := parseEnum[T](key, names, text)
	if err == nil {
		*v = parsed
	}
	return err
}

// alternatives lists the texts of an enum for an error or a table.
func alternatives(names []string) string {
	given := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			given = append(given, name)
		}
	}
	if len(given) < 2 {
		return strings.Join(given, "")
	}
	last := len(given) - 1
	return strings.Join(given[:last], ", ") + " or " + given[last]
}
