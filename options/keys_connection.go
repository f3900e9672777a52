package options

import (
	"net/netip"
	"time"
)

// connectionKeys: where the cluster is and who connects.
func connectionKeys() []key {
	return []key{
		{Key: Key{Name: "host", Go: "Hosts", Group: groupWho,
			Cost: "one dial at start; more hosts make the start survive dead ones",
			Doc:  "Nodes to start from, a list. In a URL they stand before the path, each with its port; IPv6 in brackets there, bare or in brackets here. In mode=bootstrap they are the whole node set. Unix sockets are refused, for Picodata listens on TCP only."},
			binding: binding{kind: "list", allowed: "DNS names and IP addresses, IPv6 with or without zone"}, inside: true},
		{Key: Key{Name: "port", Go: "Hosts", Group: groupWho,
			Cost: "none",
			Doc:  "One port for all hosts that name none, or a list of one port per host. A host without any has 4327."},
			binding: binding{kind: "list", allowed: "1 to 65535"}, inside: true},
		{Key: Key{Name: "user", Go: "User", Group: groupWho,
			Cost: "none",
			Doc:  "Who logs in. The server closes the connection without a word if it is missing, so the driver asks for it."},
			binding: bindText(func(c *Config) *string { return &c.User }), inside: true},
		{Key: Key{Name: "password", Go: "Password", Group: groupWho,
			Cost: "none; a wrong one costs one of the four attempts after which Picodata locks a user on that instance",
			Doc:  "The user's password. A function given by WithPasswordFunc goes before it, passfile comes after it. Never shown by any error, log or format."},
			binding: bindSecret(func(c *Config) *string { return &c.Password }), secret: true, inside: true},
		{Key: Key{Name: "passfile", Go: "PassFile", Group: groupWho,
			Cost: "one read of the file per dial",
			Doc:  "A password file in PostgreSQL's form, host:port:database:user:password per line with * for anything, used if no password is given. The host is the one that is dialled: a node that no line is for gets no password. A file to which others have access is refused."},
			binding: bindText(func(c *Config) *string { return &c.PassFile })},
		{Key: Key{Name: "dbname", Synonyms: []string{"database"}, Go: "Database", Group: groupWho,
			Cost: "none",
			Doc:  "Sent at login; the path of a URL. Picodata has one database and ignores the name."},
			binding: bindText(func(c *Config) *string { return &c.Database }), inside: true},
		{Key: Key{Name: "application_name", Go: "ApplicationName", Group: groupWho,
			Cost: "none",
			Doc:  "Sent at login, for proxies and other servers; Picodata ignores it."},
			binding: bindText(func(c *Config) *string { return &c.ApplicationName })},
		{Key: Key{Name: "log", Go: "Log", Group: groupWho,
			Cost: "stderr: one line per event; statements that go well make none",
			Doc:  "Where the driver's log goes if the program gives no logger: nowhere (off) or to the standard error output as text, from level INFO on (stderr). WithLogger goes before it."},
			binding: bindEnum(func(c *Config) *Log { return &c.Log }, "log", logNames[:])},
		{Key: Key{Name: "options", Go: "ServerOptions", Group: groupWho,
			Since: "25.1 for the limits, 26.1 for pico_*; unknown names have no effect",
			Cost:  "none on the wire",
			Doc:   "Settings for every connection, in Picodata's form name=value[,name=value…] or PostgreSQL's -c name=value. Known values are checked as the server would check them, for it closes the connection on a bad one; unknown names pass with a warning. Those among them that have keys of their own count as if given by these."},
			binding: bindServerOptions()},
	}
}

// tlsVersions are the texts of ssl_min_protocol_version and ssl_max_protocol_version, oldest first.
var tlsVersions = [...]string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}

