package options

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// valid returns a Config that Validate accepts.
func valid(t *testing.T) *Config {
	t.Helper()
	c, err := ParseDSN("picodata://u:p@h")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaultsAreValid(t *testing.T) {
	if err := valid(t).Validate(); err != nil {
		t.Error(err)
	}
	c := New()
	for _, k := range table() {
		if k.ok != nil && !k.ok(c) {
			t.Errorf("the default of %s, %q, is not allowed: %s", k.Name, k.Default, k.Allowed)
		}
	}
}

func TestValidateFindsWhatAProgramSets(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*Config)
		key  string
		want string
	}{
		"no host":  {func(c *Config) { c.Hosts = nil }, "host", "at least one node"},
		"no user":  {func(c *Config) { c.User = "" }, "user", "closes a connection"},
		"bad host": {func(c *Config) { c.Hosts = []Host{{"a b", 1}} }, "host", "host 1"},
		"no port":  {func(c *Config) { c.Hosts = []Host{{"a", 0}} }, "port", "host 1"},
		"socket":   {func(c *Config) { c.Hosts = []Host{{"/run", 1}} }, "host", "unix sockets"},
		"enum":     {func(c *Config) { c.Overflow = 9 }, "overflow", "any, saturated or off"},
		"no_shard": {func(c *Config) { c.NoShard = NoShard{Behavior: NoShardFail, Shard: 1} }, "no_shard_specified_behavior", "shard_N"},
		"integer":  {func(c *Config) { c.MaxConns = -1 }, "max_conns", `"-1": want 0 to 1000000`},
		"duration": {func(c *Config) { c.ConnectTimeout = -time.Second }, "connect_timeout", `"-1s"`},
		"rule":     {func(c *Config) { c.NodeWeights = []NodeRule{{"a,b", 1}} }, "node_weights", "SELECTOR"},
		"map":      {func(c *Config) { c.AddressMap = []Mapping{{"a", "b>c"}} }, "address_map", "FROM>TO"},
		"network": {func(c *Config) {
			c.AllowedNetworks = append(c.AllowedNetworks, mustPrefix("10.0.0.0/8"), netip.Prefix{})
		}, "allowed_networks", "IP networks"},
		"tier":                {func(c *Config) { c.AllowedTiers = []string{"a,b"} }, "allowed_tiers", "tier names"},
		"server option":       {func(c *Config) { c.ServerOptions = []Setting{{"a", "b,c"}} }, "options", "comma"},
		"server option name":  {func(c *Config) { c.ServerOptions = []Setting{{"-a", "b"}} }, "options", "one word"},
		"server option value": {func(c *Config) { c.ServerOptions = []Setting{{"sql_motion_row_max", "x"}} }, "sql_motion_row_max", "integer"},
		"preference":          {func(c *Config) { c.ServerOptions = []Setting{{"read_preference", "x"}} }, "read_preference", "leader, replica or any"},
		"forward":             {func(c *Config) { c.ServerOptions = []Setting{{"forward", "OFF"}} }, "forward", "on, ro_to_rw or off"},
		"mirror":              {func(c *Config) { c.Mirror = "x" }, "mirror", "not a valid DSN"},
		"TLS twice":           {func(c *Config) { c.TLSConfig = &tls.Config{}; c.SSLRootCert = "x" }, "sslrootcert", "given twice"},
		"TLS and disable":     {func(c *Config) { c.TLSConfig = &tls.Config{}; c.SSLMode = SSLDisable }, "sslmode", "WithTLSConfig"},
	} {
		c := valid(t)
		tt.set(c)
		err := c.Validate()
		var e *ConfigError
		if !errors.As(err, &e) || e.Key != tt.key || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s: …%s…", name, err, tt.key, tt.want)
		}
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	c := New()
	c.MaxConns, c.MaxRetries = -1, 1000
	text := c.Validate().Error()
	for _, want := range []string{"host", "user", "max_conns", "max_retries"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: doesn't report %s", text, want)
		}
	}
}

func TestValidateShowsNoSecret(t *testing.T) {
	c := valid(t)
	c.Password, c.SSLPassword, c.Mirror = "QXZ\x00", "VKQ\x00", "picodata://m:WJX@h?max_conns=x"
	text := c.Validate().Error()
	for _, secret := range []string{"QXZ", "VKQ", "WJX"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s", text, secret)
		}
	}
}

// A default must not contradict what was given; what was given must not contradict itself.
func TestALongEjectionRaisesTheDefaultOfItsLimit(t *testing.T) {
	for _, tc := range []struct {
		query string
		opts  []Option
		want  time.Duration // 0: an error
	}{
		{"", nil, 5 * time.Second},
		{"instance_ejection_duration=10s", nil, 10 * time.Second},
		{"instance_ejection_duration=10s&instance_ejection_max_duration=5s", nil, 0},
		{"instance_ejection_max_duration=5s&instance_ejection_duration=10s", nil, 0},
		{"instance_ejection_duration=10s&instance_ejection_max_duration=1m", nil, time.Minute},
		{"", []Option{WithEjectionDuration(time.Minute)}, time.Minute},
		{"", []Option{WithEjectionDuration(time.Minute), WithEjectionMaxDuration(5 * time.Second)}, 0},
	} {
		c, err := ParseDSN("picodata://u@h/?" + tc.query)
		if err == nil {
			if err = c.Apply(tc.opts...); err == nil {
				err = c.Validate()
			}
		}
		if tc.want == 0 {
			if err == nil || !strings.Contains(err.Error(), "instance_ejection_max_duration") {
				t.Errorf("%s: %v, want an error", tc.query, err)
			}
			continue
		}
		if err != nil || c.EjectionMaxDuration != tc.want {
			t.Errorf("%s: %v, %v, want %v", tc.query, c, err, tc.want)
		}
	}
}
