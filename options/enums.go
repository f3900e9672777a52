package options

// Mode says which instances the node set is made of.
type Mode uint8

const (
	Discovery Mode = iota // all instances of the cluster
	Bootstrap             // only those that the DSN names
)

// InstanceRole says which nodes users' statements may use.
type InstanceRole uint8

const (
	RoleAny     InstanceRole = iota // all
	RoleLeader                      // leaders of their replicaset
	RoleReplica                     // the others
)

// ReadPreference is the server's read_preference setting.
type ReadPreference uint8

const (
	ReadPreferenceUnset ReadPreference = iota
	ReadPreferenceLeader
	ReadPreferenceReplica
	ReadPreferenceAny
)

// Forward is the server's forward setting.
type Forward uint8

const (
	ForwardUnset Forward = iota
	ForwardOn
	ForwardROToRW
	ForwardOff
)

// BalanceStrategy names a built-in strategy.
type BalanceStrategy uint8

const (
	RoundRobin BalanceStrategy = iota
	Random
	LeastBusy
	Nearest
)

// Overflow says when nodes of weight 0 may be used.
type Overflow uint8

const (
	OverflowAny       Overflow = iota // the others are full, ejected or gone
	OverflowSaturated                 // only while at least one other lives and all living ones are full
	OverflowOff
)

// Routing says which statements are sent to the leader that owns their bucket.
type Routing uint8

const (
	RoutingInsert Routing = iota
	RoutingKeys
	RoutingOff
)

// NoShard says what happens to a statement that is bound to a shard which isn't known.
type NoShard struct {
	Behavior NoShardBehavior
	Shard    int // of ShardN, counted from 0
}

// NoShardBehavior is the kind of a NoShard.
type NoShardBehavior uint8

const (
	NoShardBalance NoShardBehavior = iota
	NoShardRandom
	NoShardRandomHealthy
	NoShardN
	NoShardFail
)

// NoShardScope says which statements NoShard is for.
type NoShardScope uint8

const (
	NoShardBound NoShardScope = iota // those that are bound to a shard
	NoShardAll                       // every unrouted statement
)

// Prepare says what db.Prepare does.
type Prepare uint8

const (
	PrepareLazy  Prepare = iota // nothing on the wire
	PrepareEager                // one flight, so that errors show there
)

// Transactions says what BeginTx does.
type Transactions uint8

const (
	TransactionsReject Transactions = iota
	TransactionsAutocommit
)

// SSLMode is libpq's sslmode.
type SSLMode uint8

const (
	SSLPrefer SSLMode = iota
	SSLDisable
	SSLAllow
	SSLRequire
	SSLVerifyCA
	SSLVerifyFull
)

// SSLNegotiation is libpq's sslnegotiation.
type SSLNegotiation uint8

const (
	SSLPostgres SSLNegotiation = iota
	SSLDirect
)

// MirrorMode says which statements are mirrored.
type MirrorMode uint8

const (
	MirrorReads MirrorMode = iota
	MirrorAll
)