// tlsKeys: TLS by libpq's names, and what else keeps a password safe.
func tlsKeys() []key {
	return []key{
		{Key: Key{Name: "sslmode", Go: "SSLMode", Group: groupTLS,
			Cost: "one flight per dial where TLS is asked for, two more for its handshake",
			Doc:  "Whether TLS is used and what is verified, as in libpq, the same for every node. prefer: TLS if the node has it, for Picodata ships without. A node with TLS refuses disable. A handshake that fails is never followed by plain text. Only verify-ca and verify-full check who answers."},
			binding: bindEnum(func(c *Config) *SSLMode { return &c.SSLMode }, "sslmode", sslModeNames[:])},
		{Key: Key{Name: "sslrootcert", Go: "SSLRootCert", Group: groupTLS,
			Cost: "one read of the file per dial",
			Doc:  "File of the authorities that may sign a node's certificate, or system for those of the machine, which needs verify-full. With require it makes the driver verify the authority, as libpq does."},
			binding: bindText(func(c *Config) *string { return &c.SSLRootCert })},
		{Key: Key{Name: "sslcert", Go: "SSLCert", Group: groupTLS,
			Cost: "one read of the file per dial",
			Doc:  "File of the client's certificate; goes with sslkey."},
			binding: bindText(func(c *Config) *string { return &c.SSLCert })},
		{Key: Key{Name: "sslkey", Go: "SSLKey", Group: groupTLS,
			Cost: "one read of the file per dial",
			Doc:  "File of the client's private key; goes with sslcert."},
			binding: bindText(func(c *Config) *string { return &c.SSLKey })},
		{Key: Key{Name: "sslpassword", Go: "SSLPassword", Group: groupTLS,
			Cost: "none",
			Doc:  "Password of an encrypted sslkey. Never shown."},
			binding: bindSecret(func(c *Config) *string { return &c.SSLPassword }), secret: true},
		{Key: Key{Name: "sslsni", Go: "SSLSNI", Group: groupTLS,
			Cost: "none",
			Doc:  "Whether the name of the node is sent in the handshake (never for IP addresses)."},
			binding: bindBit(func(c *Config) *bool { return &c.SSLSNI })},
		{Key: Key{Name: "sslnegotiation", Go: "SSLNegotiation", Group: groupTLS,
			Since: "any for postgres; no Picodata yet for direct",
			Cost:  "direct saves one flight per dial",
			Doc:   "postgres asks for TLS first; direct begins with the handshake and needs sslmode=require or stronger."},
			binding: bindEnum(func(c *Config) *SSLNegotiation { return &c.SSLNegotiation }, "sslnegotiation", sslNegotiationNames[:])},
		{Key: Key{Name: "ssl_min_protocol_version", Go: "SSLMinProtocolVersion", Group: groupTLS,
			Cost: "none",
			Doc:  "Oldest TLS version to accept."},
			binding: bindTLSVersion(func(c *Config) *string { return &c.SSLMinProtocolVersion })},
		{Key: Key{Name: "ssl_max_protocol_version", Go: "SSLMaxProtocolVersion", Group: groupTLS,
			Cost: "none",
			Doc:  "Newest TLS version to use; nothing given: the newest there is."},
			binding: bindTLSVersion(func(c *Config) *string { return &c.SSLMaxProtocolVersion })},
		{Key: Key{Name: "tls_server_name", Go: "TLSServerName", Group: groupTLS,
			Cost: "one name for all nodes says less about each",
			Doc:  "The name that certificates are checked against, for all nodes. Nothing given: each node's own host, as dialled."},
			binding: withOK(bindText(func(c *Config) *string { return &c.TLSServerName }), "a DNS name or IP address",
				func(c *Config) bool { return c.TLSServerName == "" || checkHostName(c.TLSServerName) == nil })},
		{Key: Key{Name: "allow_cleartext_password", Go: "AllowCleartextPassword", Group: groupTLS,
			Cost: "on: whoever sees the network sees the password of LDAP users",
			Doc:  "Whether a request for the password in clear text, which Picodata makes of LDAP users, is answered without TLS that verified the server (verify-ca or stronger); by hosts that only the cluster's tables name, inside allowed_networks alone."},
			binding: bindBool(func(c *Config) *bool { return &c.AllowCleartextPassword })},
	}
}

// withOK narrows a binding.
func withOK(b binding, allowed string, ok func(*Config) bool) binding {
	b.allowed, b.ok = allowed, ok
	return b
}

// bindTLSVersion is for a TLS version or nothing.
func bindTLSVersion(field func(*Config) *string) binding {
	return withOK(withKind(bindText(field), "choice"), alternatives(tlsVersions[:]),
		func(c *Config) bool { return *field(c) == "" || tlsVersion(*field(c)) >= 0 })
}

