package options

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Option changes a Config. NewConnector applies options in order to a copy.
type Option func(*Config) error

// Apply applies options in order and then normalizes c. It stops at the first error.
func (c *Config) Apply(opts ...Option) error {
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(c); err != nil {
			return err
		}
	}
	return c.Normalize()
}

// WithInstanceRole sets the nodes that users' statements may use. It wins over a DSN and over what
// read_preference and forward would make of the role, and contradicts them as the key does.
func WithInstanceRole(v InstanceRole) Option {
	return func(c *Config) error {
		c.InstanceRole, c.RoleDerived = v, false
		c.origin.roleGiven, c.origin.roleAt = true, "WithInstanceRole"
		return nil
	}
}

// WithReadPreference sets the server's read_preference for all connections. Another value in the DSN, by its
// key or inside options=, is an error: neither is meant to win. ReadPreferenceUnset takes back
// what was given.
func WithReadPreference(v ReadPreference) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		if v == ReadPreferenceUnset {
			c.ReadPreference, c.origin.readPreference = v, place[ReadPreference]{}
			return nil
		}
		return c.giveReadPreference(v, "WithReadPreference")
	}
}

// WithForward sets the server's forward for all connections. Another value in the DSN, by its key or inside
// options=, is an error: neither is meant to win. ForwardUnset takes back what was given.
func WithForward(v Forward) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		if v == ForwardUnset {
			c.Forward, c.origin.forward = v, place[Forward]{}
			return nil
		}
		return c.giveForward(v, "WithForward")
	}
}

// WithServerOptions sets the settings of the startup parameter "options", in place of all before but those with
// options of their own, which count as if given by their own options.
func WithServerOptions(v ...Setting) Option {
	v = slices.Clone(v)
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		c.ServerOptions, c.origin.optionsAt = slices.Clone(v), "WithServerOptions"
		return c.liftServerOptions()
	}
}

// WithPassword sets the password. WithPasswordFunc goes before it.
func WithPassword(v string) Option {
	return func(c *Config) error { c.Password = v; return nil }
}

// WithPasswordFunc sets a function that gives the password, instead of the DSN's or the password file's. It is
// asked once for every dial, with the dial's context, from any goroutine and several at a time. An error of
// it is one of that dial. After a refused login it is asked again, and the driver tries again only
// with another password or after a cool-down: four failures lock a user on an instance.
func WithPasswordFunc(v func(ctx context.Context) (string, error)) Option {
	return func(c *Config) error { c.PasswordFunc = v; return nil }
}

// WithTLSConfig sets the certificates and everything else that the TLS handshake uses. The driver clones it per
// dial and sets ServerName where it is empty. sslmode still says when TLS is asked for and
// whether the server is verified; sslrootcert, sslcert and sslkey can't be given besides.
func WithTLSConfig(v *tls.Config) Option {
	return func(c *Config) error { c.TLSConfig = v.Clone(); return nil }
}

// WithDialFunc sets the function that opens connections, instead of net.Dialer's DialContext. network is "tcp";
// address is host:port after address_map.
func WithDialFunc(v func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(c *Config) error { c.DialFunc = v; return nil }
}

// The options below set one field each; docs/configuration.md says what its values do. A later one wins
// over an earlier one and over a DSN. Validate checks the values.

// WithDatabase sets the database name sent at login.
func WithDatabase(v string) Option {
	return func(c *Config) error { c.Database = v; return nil }
}

// WithUser sets the user who logs in.
func WithUser(v string) Option {
	return func(c *Config) error { c.User = v; return nil }
}

// WithPassFile sets the password file.
func WithPassFile(v string) Option {
	return func(c *Config) error { c.PassFile = v; return nil }
}

// WithApplicationName sets the application name sent at login.
func WithApplicationName(v string) Option {
	return func(c *Config) error { c.ApplicationName = v; return nil }
}

// WithMode sets the node set: discovery or bootstrap.
func WithMode(v Mode) Option {
	return func(c *Config) error { c.Mode = v; return nil }
}

// WithTopology sets the following of the cluster.
func WithTopology(v bool) Option {
	return func(c *Config) error { c.Topology = v; return nil }
}

// WithTopologyUpdateInterval sets the interval between reads of the topology.
func WithTopologyUpdateInterval(v time.Duration) Option {
	return func(c *Config) error { c.TopologyUpdateInterval = v; return nil }
}

// WithBalanceStrategy sets the built-in strategy.
func WithBalanceStrategy(v BalanceStrategy) Option {
	return func(c *Config) error { c.BalanceStrategy = v; return nil }
}

// WithOverflow sets the use of nodes of weight 0.
func WithOverflow(v Overflow) Option {
	return func(c *Config) error { c.Overflow = v; return nil }
}

