package options

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errorPrefix begins every error text of this package.
const errorPrefix = "picodata: config: "

// ConfigError says which setting is wrong, where it stands and what would be right. Neither the
// error nor its text ever holds a secret: a value is left out where it might be part of one.
type ConfigError struct {
	// Key is the setting's DSN key, or "DSN" for the text as a whole.
	Key string
	// Value is what was given, shortened; empty if it must not be shown.
	Value string
	// Where says which text holds it: `DSN, byte 31` (counted from 1), `options=`, a Go option.
	// It may be empty for a Config that a program filled.
	Where string
	// Msg says what is wrong and what to do.
	Msg string
}

// Error is one line: the key, the value where it can be shown, what is wrong, and where.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString(errorPrefix)
	if e.Key != "" {
		b.WriteString(e.Key)
		if e.Value != "" {
			b.WriteByte('=')
			b.WriteString(strconv.Quote(shorten(e.Value)))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Where != "" {
		b.WriteString(" (")
		b.WriteString(e.Where)
		b.WriteByte(')')
	}
	return b.String()
}

// shorten keeps an error readable whatever was given.
func shorten(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Validate normalizes c and checks it: each value against its range, the settings against each other, and
// that there is a host and a user. It reports every fault, each as a *ConfigError, joined if there are
// several.
func (c *Config) Validate() error {
	if c.ConnectTimeout == 0 && c.TopologyUpdateInterval == 0 && c.EjectionDuration == 0 {
		return &ConfigError{Key: "Config", Msg: "it has no defaults: start from NewConfig or ParseDSN, not from the zero value"}
	}
	if err := c.Normalize(); err != nil {
		return err
	}
	faults := c.faults()
	if len(c.Hosts) == 0 {
		faults = append(faults, &ConfigError{Key: "host", Msg: "no host is given: name at least one node of the cluster in the DSN, or set PGHOST"})
	}
	if c.User == "" {
		faults = append(faults, &ConfigError{Key: "user", Msg: "no user is given, and the server closes a connection without one: name one in the DSN (picodata://user@host/ or user=…), with WithUser, or in PGUSER"})
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

// Warnings lists what is allowed and yet probably not meant: one line each, without secrets, in a fixed
// order. The driver logs each once per connector.
func (c *Config) Warnings() []string {
	var w []string
	for _, s := range c.ServerOptions {
		switch {
		case serverSettings[s.Name].ok == nil:
			w = append(w, fmt.Sprintf("options: %q is not a setting that this driver knows; it is sent, and a server that doesn't know it either ignores it", shorten(s.Name)))
		case s.Name == settingQueryMetadata || s.Name == settingInvalidation:
			w = append(w, fmt.Sprintf("options: the driver decides about %s itself: routing and query_metadata_cache_size are the settings for it", s.Name))
		}
	}
	if c.InstanceRole == RoleReplica && c.ReadPreference == ReadPreferenceUnset {
		w = append(w, "instance_role=replica without read_preference: the server sends every read back to the leader; add read_preference=any or replica")
	}
	if c.InstanceRole != RoleAny && !c.Topology {
		w = append(w, fmt.Sprintf("instance_role=%s with topology=off: roles are read once at the start, and a change of leader goes unseen", c.InstanceRole))
	}
	if c.TLSConfig != nil && (c.SSLMode == SSLPrefer || c.SSLMode == SSLAllow) {
		w = append(w, fmt.Sprintf("WithTLSConfig with sslmode=%s: a node that has no TLS is talked to in plain text; use verify-full, verify-ca or require", c.SSLMode))
	}
	if c.SSLRootCert != "" && (c.SSLMode == SSLPrefer || c.SSLMode == SSLAllow || c.SSLMode == SSLDisable) {
		w = append(w, fmt.Sprintf("sslrootcert has no effect with sslmode=%s, which verifies nothing; use verify-full, verify-ca or require", c.SSLMode))
	}
	if c.Mirror == "" && len(c.MirrorMap) == 0 && (c.MirrorMode != MirrorReads || c.MirrorCompare) {
		w = append(w, "mirror_mode and mirror_compare have no effect without mirror or mirror_map")
	}
	return w
}