// withKind renames a binding's type.
func withKind(b binding, kind string) binding {
	b.kind = kind
	return b
}

// tlsVersion is the age rank of a version's text, -1 if there is none.
func tlsVersion(text string) int {
	for i, v := range tlsVersions {
		if v == text {
			return i
		}
	}
	return -1
}

// nodeKeys: which nodes there are, what they are used for, and the choice among them.
func nodeKeys() []key {
	return []key{
		{Key: Key{Name: "mode", Synonyms: []string{"enable_discovery"}, Go: "Mode", Group: groupNodes,
			Cost: "bootstrap: none; discovery: as topology",
			Doc:  "Which nodes make up the node set: all instances of the cluster (discovery), or only those that the DSN names (bootstrap), each known by what the server says it is, not by the text of its address. picopyn's enable_discovery=True or False is read as a synonym."},
			binding: bindEnum(func(c *Config) *Mode { return &c.Mode }, "mode", modeNames[:])},
		{Key: Key{Name: "topology", Go: "Topology", Group: groupNodes,
			Since: "25.2",
			Cost:  "on: one connection per client and a read of small system tables per topology_update_interval",
			Doc:   "Whether the driver follows the cluster. off: nodes and roles stay as they were at the start, and a change of leader goes unseen."},
			binding: bindBool(func(c *Config) *bool { return &c.Topology })},
		{Key: Key{Name: "topology_update_interval", Go: "TopologyUpdateInterval", Group: groupNodes,
			Cost: "a shorter one finds changes sooner, and reads the system tables more often on one instance",
			Doc:  "How often the topology is read, with jitter. Errors that hint at a change ask for it at once, whatever the interval."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.TopologyUpdateInterval }, 10*time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "instance_role", Go: "InstanceRole", Group: groupNodes,
			Since: "any; leader and replica need READ on _pico_replicaset",
			Cost:  "leader or replica: fewer nodes share the work",
			Doc:   "Which nodes users' statements may use: all, leaders of their replicaset, or the others. If it isn't given, read_preference and forward decide: see read-preference.md."},
			binding: bindEnum(func(c *Config) *InstanceRole { return &c.InstanceRole }, "instance_role", instanceRoleNames[:])},
		{Key: Key{Name: "read_preference", Go: "ReadPreference", Group: groupNodes,
			Since: "26.1",
			Cost:  "replica or any: reads may be stale; replica: reads hang where a replicaset has no live replica",
			Doc:   "Where the server runs reads, sent to every connection. In any case, as on the server. Nothing given: the server's own setting, which is leader unless ALTER SYSTEM changed it."},
			binding: bindEnum(func(c *Config) *ReadPreference { return &c.ReadPreference }, "read_preference", readPreferenceNames[:])},
		{Key: Key{Name: "forward", Go: "Forward", Group: groupNodes,
			Since: "26.2",
			Cost:  "off: a statement on the wrong node is refused and costs one flight more",
			Doc:   "Whether an instance may pass a statement on: to all (on), to the one leader that holds its data (ro_to_rw), to none (off). Nothing given: on."},
			binding: bindEnum(func(c *Config) *Forward { return &c.Forward }, "forward", forwardNames[:])},
		{Key: Key{Name: "allowed_tiers", Go: "AllowedTiers", Group: groupNodes,
			Cost: "none",
			Doc:  "Only nodes of these tiers are used. Nothing given: all tiers that hold buckets."},
			binding: bindNames(func(c *Config) *[]string { return &c.AllowedTiers }, nil, "tier names, each once")},
		{Key: Key{Name: "forbidden_tiers", Go: "ForbiddenTiers", Group: groupNodes,
			Cost: "none",
			Doc:  "Nodes of these tiers are never used for users' statements."},
			binding: bindNames(func(c *Config) *[]string { return &c.ForbiddenTiers }, nil, "tier names, each once, none of them in allowed_tiers")},
		{Key: Key{Name: "address_map", Go: "AddressMap", Group: groupNodes,
			Cost: "none",
			Doc:  "Where to dial what the cluster advertises, for NAT and forwarded ports. A FROM without a port maps every port of that host; a TO without one keeps the port."},
			binding: bindMap(func(c *Config) *[]Mapping { return &c.AddressMap }, false)},
		{Key: Key{Name: "allowed_networks", Go: "AllowedNetworks", Group: groupNodes,
			Cost: "none",
			Doc:  "Discovered addresses are dialled only inside these networks, after address_map and name resolution; hosts of the DSN are always allowed. Nothing given: no limit."},
			binding: bindNetworks(func(c *Config) *[]netip.Prefix { return &c.AllowedNetworks })},

		{Key: Key{Name: "balance_strategy", Go: "BalanceStrategy", Group: groupBalance,
			Cost: "least_busy and nearest look at more state per choice; none allocates",
			Doc:  "How a node is chosen when nothing routes a statement: in turn by weight, at random by weight, the less busy of two, or the nearest by round-trip time and then the less busy. WithBalancer gives one's own."},
			binding: bindEnum(func(c *Config) *BalanceStrategy { return &c.BalanceStrategy }, "balance_strategy", balanceStrategyNames[:])},
		{Key: Key{Name: "prefer_zones", Go: "PreferZones", Group: groupBalance,
			Cost: "nodes of other zones stay idle while a preferred one can take a connection",
			Doc:  "Failure domains in falling preference, as DC=m1/RACK=r7,DC=m1: nodes that match the first item come first, then those of the next, then all. Compared in any case."},
			binding: bindNames(func(c *Config) *[]string { return &c.PreferZones }, goodZone, "KEY=VALUE[/KEY=VALUE…],…")},
		{Key: Key{Name: "node_weights", Go: "NodeWeights", Group: groupBalance,
			Cost: "none",
			Doc:  "Shares of the work by node. A node that no rule selects has 10; 0 means overflow only. A rule by name goes before one by address, and that before one by tier."},
			binding: bindRules(func(c *Config) *[]NodeRule { return &c.NodeWeights }, 0, 10_000_000)},
		{Key: Key{Name: "node_priorities", Go: "NodePriorities", Group: groupBalance,
			Cost: "nodes of lower priority stay idle while a higher one can take a connection",
			Doc:  "Nodes of a higher priority come first; a node that no rule selects has 0. Weight 0 comes after all priorities."},
			binding: bindRules(func(c *Config) *[]NodeRule { return &c.NodePriorities }, -1000, 1000)},
		{Key: Key{Name: "overflow", Go: "Overflow", Group: groupBalance,
			Cost: "none",
			Doc:  "When nodes of weight 0 are used: if no other can take a connection, for whatever reason (any); only while at least one other lives and all living ones are full (saturated); never (off)."},
			binding: bindEnum(func(c *Config) *Overflow { return &c.Overflow }, "overflow", overflowNames[:])},
	}
}