// WithMaxConns sets the limit of connections to the whole cluster; 0 means none.
func WithMaxConns(v int) Option {
	return func(c *Config) error { c.MaxConns = v; return nil }
}

// WithMaxConnsPerInstance sets the limit of connections to one node; 0 means none.
func WithMaxConnsPerInstance(v int) Option {
	return func(c *Config) error { c.MaxConnsPerInstance = v; return nil }
}

// WithAbandonedLimit sets how many connections with given-up statements may stay outside the caps, in percent of them.
func WithAbandonedLimit(v int) Option {
	return func(c *Config) error { c.AbandonedLimit = v; return nil }
}

// WithMinIdleConnsPerInstance sets the number of connections kept in reserve per node.
func WithMinIdleConnsPerInstance(v int) Option {
	return func(c *Config) error { c.MinIdleConnsPerInstance = v; return nil }
}

// WithMaxConnLifetime sets the age at which a connection is closed; 0 means never.
func WithMaxConnLifetime(v time.Duration) Option {
	return func(c *Config) error { c.MaxConnLifetime = v; return nil }
}

// WithMaxConnIdleTime sets the idle time after which a connection is closed; 0 means never.
func WithMaxConnIdleTime(v time.Duration) Option {
	return func(c *Config) error { c.MaxConnIdleTime = v; return nil }
}

// WithOverflowIdleTime sets the idle time after which a connection to a node of weight 0 is closed.
func WithOverflowIdleTime(v time.Duration) Option {
	return func(c *Config) error { c.OverflowIdleTime = v; return nil }
}

// WithAcquireTimeout sets the limit for waiting for a connection; 0 means the context's alone.
func WithAcquireTimeout(v time.Duration) Option {
	return func(c *Config) error { c.AcquireTimeout = v; return nil }
}

// WithConnectTimeout sets the limit for one dial with TLS and login.
func WithConnectTimeout(v time.Duration) Option {
	return func(c *Config) error { c.ConnectTimeout = v; return nil }
}

// WithDrainTimeout sets the time that work on a node that left may take to finish.
func WithDrainTimeout(v time.Duration) Option {
	return func(c *Config) error { c.DrainTimeout = v; return nil }
}

// WithRouting sets the routing of statements to the leader of their bucket.
func WithRouting(v Routing) Option {
	return func(c *Config) error { c.Routing = v; return nil }
}

// WithRoutingAcquireTimeout sets the wait of a routed statement for its leader.
func WithRoutingAcquireTimeout(v time.Duration) Option {
	return func(c *Config) error { c.RoutingAcquireTimeout = v; return nil }
}

// WithQueryMetadataCacheSize sets the number of texts whose sharding key is remembered; 0 switches it off.
func WithQueryMetadataCacheSize(v int) Option {
	return func(c *Config) error { c.QueryMetadataCacheSize = v; return nil }
}

// WithNoShard sets the behaviour for statements whose shard isn't known.
func WithNoShard(v NoShard) Option {
	return func(c *Config) error { c.NoShard = v; return nil }
}

// WithNoShardScope sets the statements that WithNoShard is for.
func WithNoShardScope(v NoShardScope) Option {
	return func(c *Config) error { c.NoShardScope = v; return nil }
}

// WithPrepare sets the meaning of db.Prepare.
func WithPrepare(v Prepare) Option {
	return func(c *Config) error { c.Prepare = v; return nil }
}

// WithStatementCacheSize sets the number of named statements per connection; 0 means none.
func WithStatementCacheSize(v int) Option {
	return func(c *Config) error { c.StatementCacheSize = v; return nil }
}

// WithStatementCacheThreshold sets the use of a text at which it gets a named statement.
func WithStatementCacheThreshold(v int) Option {
	return func(c *Config) error { c.StatementCacheThreshold = v; return nil }
}

// WithStripComments sets the removal of SQL comments.
func WithStripComments(v bool) Option {
	return func(c *Config) error { c.StripComments = v; return nil }
}

// WithTransactions sets the meaning of BeginTx.
func WithTransactions(v Transactions) Option {
	return func(c *Config) error { c.Transactions = v; return nil }
}

// WithMaxRetries sets the limit of repeated executions; 0 means none.
func WithMaxRetries(v int) Option {
	return func(c *Config) error { c.MaxRetries = v; return nil }
}

// WithVdbeOpcodeMax sets the server's limit of steps per statement, for all connections. Another value in the DSN, by its key or
// inside options=, gives way.
func WithVdbeOpcodeMax(v Limit) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		c.VdbeOpcodeMax, c.origin.opcodes = v, place[Limit]{v, "WithVdbeOpcodeMax"}
		return nil
	}
}

// WithMotionRowMax sets the server's limit of rows moved per statement, for all connections. Another value in the DSN, by its key
// or inside options=, gives way.
func WithMotionRowMax(v Limit) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		c.MotionRowMax, c.origin.motionRows = v, place[Limit]{v, "WithMotionRowMax"}
		return nil
	}
}

