package options

import (
	"errors"
	"fmt"
	"slices"
)

// Validate normalizes c and checks it: each value against its range, the settings against each other, and
// that there is a host and a user. It reports every fault, each as a *ConfigError, joined if there are
// several.
func (c *Config) Validate() error {
	if err := c.Normalize(); err != nil {
		return err
	}
	faults := c.faults()
	if len(c.Hosts) == 0 {
		faults = append(faults, &ConfigError{Key: "host", Msg: "no host is given: name at least one node of the cluster"})
	}
	if c.User == "" {
		faults = append(faults, &ConfigError{Key: "user", Msg: "no user is given, and the server closes a connection without one"})
	}
	return joined(faults)
}

// check is Validate for a DSN, to which an option may still add a host or a user.
func (c *Config) check() error { return joined(c.faults()) }

// joined is nil, the only error, or all of them.
func joined(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

// faults checks every value and every pair of values.
func (c *Config) faults() []error {
	var faults []error
	fail := func(key, format string, args ...any) {
		faults = append(faults, &ConfigError{Key: key, Msg: fmt.Sprintf(format, args...)})
	}
	for _, k := range table() {
		if k.ok == nil || k.ok(c) {
			continue
		}
		reason := ""
		if k.why != nil {
			reason = k.why(c)
		}
		e := &ConfigError{Key: k.Name, Msg: wantText(&k, reason)}
		if !k.secret {
			e.Value = k.get(c)
		}
		faults = append(faults, e)
	}
	for i, h := range c.Hosts {
		if err := checkHostName(h.Name); err != nil {
			fail("host", "host %d: %v", i+1, err)
		}
		if h.Port == 0 {
			fail("port", "host %d: %v", i+1, errAddressPort)
		}
	}
	for i, tier := range c.ForbiddenTiers {
		if slices.Contains(c.AllowedTiers, tier) {
			fail("forbidden_tiers", "tier %d of the list is in allowed_tiers too", i+1)
		}
	}
	if c.MaxConnsPerInstance > 0 && c.MinIdleConnsPerInstance > c.MaxConnsPerInstance {
		fail("min_idle_conns_per_instance", "%d is more than max_conns_per_instance=%d allows", c.MinIdleConnsPerInstance, c.MaxConnsPerInstance)
	}
	if c.MaxConns > 0 && c.MinIdleConnsPerInstance > c.MaxConns {
		fail("min_idle_conns_per_instance", "%d is more than max_conns=%d allows", c.MinIdleConnsPerInstance, c.MaxConns)
	}
	if c.EjectionMaxDuration < c.EjectionDuration {
		fail("instance_ejection_max_duration", "%s is less than instance_ejection_duration=%s", formatDuration(c.EjectionMaxDuration), formatDuration(c.EjectionDuration))
	}
	if c.Mode == Bootstrap && len(c.AllowedNetworks) > 0 {
		fail("allowed_networks", "it limits discovered addresses, and mode=bootstrap discovers none")
	}
	return append(faults, c.tlsFaults()...)
}

// tlsFaults checks the TLS settings against each other. Most rules are libpq's.
func (c *Config) tlsFaults() []error {
	var faults []error
	fail := func(key, msg string) { faults = append(faults, &ConfigError{Key: key, Msg: msg}) }
	if (c.SSLCert == "") != (c.SSLKey == "") {
		fail("sslcert", "sslcert and sslkey go together: give both or none")
	}
	if c.SSLPassword != "" && c.SSLKey == "" {
		fail("sslpassword", "it is for an encrypted sslkey, and none is given")
	}
	if c.SSLRootCert == "system" && c.SSLMode != SSLVerifyFull {
		fail("sslrootcert", "sslrootcert=system needs sslmode=verify-full: without the name anybody's valid certificate would do")
	}
	if c.SSLNegotiation == SSLDirect && (c.SSLMode == SSLDisable || c.SSLMode == SSLAllow || c.SSLMode == SSLPrefer) {
		fail("sslnegotiation", "sslnegotiation=direct needs sslmode=require, verify-ca or verify-full")
	}
	lowest, highest := tlsVersion(c.SSLMinProtocolVersion), tlsVersion(c.SSLMaxProtocolVersion)
	if highest >= 0 && lowest > highest {
		fail("ssl_max_protocol_version", c.SSLMaxProtocolVersion+" is older than ssl_min_protocol_version="+c.SSLMinProtocolVersion)
	}
	if c.TLSConfig != nil && (c.SSLRootCert != "" || c.SSLCert != "" || c.SSLKey != "") {
		fail("sslrootcert", "certificates are given twice: by WithTLSConfig and by sslrootcert, sslcert or sslkey")
	}
	if c.TLSConfig != nil && c.SSLMode == SSLDisable {
		fail("sslmode", "sslmode=disable contradicts WithTLSConfig: drop one of them")
	}
	return faults
}
