// Package options holds everything that configures the driver as plain values: the Config struct, its
// enums, its defaults, its text form (the DSN), functional options and validation. It does no I/O and
// keeps no state: files and the environment are read through functions that the caller gives.
package options

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// Config configures a cluster client. The zero value isn't usable: start from
// New or ParseDSN, which fill the defaults.
type Config struct {
	// Where and who.

	// Hosts is the key host. Nodes to start from, a list. In a URL they stand before the path, each with its
	// port; IPv6 in brackets there, bare or in brackets here. In mode=bootstrap they are the whole node set.
	// Unix sockets are refused, for Picodata listens on TCP only.
	//
	// List: DNS names and IP addresses, IPv6 with or without zone. Default: none. Server: any. Cost: one dial
	// at start; more hosts make the start survive dead ones.
	//
	// The key port belongs to it. One port for all hosts that name none, or a list of one port per host. A
	// host without any has 4327.
	//
	// List: 1 to 65535. Default: none. Server: any. Cost: none.
	Hosts []Host
	// Database is the key dbname. Sent at login; the path of a URL. Picodata has one database and ignores the
	// name.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: none.
	Database string
	// User is the key user. Who logs in. The server closes the connection without a word if it is missing, so
	// the driver asks for it.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: none.
	User string
	// Password is the key password. The user's password. A function given by WithPasswordFunc goes before it,
	// passfile comes after it. Never shown by any error, log or format.
	//
	// Secret: any bytes but NUL. Default: none. Server: any. Cost: none; a wrong one costs one of the four
	// attempts after which Picodata locks a user on that instance.
	Password string
	// PassFile is the key passfile. A password file in PostgreSQL's form, host:port:database:user:password per
	// line with * for anything, used if no password is given. The host is the one that is dialled: a node that
	// no line is for gets no password. A file to which others have access is refused.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: one read of the file per dial.
	PassFile string
	// ApplicationName is the key application_name. Sent at login, for proxies and other servers; Picodata
	// ignores it.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: none.
	ApplicationName string

	// Log is the key log. Where the driver's log goes if the program gives no logger: nowhere (off) or to the
	// standard error output as text, from level INFO on (stderr). WithLogger goes before it.
	//
	// Choice: off or stderr. Default: off. Server: any. Cost: stderr: one line per event; statements that go
	// well make none.
	Log Log

	// The node set.

	// Mode is the key mode. Which nodes make up the node set: all instances of the cluster (discovery), or
	// only those that the DSN names (bootstrap), each known by what the server says it is, not by the text of
	// its address. picopyn's enable_discovery=True or False is read as a synonym.
	//
	// Choice: discovery or bootstrap. Default: discovery. Server: any. Cost: bootstrap: none; discovery: as
	// topology.
	Mode Mode
	// Topology is the key topology. Whether the driver follows the cluster. off: nodes and roles stay as they
	// were at the start, and a change of leader goes unseen.
	//
	// Boolean: on or off. Default: on. Server: 25.2. Cost: on: one connection per client and a read of small
	// system tables per topology_update_interval.
	Topology bool
	// TopologyUpdateInterval is the key topology_update_interval. How often the topology is read, with jitter.
	// Errors that hint at a change ask for it at once, whatever the interval.
	//
	// Duration: 10ms to 24h. Default: 5s. Server: any. Cost: a shorter one finds changes sooner, and reads the
	// system tables more often on one instance.
	TopologyUpdateInterval time.Duration
	// InstanceRole is the key instance_role. Which nodes users' statements may use: all, leaders of their
	// replicaset, or the others. If it isn't given, read_preference and forward decide: see
	// read-preference.md.
	//
	// Choice: any, leader or replica. Default: any. Server: any; leader and replica need READ on
	// _pico_replicaset. Cost: leader or replica: fewer nodes share the work.
	InstanceRole InstanceRole
	// RoleDerived says that InstanceRole follows from ReadPreference or Forward and wasn't given.
	RoleDerived bool
	// ReadPreference is the key read_preference. Where the server runs reads, sent to every connection. In any
	// case, as on the server. Nothing given: the server's own setting, which is leader unless ALTER SYSTEM
	// changed it.
	//
	// Choice: leader, replica or any. Default: none. Server: 26.1. Cost: replica or any: reads may be stale;
	// replica: reads hang where a replicaset has no live replica.
	ReadPreference ReadPreference
	// Forward is the key forward. Whether an instance may pass a statement on: to all (on), to the one leader
	// that holds its data (ro_to_rw), to none (off). Nothing given: on.
	//
	// Choice: on, ro_to_rw or off. Default: none. Server: 26.2. Cost: off: a statement on the wrong node is
	// refused and costs one flight more.
	Forward Forward
	// AllowedTiers is the key allowed_tiers. Only nodes of these tiers are used. Nothing given: all tiers that
	// hold buckets.
	//
	// List: tier names, each once. Default: none. Server: any. Cost: none.
	AllowedTiers []string
	// ForbiddenTiers is the key forbidden_tiers. Nodes of these tiers are never used for users' statements.
	//
	// List: tier names, each once, none of them in allowed_tiers. Default: none. Server: any. Cost: none.
	ForbiddenTiers []string
	// AddressMap is the key address_map. Where to dial what the cluster advertises, for NAT and forwarded
	// ports. A FROM without a port maps every port of that host; a TO without one keeps the port.
	//
	// List: FROM>TO,… with FROM and TO host[:port] and each FROM once. Default: none. Server: any. Cost: none.
	AddressMap []Mapping
	// AllowedNetworks is the key allowed_networks. Discovered addresses are dialled only inside these
	// networks, after address_map and name resolution; hosts of the DSN are always allowed. Nothing given: no
	// limit.
	//
	// List: IP networks such as 10.0.0.0/8,fd00::/8, or addresses. Default: none. Server: any. Cost: none.
	AllowedNetworks []netip.Prefix

	// Balancing and capacity.

	// BalanceStrategy is the key balance_strategy. How a node is chosen when nothing routes a statement: in
	// turn by weight, at random by weight, the less busy of two, or the nearest by round-trip time and then
	// the less busy. WithBalancer gives one's own.
	//
	// Choice: round_robin, random, least_busy or nearest. Default: round_robin. Server: any. Cost: least_busy
	// and nearest look at more state per choice; none allocates.
	BalanceStrategy BalanceStrategy
	// PreferZones is the key prefer_zones. Failure domains in falling preference, as DC=m1/RACK=r7,DC=m1:
	// nodes that match the first item come first, then those of the next, then all. Compared in any case.
	//
	// List: KEY=VALUE[/KEY=VALUE…],…. Default: none. Server: any. Cost: nodes of other zones stay idle while a
	// preferred one can take a connection.
	PreferZones []string
	// NodeWeights is the key node_weights. Shares of the work by node. A node that no rule selects has 10; 0
	// means overflow only. A rule by name goes before one by address, and that before one by tier.
	//
	// List: SELECTOR=INT,… with SELECTOR an instance name, host:port or tier:NAME, each once, and INT 0 to
	// 10000000. Default: none. Server: any. Cost: none.
	NodeWeights []NodeRule
	// NodeMaxConns is the key node_max_conns. max_conns_per_instance for single nodes or tiers; 0 means no
	// limit for them.
	//
	// List: SELECTOR=INT,… with SELECTOR an instance name, host:port or tier:NAME, each once, and INT 0 to
	// 1000000. Default: none. Server: any. Cost: as max_conns_per_instance.
	NodeMaxConns []NodeRule
	// NodePriorities is the key node_priorities. Nodes of a higher priority come first; a node that no rule
	// selects has 0. Weight 0 comes after all priorities.
	//
	// List: SELECTOR=INT,… with SELECTOR an instance name, host:port or tier:NAME, each once, and INT -1000 to
	// 1000. Default: none. Server: any. Cost: nodes of lower priority stay idle while a higher one can take a
	// connection.
	NodePriorities []NodeRule
	// Overflow is the key overflow. When nodes of weight 0 are used: if no other can take a connection, for
	// whatever reason (any); only while at least one other lives and all living ones are full (saturated);
	// never (off).
	//
	// Choice: any, saturated or off. Default: any. Server: any. Cost: none.
	Overflow Overflow
	// MaxConns is the key max_conns. Most connections to the whole cluster; 0 means no limit. Nodes get them
	// as they are needed. Busy, idle, dialling and draining ones count. Below the number of nodes it means one
	// each.
	//
	// Integer: 0 to 1000000. Default: 0. Server: any. Cost: callers wait when it is reached.
	MaxConns int
	// MaxConnsPerInstance is the key max_conns_per_instance. Most connections to one node; 0 means no limit.
	// Discovered nodes have it too.
	//
	// Integer: 0 to 1000000. Default: 0. Server: any. Cost: callers go to other nodes or wait when it is
	// reached.
	MaxConnsPerInstance int
	// AbandonedLimit is the key abandoned_limit. How many connections whose statements were given up may stay
	// open on a server outside the caps, in percent of the cap (of 100 where there is none). Further ones
	// count until the server is done.
	//
	// Integer: 0 to 1000. Default: 50. Server: any. Cost: a low one makes callers wait while a server is at
	// statements that were given up, a high one lets it have more connections than the cap.
	AbandonedLimit int
	// MinIdleConnsPerInstance is the key min_idle_conns_per_instance. Connections that are opened to every
	// node at start and kept in reserve. A node that can't be reached fails nothing.
	//
	// Integer: 0 to 10000. Default: 0. Server: any. Cost: that many connections to every node, held by every
	// client.
	MinIdleConnsPerInstance int
	// MaxConnLifetime is the key max_conn_lifetime. A connection older than this is closed when it is free; 0
	// means never. Jitter is drawn once per connection.
	//
	// Duration: 0 or 10ms to 8760h. Default: 1h. Server: any. Cost: one dial and login, 3 to 6 ms, per
	// connection and lifetime.
	MaxConnLifetime time.Duration
	// MaxConnIdleTime is the key max_conn_idle_time. A connection that was idle for this long is closed; 0
	// means never.
	//
	// Duration: 0 or 10ms to 8760h. Default: 10m. Server: any. Cost: a short one makes the next burst dial.
	MaxConnIdleTime time.Duration
	// OverflowIdleTime is the key overflow_idle_time. max_conn_idle_time for connections to nodes of weight 0.
	//
	// Duration: 0 or 10ms to 8760h. Default: 5s. Server: any. Cost: a short one makes the next overflow dial.
	OverflowIdleTime time.Duration
	// AcquireTimeout is the key acquire_timeout. How long a caller waits for a connection before
	// AcquireTimeoutError says who holds them; 0 means that only the caller's context ends the wait.
	//
	// Duration: 0 or 1ms to 24h. Default: 30s. Server: any. Cost: none.
	AcquireTimeout time.Duration
	// ConnectTimeout is the key connect_timeout. The limit for one dial with TLS and login, per node. A
	// starting instance accepts TCP and stays silent, so there is always a limit; libpq's 0 is refused. The
	// caller's context may end it sooner.
	//
	// Duration or whole seconds: 1ms to 24h. Default: 5s. Server: any. Cost: none.
	ConnectTimeout time.Duration
	// DrainTimeout is the key drain_timeout. How long a connection to a node that left the node set may finish
	// its work before it is closed by force; 0 closes it at once.
	//
	// Duration: 0 or 1ms to 24h. Default: 30s. Server: any. Cost: none.
	DrainTimeout time.Duration

	// Routing.

	// Routing is the key routing. Which statements go straight to the leader that owns their bucket:
	// parametrised one-row INSERTs (insert), also SELECT, UPDATE and DELETE whose WHERE gives the whole
	// sharding key (keys), none (off). A wrong guess costs a hop inside the cluster, never a wrong result.
	//
	// Choice: insert, keys or off. Default: insert. Server: 26.1; before it, READ on _pico_table. Cost: one
	// look into two small caches per statement; keys also reads the WHERE clause.
	Routing Routing
	// RoutingAcquireTimeout is the key routing_acquire_timeout. How long a routed statement waits for a
	// connection to its leader before it goes by the balancing policy; 0 means not at all.
	//
	// Duration: 0 or 1ms to 24h. Default: 0. Server: any. Cost: a long one makes inserts wait for a busy
	// leader while others are free.
	RoutingAcquireTimeout time.Duration
	// QueryMetadataCacheSize is the key query_metadata_cache_size. How many statement texts the driver
	// remembers the sharding key of; 0 switches this off, and with it the routing by the server's notices.
	//
	// Integer: 0 to 1000000. Default: 1000. Server: 26.1. Cost: some hundred bytes per text; texts with
	// literals thrash a small one.
	QueryMetadataCacheSize int
	// NoShard is the key no_shard_specified_behavior. What happens to a statement that is bound to a shard
	// which isn't known: the balancing policy; a replicaset at random; the same, favouring those without
	// recent errors; the N-th replicaset of the tier by name, from 0; or ErrNoShard before anything runs.
	//
	// Choice: balance, random, random_healthy, shard_N or fail. Default: balance. Server: any. Cost: fail: one
	// Parse alone, once per unknown text.
	NoShard NoShard
	// NoShardScope is the key no_shard_scope. Which statements no_shard_specified_behavior is for: those that
	// are bound to a shard, or every one that isn't routed.
	//
	// Choice: bound or all. Default: bound. Server: any. Cost: none.
	NoShardScope NoShardScope

	// Statements.

	// Prepare is the key prepare. What db.Prepare does: nothing on the wire (lazy), or one flight so that
	// errors show there (eager).
	//
	// Choice: lazy or eager. Default: lazy. Server: any. Cost: eager: one flight per Prepare.
	Prepare Prepare
	// StatementCacheSize is the key statement_cache_size. How many named statements one connection keeps; 0
	// means none, and every execution is parsed anew, still in one flight.
	//
	// Integer: 0 to 10000. Default: 64. Server: any. Cost: one named statement per entry and connection, out
	// of pg_statement_max of the instance.
	StatementCacheSize int
	// StatementCacheThreshold is the key statement_cache_threshold. A text gets a named statement after this
	// many uses on a connection.
	//
	// Integer: 1 to 1000000. Default: 3. Server: any. Cost: a low one names statements that run only once.
	StatementCacheThreshold int
	// StripComments is the key strip_comments. Takes SQL comments out of a statement before it is sent,
	// because Picodata can't parse them and ORMs and tracing add them. Never inside strings.
	//
	// Boolean: on or off. Default: on. Server: any. Cost: one pass over the text.
	StripComments bool
	// Transactions is the key transactions. What BeginTx does, given that Picodata accepts BEGIN, COMMIT and
	// ROLLBACK and ignores them: it fails (reject), or each statement runs by itself on one pinned connection
	// (autocommit), where Rollback after a write returns an error.
	//
	// Choice: reject or autocommit. Default: reject. Server: any. Cost: autocommit: BeginTx succeeds, but
	// nothing is atomic.
	Transactions Transactions
	// MaxRetries is the key max_retries. How often the driver may run a statement again after an error that
	// proves that nothing ran, or a plain read after a lost connection; 0 switches this off.
	//
	// Integer: 0 to 100. Default: 3. Server: any. Cost: each one is another execution attempt, with backoff.
	MaxRetries int
	// VdbeOpcodeMax is the key sql_vdbe_opcode_max. How many steps of the server's SQL engine a statement may
	// take, sent to every connection; 0 means no limit. Nothing given: the server's own setting, 45000 unless
	// ALTER SYSTEM changed it, which a join over some thousand rows reaches. WithLimits sets it for single
	// statements.
	//
	// Integer: 0 (no limit) to 9223372036854775807. Default: none. Server: 25.1. Cost: 0 or a high one lets
	// one statement occupy an instance for long.
	VdbeOpcodeMax Limit
	// MotionRowMax is the key sql_motion_row_max. How many rows a statement may move between instances at one
	// step, sent to every connection; 0 means no limit. Nothing given: the server's own setting, 5000 unless
	// ALTER SYSTEM changed it. WithLimits sets it for single statements.
	//
	// Integer: 0 (no limit) to 9223372036854775807. Default: none. Server: 25.1. Cost: 0 or a high one lets
	// one statement move and hold many rows in an instance's memory.
	MotionRowMax Limit
	// FloatGuard is the key float_guard. Keeps float parameters from being changed by the server: statements
	// whose arguments have fractions in other places get texts that differ in blanks at their end, for the
	// server would use the plan of whole numbers for them and cut the fraction off; NaN and numbers beyond
	// ±2^63 are refused. off sends everything as it is.
	//
	// Boolean: on or off. Default: on. Server: any. Cost: on: one plan on the server, and one named statement,
	// per pattern of numbers with a fraction among the arguments.
	FloatGuard bool
	// UUIDGuard is the key uuid_guard. Refuses UUIDs whose ninth byte is e0 to ff as arguments: the server
	// stores them, then scans fail and replicas stop for good. A text in a UUID's form counts as one.
	//
	// Boolean: on or off. Default: on. Server: any. Cost: none.
	UUIDGuard bool
	// MaxChainedOperators is the key max_chained_operators. Refuses a text with more than so many operators ||
	// or + - * / % in a row, or with parentheses more than 40 deep; 0 refuses none. The server needs twice the
	// time for each more, and 8 operands of || stop the whole cluster for seconds.
	//
	// Integer: 0 to 1000000. Default: 0. Server: any. Cost: one more pass over a text that is new.
	MaxChainedOperators int
	// StuckStatementTimeout is the key stuck_statement_timeout. How long after a new leader is seen a
	// statement that began before it may still wait; then it ends with OutcomeUnknownError. 0 means until its
	// context ends. Plain reads are run again in any case.
	//
	// Duration: 0 or 1ms to 24h. Default: 0. Server: any. Cost: a write that was only slow is reported as of
	// unknown outcome.
	StuckStatementTimeout time.Duration
	// SplitInserts is the key split_inserts. Splits an INSERT of several rows, all their values parameters,
	// that belong to several replicasets: each owner gets its rows in statements that are all or nothing, at
	// the same time. An error is an InsertError with an account of every row. Not in a Tx, with hints, or with
	// an OPTION in the text.
	//
	// Boolean: on or off. Default: off. Server: any. Cost: one statement an owner; if one is refused, the rows
	// of others are in.
	SplitInserts bool
	// SwitchoverTimeout is the key switchover_timeout. How long a statement is tried again that is proved not
	// to have run because a leader changes, buckets move, DDL is under way or the raft leader can't be
	// reached, apart from max_retries, if its context doesn't end before. 0 means max_retries times, as for
	// everything else; so does max_retries=0.
	//
	// Duration: 0 or 1ms to 1h. Default: 10s. Server: any. Cost: a caller hears that much later of a refusal
	// that lasts.
	SwitchoverTimeout time.Duration
	// DeadLeader is the key dead_leader. What happens to a statement that needs a leader which doesn't answer
	// and isn't replaced yet: it waits in the driver, holds no connection and goes to the next leader (wait),
	// or fails at once with LeaderlessError (fail). Nothing of it was sent. Statements of healthy replicasets
	// go straight to their leaders meanwhile.
	//
	// Choice: wait or fail. Default: wait. Server: any. Cost: wait: callers wait as long as the cluster takes
	// to replace a leader, some 30 seconds.
	DeadLeader DeadLeader
	// DeadLeaderTimeout is the key dead_leader_timeout. How long such a statement waits at most, if its
	// context doesn't end before.
	//
	// Duration: 1ms to 24h. Default: 1m. Server: any. Cost: a short one gives up before the cluster has
	// noticed.
	DeadLeaderTimeout time.Duration
	// StaleReads is the key stale_reads. What happens to a plain read of one owner, by its key, whose leader
	// doesn't answer and isn't replaced yet: it waits as dead_leader says (off), or a living replica of the
	// owner answers (degraded). Needs routing=keys, or READ on _pico_table, for the key.
	//
	// Choice: off or degraded. Default: off. Server: 26.1. Cost: degraded: such a read may miss what was
	// written last.
	StaleReads StaleReads
	// SuspectAfter is the key suspect_after. After how long without an answer a leader is asked over a new
	// connection whether it lives; if it doesn't answer there either in that time, it counts as dead. 0
	// switches this off: then only refused connections tell.
	//
	// Duration: 0 or 100ms to 1h. Default: 2s. Server: any. Cost: one login at a leader whose statements take
	// longer, at growing distances.
	SuspectAfter time.Duration

	// Health.

	// EjectionFailureThreshold is the key instance_ejection_failure_threshold. After this many connection
	// failures in a row a node is left out for a while; 0 switches ejection off. SQL errors, login errors,
	// full nodes and cancelled contexts never count. If all are ejected they are used anyway.
	//
	// Integer: 0 to 1000. Default: 3. Server: any. Cost: a low one ejects on a short disturbance.
	EjectionFailureThreshold int
	// EjectionFailureWindow is the key instance_ejection_failure_window. Failures that lie further apart than
	// this don't add up.
	//
	// Duration: 10ms to 24h. Default: 10s. Server: any. Cost: none.
	EjectionFailureWindow time.Duration
	// EjectionDuration is the key instance_ejection_duration. How long the first ejection lasts, with jitter;
	// each further one is twice as long. Then one probe at a time decides.
	//
	// Duration: 10ms to 24h. Default: 1s. Server: any. Cost: a long one leaves a node idle after it has
	// recovered.
	EjectionDuration time.Duration
	// EjectionMaxDuration is the key instance_ejection_max_duration. Where the growth of ejections ends. If it
	// isn't given, a longer instance_ejection_duration raises it.
	//
	// Duration: 10ms to 24h. Default: 5s. Server: any. Cost: as instance_ejection_duration.
	EjectionMaxDuration time.Duration

	// Security.

	// SSLMode is the key sslmode. Whether TLS is used and what is verified, as in libpq, the same for every
	// node. prefer: TLS if the node has it, for Picodata ships without. A node with TLS refuses disable. A
	// handshake that fails is never followed by plain text. Only verify-ca and verify-full check who answers.
	//
	// Choice: prefer, disable, allow, require, verify-ca or verify-full. Default: prefer. Server: any. Cost:
	// one flight per dial where TLS is asked for, two more for its handshake.
	SSLMode SSLMode
	// SSLRootCert is the key sslrootcert. File of the authorities that may sign a node's certificate, or
	// system for those of the machine, which needs verify-full. With require it makes the driver verify the
	// authority, as libpq does.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: one read of the file per dial.
	SSLRootCert string
	// SSLCert is the key sslcert. File of the client's certificate; goes with sslkey.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: one read of the file per dial.
	SSLCert string
	// SSLKey is the key sslkey. File of the client's private key; goes with sslcert.
	//
	// Text: any UTF-8 text without NUL. Default: none. Server: any. Cost: one read of the file per dial.
	SSLKey string
	// SSLPassword is the key sslpassword. Password of an encrypted sslkey. Never shown.
	//
	// Secret: any bytes but NUL. Default: none. Server: any. Cost: none.
	SSLPassword string
	// SSLSNI is the key sslsni. Whether the name of the node is sent in the handshake (never for IP
	// addresses).
	//
	// Boolean: 1 or 0. Default: 1. Server: any. Cost: none.
	SSLSNI bool
	// SSLNegotiation is the key sslnegotiation. postgres asks for TLS first; direct begins with the handshake
	// and needs sslmode=require or stronger.
	//
	// Choice: postgres or direct. Default: postgres. Server: any for postgres; no Picodata yet for direct.
	// Cost: direct saves one flight per dial.
	SSLNegotiation SSLNegotiation
	// SSLMinProtocolVersion is the key ssl_min_protocol_version. Oldest TLS version to accept.
	//
	// Choice: TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3. Default: TLSv1.2. Server: any. Cost: none.
	SSLMinProtocolVersion string
	// SSLMaxProtocolVersion is the key ssl_max_protocol_version. Newest TLS version to use; nothing given: the
	// newest there is.
	//
	// Choice: TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3. Default: none. Server: any. Cost: none.
	SSLMaxProtocolVersion string
	// TLSServerName is the key tls_server_name. The name that certificates are checked against, for all nodes.
	// Nothing given: each node's own host, as dialled.
	//
	// Text: a DNS name or IP address. Default: none. Server: any. Cost: one name for all nodes says less about
	// each.
	TLSServerName string
	// AllowCleartextPassword is the key allow_cleartext_password. Whether a request for the password in clear
	// text, which Picodata makes of LDAP users, is answered without TLS that verified the server (verify-ca or
	// stronger); by hosts that only the cluster's tables name, inside allowed_networks alone.
	//
	// Boolean: on or off. Default: off. Server: any. Cost: on: whoever sees the network sees the password of
	// LDAP users.
	AllowCleartextPassword bool

	// Mirroring.

	// Mirror is the key mirror. DSN of another cluster that gets a copy of the traffic; its results are read
	// and dropped. Percent-encode it inside a URL. It can't have a mirror of its own. Its password is never
	// shown.
	//
	// Secret: a DSN without mirror keys. Default: none. Server: any. Cost: one more connection per connection;
	// the mirrored statements' work on the other cluster.
	Mirror string
	// MirrorMap is the key mirror_map. Which node's traffic goes to which mirror address. Nodes that aren't
	// listed go to mirror, if there is one, else nowhere. User, password and TLS are mirror's, or the DSN's
	// own without it.
	//
	// List: FROM>TO,… with FROM an instance name or host:port, each once, and TO host[:port]. Default: none.
	// Server: any. Cost: as mirror.
	MirrorMap []Mapping
	// MirrorMode is the key mirror_mode. Which statements are mirrored: those recognised as plain reads, or
	// all.
	//
	// Choice: reads or all. Default: reads. Server: any. Cost: all: the mirror must be a cluster of its own,
	// or writes happen twice.
	MirrorMode MirrorMode
	// MirrorRatio is the key mirror_ratio. The share of statements that is mirrored.
	//
	// Number: 0 to 1. Default: 1. Server: any. Cost: none.
	MirrorRatio float64
	// MirrorQueue is the key mirror_queue. How many statements may wait for one mirror connection; more are
	// dropped and counted.
	//
	// Integer: 1 to 1000000. Default: 64. Server: any. Cost: memory, bounded by mirror_queue_bytes.
	MirrorQueue int
	// MirrorQueueBytes is the key mirror_queue_bytes. How many bytes of statements and arguments may wait for
	// one mirror connection.
	//
	// Integer: 1024 to 1073741824. Default: 1048576. Server: any. Cost: so much memory per mirror connection
	// at most.
	MirrorQueueBytes int
	// MirrorCompare is the key mirror_compare. Whether rows and errors of both sides are compared; differences
	// are counted, and logged by statement.
	//
	// Boolean: on or off. Default: off. Server: any. Cost: a digest of every mirrored result on both sides.
	MirrorCompare bool

	// ServerOptions is the key options. Settings for every connection, in Picodata's form
	// name=value[,name=value…] or PostgreSQL's -c name=value. Known values are checked as the server would
	// check them, for it closes the connection on a bad one; unknown names pass with a warning. Those among
	// them that have keys of their own count as if given by these.
	//
	// List: name=value[,name=value…] or -c name=value …. Default: none. Server: 25.1 for the limits, 26.1 for
	// pico_*; unknown names have no effect. Cost: none on the wire.
	ServerOptions []Setting

	// Go-only settings, which no DSN can carry.
	// PasswordFunc gives the password, before Password and PassFile, once per dial and with its context. It is
	// called from any goroutine, several at a time. Default: none. Costs what it does, within ConnectTimeout.
	PasswordFunc func(ctx context.Context) (string, error)
	// TLSConfig is what TLS handshakes use, instead of files; cloned per dial, ServerName filled in where it is
	// empty. SSLMode still says when TLS is asked for. Default: none.
	TLSConfig *tls.Config
	// DialFunc opens connections, with network "tcp" and host:port. Default: net.Dialer's DialContext.
	DialFunc func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger gets the driver's log, whatever Log says. Default: none.
	Logger *slog.Logger
	// Clock is what timers and health decisions use, for tests. Default: SystemClock.
	Clock Clock
	// Balancer chooses among nodes instead of BalanceStrategy. Default: none.
	Balancer Balancer
	// NoticeHandler gets the servers' notices, one after the other, on a goroutine of its own: it holds up no statement.
	// Up to 1,024 wait for it, more are dropped and counted in Stats. Default: none.
	NoticeHandler func(Notice)
	// Tracers hear of statements, leases, dials, routes and topology changes: each implements one or more of the
	// tracer interfaces of package picodata. Default: none.
	Tracers []any

	// What Normalize has to know of how the fields above got their values.
	origin origin
}

// Host is one node of the DSN.
type Host struct {
	Name string // IP literal (with zone, without brackets) or DNS name
	Port uint16
}

// Mapping is one FROM>TO item of a list.
type Mapping struct{ From, To string }

// Setting is one name=value item of the startup parameter "options".
type Setting struct{ Name, Value string }

// Notice is what a server sent as NoticeResponse.
type Notice struct {
	Node     string
	Severity string
	Code     string
	Message  string
}