// WithLog sets where the log goes if no logger is given.
func WithLog(v Log) Option {
	return func(c *Config) error { c.Log = v; return nil }
}

// WithFloatGuard sets the protection of float arguments from the server.
func WithFloatGuard(v bool) Option {
	return func(c *Config) error { c.FloatGuard = v; return nil }
}

// WithUUIDGuard sets the refusal of UUIDs that the server can't read again.
func WithUUIDGuard(v bool) Option {
	return func(c *Config) error { c.UUIDGuard = v; return nil }
}

// WithMaxChainedOperators sets the limit of operators in a row; 0 means none.
func WithMaxChainedOperators(v int) Option {
	return func(c *Config) error { c.MaxChainedOperators = v; return nil }
}

// WithDeadLeader says what happens to statements that need a leader which is dead and not replaced yet.
func WithDeadLeader(v DeadLeader) Option {
	return func(c *Config) error { c.DeadLeader = v; return nil }
}

// WithSwitchoverTimeout bounds how long a statement that is proved not to have run is tried again while the cluster changes; 0 =
// max_retries times.
func WithSwitchoverTimeout(v time.Duration) Option {
	return func(c *Config) error { c.SwitchoverTimeout = v; return nil }
}

// WithSplitInserts says whether INSERTs of rows of several owners are split.
func WithSplitInserts(v bool) Option {
	return func(c *Config) error { c.SplitInserts = v; return nil }
}

// WithStaleReads sets what happens to a read whose owner's leader doesn't answer.
func WithStaleReads(v StaleReads) Option {
	return func(c *Config) error { c.StaleReads = v; return nil }
}

// WithDeadLeaderTimeout bounds their wait.
func WithDeadLeaderTimeout(v time.Duration) Option {
	return func(c *Config) error { c.DeadLeaderTimeout = v; return nil }
}

// WithSuspectAfter sets after how long without an answer a leader is probed; 0 means never.
func WithSuspectAfter(v time.Duration) Option {
	return func(c *Config) error { c.SuspectAfter = v; return nil }
}

// WithStuckStatementTimeout sets the wait of statements that a lost leader caught; 0 means their context's.
func WithStuckStatementTimeout(v time.Duration) Option {
	return func(c *Config) error { c.StuckStatementTimeout = v; return nil }
}

// WithEjectionFailureThreshold sets the number of failures in a row that eject a node; 0 switches ejection off.
func WithEjectionFailureThreshold(v int) Option {
	return func(c *Config) error { c.EjectionFailureThreshold = v; return nil }
}

// WithEjectionFailureWindow sets the time within which failures add up.
func WithEjectionFailureWindow(v time.Duration) Option {
	return func(c *Config) error { c.EjectionFailureWindow = v; return nil }
}

// WithEjectionDuration sets the length of a first ejection.
func WithEjectionDuration(v time.Duration) Option {
	return func(c *Config) error { c.EjectionDuration = v; return nil }
}

// WithEjectionMaxDuration sets the length at which the growth of ejections ends.
func WithEjectionMaxDuration(v time.Duration) Option {
	return func(c *Config) error { c.EjectionMaxDuration, c.origin.maxEjection = v, true; return nil }
}

// WithSSLMode sets the sslmode of every node.
func WithSSLMode(v SSLMode) Option {
	return func(c *Config) error { c.SSLMode = v; return nil }
}

// WithSSLRootCert sets the file of trusted authorities, or system.
func WithSSLRootCert(v string) Option {
	return func(c *Config) error { c.SSLRootCert = v; return nil }
}

// WithSSLCert sets the file of the client's certificate.
func WithSSLCert(v string) Option {
	return func(c *Config) error { c.SSLCert = v; return nil }
}

// WithSSLKey sets the file of the client's key.
func WithSSLKey(v string) Option {
	return func(c *Config) error { c.SSLKey = v; return nil }
}

// WithSSLPassword sets the password of the client's key.
func WithSSLPassword(v string) Option {
	return func(c *Config) error { c.SSLPassword = v; return nil }
}

// WithSSLSNI sets the sending of the node's name in the TLS handshake.
func WithSSLSNI(v bool) Option {
	return func(c *Config) error { c.SSLSNI = v; return nil }
}

// WithSSLNegotiation sets the beginning of TLS.
func WithSSLNegotiation(v SSLNegotiation) Option {
	return func(c *Config) error { c.SSLNegotiation = v; return nil }
}

// WithSSLMinProtocolVersion sets the oldest TLS version, TLSv1 to TLSv1.3.
func WithSSLMinProtocolVersion(v string) Option {
	return func(c *Config) error { c.SSLMinProtocolVersion = v; return nil }
}

