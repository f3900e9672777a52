package options

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
