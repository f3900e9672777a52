// Package options holds everything that configures the driver as plain values:
// the Config struct, its enums, its defaults and its validation. It does no I/O.
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
	Hosts           []Host
	Database        string
	User            string
	Password        string
	PassFile        string
	ApplicationName string

	// The node set.
	Mode                   Mode
	Topology               bool
	TopologyUpdateInterval time.Duration
	InstanceRole           InstanceRole
	RoleDerived            bool // InstanceRole came from ReadPreference or Forward, not from the user
	ReadPreference         ReadPreference
	Forward                Forward
	AllowedTiers           []string
	ForbiddenTiers         []string
	AddressMap             []Mapping
	AllowedNetworks        []netip.Prefix

	// Balancing and capacity.
	BalanceStrategy         BalanceStrategy
	PreferZones             []string
	NodeWeights             []NodeRule
	NodeMaxConns            []NodeRule
	NodePriorities          []NodeRule
	Overflow                Overflow
	MaxConns                int
	MaxConnsPerInstance     int
	MinIdleConnsPerInstance int
	MaxConnLifetime         time.Duration
	MaxConnIdleTime         time.Duration
	OverflowIdleTime        time.Duration
	AcquireTimeout          time.Duration
	ConnectTimeout          time.Duration
	DrainTimeout            time.Duration

	// Routing.
	Routing                Routing
	RoutingAcquireTimeout  time.Duration
	QueryMetadataCacheSize int
	NoShard                NoShard
	NoShardScope           NoShardScope

	// Statements.
	Prepare                 Prepare
	StatementCacheSize      int
	StatementCacheThreshold int
	StripComments           bool
	Transactions            Transactions
	MaxRetries              int
	StuckStatementTimeout   time.Duration

	// Health.
	EjectionFailureThreshold int           // instance_ejection_failure_threshold; 0 = off
	EjectionFailureWindow    time.Duration // instance_ejection_failure_window
	EjectionDuration         time.Duration // instance_ejection_duration: the first one
	EjectionMaxDuration      time.Duration // instance_ejection_max_duration: growth ends here

	// Security.
	SSLMode                SSLMode
	SSLRootCert            string
	SSLCert                string
	SSLKey                 string
	SSLPassword            string
	SSLSNI                 bool
	SSLNegotiation         SSLNegotiation
	SSLMinProtocolVersion  string
	SSLMaxProtocolVersion  string
	TLSServerName          string
	AllowCleartextPassword bool

	// Mirroring.
	Mirror           string
	MirrorMap        []Mapping
	MirrorMode       MirrorMode
	MirrorRatio      float64
	MirrorQueue      int
	MirrorQueueBytes int
	MirrorCompare    bool

	// ServerOptions are the settings that go to every connection in the startup
	// parameter "options", in order. ReadPreference and Forward are not among them.
	ServerOptions []Setting

	// Go-only settings, which no DSN can carry.
	PasswordFunc  func(ctx context.Context) (string, error)
	TLSConfig     *tls.Config
	DialFunc      func(ctx context.Context, network, address string) (net.Conn, error)
	Logger        *slog.Logger
	Clock         Clock
	Balancer      Balancer
	NoticeHandler func(Notice)

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