// WithSSLMaxProtocolVersion sets the newest TLS version, TLSv1 to TLSv1.3, or nothing.
func WithSSLMaxProtocolVersion(v string) Option {
	return func(c *Config) error { c.SSLMaxProtocolVersion = v; return nil }
}

// WithTLSServerName sets the name that all certificates are checked against.
func WithTLSServerName(v string) Option {
	return func(c *Config) error { c.TLSServerName = v; return nil }
}

// WithAllowCleartextPassword sets the answer to a request for the password in clear text without TLS.
func WithAllowCleartextPassword(v bool) Option {
	return func(c *Config) error { c.AllowCleartextPassword = v; return nil }
}

// WithMirror sets the DSN of the cluster that gets a copy of the traffic.
func WithMirror(v string) Option {
	return func(c *Config) error { c.Mirror = v; return nil }
}

// WithMirrorMode sets the statements that are mirrored.
func WithMirrorMode(v MirrorMode) Option {
	return func(c *Config) error { c.MirrorMode = v; return nil }
}

// WithMirrorRatio sets the share of statements that is mirrored, 0 to 1.
func WithMirrorRatio(v float64) Option {
	return func(c *Config) error { c.MirrorRatio = v; return nil }
}

// WithMirrorQueue sets the number of statements that may wait for a mirror connection.
func WithMirrorQueue(v int) Option {
	return func(c *Config) error { c.MirrorQueue = v; return nil }
}

// WithMirrorQueueBytes sets the bytes that may wait for a mirror connection.
func WithMirrorQueueBytes(v int) Option {
	return func(c *Config) error { c.MirrorQueueBytes = v; return nil }
}

// WithMirrorCompare sets the comparison of results.
func WithMirrorCompare(v bool) Option {
	return func(c *Config) error { c.MirrorCompare = v; return nil }
}

// WithLogger sets the logger; nil, the default, leaves it to WithLog.
func WithLogger(v *slog.Logger) Option {
	return func(c *Config) error { c.Logger = v; return nil }
}

// WithClock sets the clock that timers and health decisions use, for tests; nil, the default, is SystemClock.
func WithClock(v Clock) Option {
	return func(c *Config) error { c.Clock = v; return nil }
}

// WithBalancer sets the strategy of one's own, instead of WithBalanceStrategy.
func WithBalancer(v Balancer) Option {
	return func(c *Config) error { c.Balancer = v; return nil }
}

// WithNoticeHandler sets the receiver of the servers' notices.
func WithNoticeHandler(v func(Notice)) Option {
	return func(c *Config) error { c.NoticeHandler = v; return nil }
}

// WithTracers adds tracers to those given before. Each implements one or more of the tracer interfaces of package picodata.
func WithTracers(v ...any) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.Tracers = slices.Concat(c.Tracers, v); return nil }
}

// WithHosts sets the nodes to start from, in place of all before.
func WithHosts(v ...Host) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.Hosts = slices.Clone(v); return nil }
}

// WithAllowedTiers sets the tiers whose nodes are used; none means all that hold buckets, in place of all before.
func WithAllowedTiers(v ...string) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.AllowedTiers = slices.Clone(v); return nil }
}

// WithForbiddenTiers sets the tiers whose nodes are never used, in place of all before.
func WithForbiddenTiers(v ...string) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.ForbiddenTiers = slices.Clone(v); return nil }
}

// WithAddressMap sets the places to dial instead of what the cluster advertises, in place of all before.
func WithAddressMap(v ...Mapping) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.AddressMap = slices.Clone(v); return nil }
}

// WithAllowedNetworks sets the networks inside which discovered addresses are dialled, in place of all before.
func WithAllowedNetworks(v ...netip.Prefix) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.AllowedNetworks = slices.Clone(v); return nil }
}

// WithPreferZones sets the failure domains in falling preference: KEY=VALUE[/KEY=VALUE…], in place of all before.
func WithPreferZones(v ...string) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.PreferZones = slices.Clone(v); return nil }
}

// WithNodeWeights sets the shares of the work by node, in place of all before.
func WithNodeWeights(v ...NodeRule) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.NodeWeights = slices.Clone(v); return nil }
}

// WithNodeMaxConns sets the limits of connections by node, in place of all before.
func WithNodeMaxConns(v ...NodeRule) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.NodeMaxConns = slices.Clone(v); return nil }
}

// WithNodePriorities sets the priorities by node, in place of all before.
func WithNodePriorities(v ...NodeRule) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.NodePriorities = slices.Clone(v); return nil }
}

// WithMirrorMap sets the mirror address by node, in place of all before.
func WithMirrorMap(v ...Mapping) Option {
	v = slices.Clone(v)
	return func(c *Config) error { c.MirrorMap = slices.Clone(v); return nil }
}