// year bounds durations that have no natural end.
const year = 365 * 24 * time.Hour

// capacityKeys: how many connections, how long they live, how long a caller waits, and when a
// node counts as ill.
func capacityKeys() []key {
	return []key{
		{Key: Key{Name: "max_conns", Go: "MaxConns", Group: groupCapacity,
			Cost: "callers wait when it is reached",
			Doc:  "Most connections to the whole cluster; 0 means no limit. Nodes get them as they are needed. Busy, idle, dialling and draining ones count. Below the number of nodes it means one each."},
			binding: bindInt(func(c *Config) *int { return &c.MaxConns }, 0, 1_000_000)},
		{Key: Key{Name: "max_conns_per_instance", Go: "MaxConnsPerInstance", Group: groupCapacity,
			Cost: "callers go to other nodes or wait when it is reached",
			Doc:  "Most connections to one node; 0 means no limit. Discovered nodes have it too."},
			binding: bindInt(func(c *Config) *int { return &c.MaxConnsPerInstance }, 0, 1_000_000)},
		{Key: Key{Name: "node_max_conns", Go: "NodeMaxConns", Group: groupCapacity,
			Cost: "as max_conns_per_instance",
			Doc:  "max_conns_per_instance for single nodes or tiers; 0 means no limit for them."},
			binding: bindRules(func(c *Config) *[]NodeRule { return &c.NodeMaxConns }, 0, 1_000_000)},
		{Key: Key{Name: "abandoned_limit", Go: "AbandonedLimit", Group: groupCapacity,
			Cost: "a low one makes callers wait while a server is at statements that were given up, a high one lets it have more connections than the cap",
			Doc:  "How many connections whose statements were given up may stay open on a server outside the caps, in percent of the cap (of 100 where there is none). Further ones count until the server is done."},
			binding: bindInt(func(c *Config) *int { return &c.AbandonedLimit }, 0, 1000)},
		{Key: Key{Name: "min_idle_conns_per_instance", Go: "MinIdleConnsPerInstance", Group: groupCapacity,
			Cost: "that many connections to every node, held by every client",
			Doc:  "Connections that are opened to every node at start and kept in reserve. A node that can't be reached fails nothing."},
			binding: bindInt(func(c *Config) *int { return &c.MinIdleConnsPerInstance }, 0, 10_000)},
		{Key: Key{Name: "max_conn_lifetime", Go: "MaxConnLifetime", Group: groupCapacity,
			Cost: "one dial and login, 3 to 6 ms, per connection and lifetime",
			Doc:  "A connection older than this is closed when it is free; 0 means never. Jitter is drawn once per connection."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.MaxConnLifetime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "max_conn_idle_time", Go: "MaxConnIdleTime", Group: groupCapacity,
			Cost: "a short one makes the next burst dial",
			Doc:  "A connection that was idle for this long is closed; 0 means never."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.MaxConnIdleTime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "overflow_idle_time", Go: "OverflowIdleTime", Group: groupCapacity,
			Cost: "a short one makes the next overflow dial",
			Doc:  "max_conn_idle_time for connections to nodes of weight 0."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.OverflowIdleTime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "acquire_timeout", Go: "AcquireTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "How long a caller waits for a connection before AcquireTimeoutError says who holds them; 0 means that only the caller's context ends the wait."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.AcquireTimeout }, time.Millisecond, 24*time.Hour, true)},
		{Key: Key{Name: "connect_timeout", Go: "ConnectTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "The limit for one dial with TLS and login, per node. A starting instance accepts TCP and stays silent, so there is always a limit; libpq's 0 is refused. The caller's context may end it sooner."},
			binding: withWhy(bindSeconds(func(c *Config) *time.Duration { return &c.ConnectTimeout }, time.Millisecond, 24*time.Hour, false),
				func(c *Config) string {
					if c.ConnectTimeout == 0 {
						return "to wait for ever isn't possible: an instance that starts accepts TCP and stays silent"
					}
					return ""
				})},
		{Key: Key{Name: "drain_timeout", Go: "DrainTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "How long a connection to a node that left the node set may finish its work before it is closed by force; 0 closes it at once."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.DrainTimeout }, time.Millisecond, 24*time.Hour, true)},

		{Key: Key{Name: "instance_ejection_failure_threshold", Go: "EjectionFailureThreshold", Group: groupHealth,
			Cost: "a low one ejects on a short disturbance",
			Doc:  "After this many connection failures in a row a node is left out for a while; 0 switches ejection off. SQL errors, login errors, full nodes and cancelled contexts never count. If all are ejected they are used anyway."},
			binding: bindInt(func(c *Config) *int { return &c.EjectionFailureThreshold }, 0, 1000)},
		{Key: Key{Name: "instance_ejection_failure_window", Go: "EjectionFailureWindow", Group: groupHealth,
			Cost: "none",
			Doc:  "Failures that lie further apart than this don't add up."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionFailureWindow }, 10*time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "instance_ejection_duration", Go: "EjectionDuration", Group: groupHealth,
			Cost: "a long one leaves a node idle after it has recovered",
			Doc:  "How long the first ejection lasts, with jitter; each further one is twice as long. Then one probe at a time decides."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionDuration }, 10*time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "instance_ejection_max_duration", Go: "EjectionMaxDuration", Group: groupHealth,
			Cost: "as instance_ejection_duration",
			Doc:  "Where the growth of ejections ends. If it isn't given, a longer instance_ejection_duration raises it."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionMaxDuration }, 10*time.Millisecond, 24*time.Hour, false)},
	}
}

// withWhy adds a reason to a binding's refusals.
func withWhy(b binding, why func(*Config) string) binding {
	b.why = why
	return b
}
