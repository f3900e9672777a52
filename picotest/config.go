package picotest

import (
	"fmt"
	"io"
	"time"
)

// Config describes a cluster. The zero Config is a good one: tier "default" with two
// replicasets of two instances, named i1 to i4, of the newest version, on loopback.
type Config struct {
	// Version is the server's, "25.2", "25.5", "25.6", "26.1", "26.2" (the default) or a
	// whole build text. Node.SetVersion changes one node.
	Version string
	// Tiers are made in this order; the first is the default tier. Default: one tier
	// "default", two replicasets of two instances.
	Tiers []Tier
	// AdminPassword is that of the user admin; default T0psecret.
	AdminPassword string
	// Users are created at start. The first is the one that Cluster.DSN names. Default: "app",
	// who may create tables and read and write all of them, and "plain", who may nothing; an
	// empty list that isn't nil makes nobody.
	Users []User
	// Network is TCP (default) or Memory.
	Network Network
	// Host is where TCP nodes listen; default 127.0.0.1. "::1" and 127.0.0.2 are loopback too.
	Host string
	// BasePort, if set, is the port of the first instance; the next ones follow. Default: free ports below the
	// ephemeral ones. TCP only.
	BasePort int
	// TLS is TLSOff (default), TLSOn or TLSMutual.
	TLS TLSMode
	// Clock is the cluster's time; default the system's.
	Clock Clock
	// Scale multiplies the server's own times: 30 s until a killed instance counts as
	// Offline, 100 ms of a planned stop, 50 ms of a switchover, 10 s of a raft election, 360 s
	// of a statement. Default 1; 0.01 makes 30 s 300 ms.
	Scale float64
	// SwitchWindow is how long a switchover leaves its replicaset read-only, before
	// Scale. Default 50 ms; negative: until Switch.Finish.
	SwitchWindow time.Duration
	// StopWindow is how long a stopped instance lives on after it left, before Scale. Default 100 ms; negative: not at all.
	StopWindow time.Duration
	// StartWindow is how long a started instance accepts connections but no logins, before Scale. Default 1 s;
	// negative: until Node.Online.
	StartWindow time.Duration
	// Seed makes uuids repeatable; 0 (the default) makes them random.
	Seed uint64
	// Statements bounds how many statements are remembered for Cluster.Statements, the
	// newest stay. Default 10,000; negative: none.
	Statements int
	// Trace gets a line per frame of every connection as it happens.
	Trace io.Writer
}

// Tier is a group of replicasets with its own buckets.
type Tier struct {
	// Name defaults to "default".
	Name string
	// Replicasets is the number of replicasets; default 1. They are named NAME_1, NAME_2, ….
	Replicasets int
	// ReplicationFactor is the number of instances per replicaset; default 1.
	ReplicationFactor int
	// Buckets is the tier's bucket count; default 3000.
	Buckets uint64
	// Arbiter makes a tier without buckets.
	Arbiter bool
	// RowsOnly makes instances that stand in the system tables with an address nobody listens on.
	RowsOnly bool
	// FailureDomain is that of every instance of the tier.
	FailureDomain map[string]string
}

// User is made at start.
type User struct {
	Name, Password string
	// Method is how the server asks for the password: "md5" (default), "scram-sha-256",
	// "ldap" (in clear text, checked against Password; "" answers that no LDAP server is configured) or
	// "none", which lets the user in unasked. "chap-sha1" always refuses.
	Method string
	// Grants are privileges as in GRANT … TO: "read on table _pico_replicaset", "create table".
	Grants []string
}

// Network says how clients reach the nodes.
type Network int

const (
	// TCP is loopback.
	TCP Network = iota
	// Memory is a network inside the process, reached through Cluster.DialContext, that works in
	// testing/synctest bubbles. Addresses are NAME.picotest:4327.
	Memory
)

// TLSMode says what the nodes demand of a connection.
type TLSMode int

const (
	// TLSOff answers an SSLRequest with N.
	TLSOff TLSMode = iota
	// TLSOn refuses a startup without TLS, as Picodata does once it has a certificate.
	TLSOn
	// TLSMutual demands a client certificate too.
	TLSMutual
)

// withDefaults fills the fields that were left zero.
func (c Config) withDefaults() (Config, error) {
	if c.AdminPassword == "" {
		c.AdminPassword = "T0psecret"
	}
	if len(c.Tiers) == 0 {
		c.Tiers = []Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}
	}
	c.Tiers = append([]Tier(nil), c.Tiers...)
	seen := map[string]bool{}
	for i := range c.Tiers {
		if err := c.Tiers[i].fill(); err != nil {
			return c, err
		}
		if seen[c.Tiers[i].Name] {
			return c, fmt.Errorf("picotest: tier %q is there twice", c.Tiers[i].Name)
		}
		seen[c.Tiers[i].Name] = true
	}
	if c.Users == nil {
		c.Users = []User{
			{Name: "app", Password: "Passw0rd", Grants: []string{"create table", "read table", "write table"}},
			{Name: "plain", Password: "Passw0rd"},
		}
	}
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Scale < 0 {
		return c, fmt.Errorf("picotest: Scale %v: want a positive factor", c.Scale)
	}
	if c.Scale == 0 {
		c.Scale = 1
	}
	if c.SwitchWindow == 0 {
		c.SwitchWindow = 50 * time.Millisecond
	}
	if c.StopWindow == 0 {
		c.StopWindow = 100 * time.Millisecond
	}
	if c.StartWindow == 0 {
		c.StartWindow = time.Second
	}
	if c.Statements == 0 {
		c.Statements = 10_000
	}
	return c, nil
}

func (t *Tier) fill() error {
	if t.Name == "" {
		t.Name = "default"
	}
	if t.Replicasets < 0 || t.ReplicationFactor < 0 {
		return fmt.Errorf("picotest: tier %q: negative number of replicasets or instances", t.Name)
	}
	if t.Replicasets == 0 {
		t.Replicasets = 1
	}
	if t.ReplicationFactor == 0 {
		t.ReplicationFactor = 1
	}
	if t.Arbiter && t.Buckets > 0 {
		return fmt.Errorf("picotest: tier %q: an arbiter has no buckets", t.Name)
	}
	if t.Buckets == 0 && !t.Arbiter {
		t.Buckets = 3000
	}
	return nil
}

// The server's own times, before Config.Scale. Seen in testdata/live/failover-*.txt.
const (
	autoOfflineTimeout = 30 * time.Second  // governor_auto_offline_timeout
	raftElection       = 10 * time.Second  // a killed raft leader is replaced after it
	raftLeaderless     = time.Second       // of them, pico_raft_leader_id() is 0
	thawOnline         = time.Second       // a thawed instance is Online again
	statementLimit     = 360 * time.Second // DEFAULT_QUERY_TIMEOUT
)

func (c *Cluster) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.cfg.Scale)
}
