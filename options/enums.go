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
	ReadPreferenceUnset   ReadPreference = iota // not given: the server's own setting holds
	ReadPreferenceLeader                        // reads run on leaders
	ReadPreferenceReplica                       // reads run on replicas
	ReadPreferenceAny                           // reads run where they arrive, if the data are there
)

// Forward is the server's forward setting.
type Forward uint8

const (
	ForwardUnset  Forward = iota // not given: the server's default, on
	ForwardOn                    // an instance may ask all others
	ForwardROToRW                // it may pass a statement to one leader
	ForwardOff                   // it passes nothing on
)

// BalanceStrategy names a built-in strategy.
type BalanceStrategy uint8

const (
	RoundRobin BalanceStrategy = iota // in turn, by weight
	Random                            // at random, by weight
	LeastBusy                         // of two at random the one with less in flight per weight
	Nearest                           // the nearest by round-trip time, then the least busy
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
	RoutingInsert Routing = iota // parametrised INSERTs of one row
	RoutingKeys                  // also statements whose WHERE gives the whole sharding key
	RoutingOff                   // none
)

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
	TransactionsReject     Transactions = iota // fail with an error that names the choices
	TransactionsAutocommit                     // pin a connection and run each statement by itself
)

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

// SSLNegotiation is libpq's sslnegotiation.
type SSLNegotiation uint8

const (
	SSLPostgres SSLNegotiation = iota // ask for TLS first
	SSLDirect                         // begin with the handshake
)

// MirrorMode says which statements are mirrored.
type MirrorMode uint8

const (
	MirrorReads MirrorMode = iota // plain reads
	MirrorAll                     // all
)
