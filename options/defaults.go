package options

import (
	"slices"
	"time"
)

// DefaultPort is the port of Picodata's pgproto listener, used where a host names none.
const DefaultPort = 4327

// DefaultWeight is the weight of a node that no rule of node_weights selects.
const DefaultWeight = 10

// defaultMaxEjection is the default of EjectionMaxDuration.
const defaultMaxEjection = 5 * time.Second

// New returns a Config with every default filled in. It has no host, user or password yet.
func New() *Config {
	return &Config{
		Topology:               true,
		TopologyUpdateInterval: 5 * time.Second,

		AbandonedLimit:   50,
		MaxConnLifetime:  time.Hour,
		MaxConnIdleTime:  10 * time.Minute,
		OverflowIdleTime: 5 * time.Second,
		AcquireTimeout:   30 * time.Second,
		ConnectTimeout:   5 * time.Second,
		DrainTimeout:     30 * time.Second,

		QueryMetadataCacheSize: 1000,

		StatementCacheSize:      64,
		StatementCacheThreshold: 3,
		StripComments:           true,
		MaxRetries:              3,
		FloatGuard:              true,
		UUIDGuard:               true,

		EjectionFailureThreshold: 3,
		EjectionFailureWindow:    10 * time.Second,
		EjectionDuration:         time.Second,
		EjectionMaxDuration:      defaultMaxEjection,

		SSLSNI:                true,
		SSLMinProtocolVersion: "TLSv1.2",

		DeadLeaderTimeout: time.Minute,
		SwitchoverTimeout: 10 * time.Second,
		SuspectAfter:      2 * time.Second,

		MirrorRatio:      1,
		MirrorQueue:      64,
		MirrorQueueBytes: 1 << 20,
	}
}

// Clone returns a deep copy: no slice and no tls.Config is shared. Functions, the logger, the
// clock and the balancer are the caller's values and stay the same ones.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	d := *c
	d.Hosts = slices.Clone(c.Hosts)
	d.AllowedTiers = slices.Clone(c.AllowedTiers)
	d.ForbiddenTiers = slices.Clone(c.ForbiddenTiers)
	d.AddressMap = slices.Clone(c.AddressMap)
	d.AllowedNetworks = slices.Clone(c.AllowedNetworks)
	d.PreferZones = slices.Clone(c.PreferZones)
	d.NodeWeights = slices.Clone(c.NodeWeights)
	d.NodeMaxConns = slices.Clone(c.NodeMaxConns)
	d.NodePriorities = slices.Clone(c.NodePriorities)
	d.MirrorMap = slices.Clone(c.MirrorMap)
	d.ServerOptions = slices.Clone(c.ServerOptions)
	d.Tracers = slices.Clone(c.Tracers)
	if c.TLSConfig != nil {
		d.TLSConfig = c.TLSConfig.Clone()
	}
	return &d
}
