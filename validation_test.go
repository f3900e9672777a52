package picodata_test

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// badValues are values of fields that no way in may let pass, by field: whatever assigns them, the error names the key.
var badValues = map[string]struct {
	key    string
	values []any
}{
	"Hosts": {"host", []any{[]options.Host(nil), []options.Host{{Name: "a b", Port: 1}}, []options.Host{{Name: "/run/x", Port: 1}},
		[]options.Host{{Name: "", Port: 1}}, []options.Host{{Name: "a,b", Port: 1}}, []options.Host{{Name: "h", Port: 0}}}},
	"Database":                 {"dbname", []any{"a\x00b", "\xff"}},
	"User":                     {"user", []any{"", "a\x00b", "\xff"}},
	"Password":                 {"password", []any{"a\x00b"}},
	"PassFile":                 {"passfile", []any{"a\x00b"}},
	"ApplicationName":          {"application_name", []any{"a\x00b"}},
	"Mode":                     {"mode", []any{options.Mode(9)}},
	"TopologyUpdateInterval":   {"topology_update_interval", []any{time.Duration(0), -time.Second, time.Nanosecond, 48 * time.Hour}},
	"InstanceRole":             {"instance_role", []any{options.InstanceRole(99)}},
	"ReadPreference":           {"read_preference", []any{options.ReadPreference(99)}},
	"Forward":                  {"forward", []any{options.Forward(99)}},
	"AllowedTiers":             {"allowed_tiers", []any{[]string{"a,b"}, []string{""}, []string{"a", "a"}, []string{"a b"}}},
	"ForbiddenTiers":           {"forbidden_tiers", []any{[]string{"a,b"}, []string{""}, []string{"hot"}}},
	"AddressMap":               {"address_map", []any{[]options.Mapping{{From: "a", To: "b>c"}}, []options.Mapping{{From: "a", To: ""}}, []options.Mapping{{From: "a", To: "b"}, {From: "a", To: "c"}}}},
	"AllowedNetworks":          {"allowed_networks", []any{[]netip.Prefix{{}}}},
	"BalanceStrategy":          {"balance_strategy", []any{options.BalanceStrategy(77)}},
	"PreferZones":              {"prefer_zones", []any{[]string{"DC"}, []string{"DC=a,b"}}},
	"NodeWeights":              {"node_weights", []any{[]options.NodeRule{{Selector: "a", Value: -1}}, []options.NodeRule{{Selector: "", Value: 1}}, []options.NodeRule{{Selector: "a=b", Value: 1}}}},
	"NodeMaxConns":             {"node_max_conns", []any{[]options.NodeRule{{Selector: "a", Value: -5}}, []options.NodeRule{{Selector: "tier:", Value: 5}}}},
	"NodePriorities":           {"node_priorities", []any{[]options.NodeRule{{Selector: "a", Value: 1001}}}},
	"Overflow":                 {"overflow", []any{options.Overflow(9)}},
	"MaxConns":                 {"max_conns", []any{-5, 1_000_001}},
	"MaxConnsPerInstance":      {"max_conns_per_instance", []any{-1}},
	"AbandonedLimit":           {"abandoned_limit", []any{-1, 1001}},
	"MinIdleConnsPerInstance":  {"min_idle_conns_per_instance", []any{-1, 10_001}},
	"MaxConnLifetime":          {"max_conn_lifetime", []any{-time.Second, time.Nanosecond}},
	"MaxConnIdleTime":          {"max_conn_idle_time", []any{-time.Second}},
	"OverflowIdleTime":         {"overflow_idle_time", []any{-time.Second}},
	"AcquireTimeout":           {"acquire_timeout", []any{-time.Second}},
	"ConnectTimeout":           {"connect_timeout", []any{time.Duration(0), -time.Second}},
	"DrainTimeout":             {"drain_timeout", []any{-time.Second}},
	"Routing":                  {"routing", []any{options.Routing(9)}},
	"RoutingAcquireTimeout":    {"routing_acquire_timeout", []any{-time.Second}},
	"QueryMetadataCacheSize":   {"query_metadata_cache_size", []any{-1}},
	"NoShard":                  {"no_shard_specified_behavior", []any{options.NoShard{Behavior: 9}, options.NoShard{Behavior: options.NoShardN, Shard: -1}}},
	"NoShardScope":             {"no_shard_scope", []any{options.NoShardScope(9)}},
	"Prepare":                  {"prepare", []any{options.Prepare(9)}},
	"StatementCacheSize":       {"statement_cache_size", []any{-1}},
	"StatementCacheThreshold":  {"statement_cache_threshold", []any{0, -1}},
	"Transactions":             {"transactions", []any{options.Transactions(9)}},
	"MaxRetries":               {"max_retries", []any{-1, 101}},
	"VdbeOpcodeMax":            {"sql_vdbe_opcode_max", []any{options.Limit(-2)}},
	"MotionRowMax":             {"sql_motion_row_max", []any{options.Limit(-5)}},
	"Log":                      {"log", []any{options.Log(9)}},
	"MaxChainedOperators":      {"max_chained_operators", []any{-1}},
	"StuckStatementTimeout":    {"stuck_statement_timeout", []any{-time.Second}},
	"StaleReads":               {"stale_reads", []any{options.StaleReads(9)}},
	"DeadLeader":               {"dead_leader", []any{options.DeadLeader(9)}},
	"SwitchoverTimeout":        {"switchover_timeout", []any{-time.Second, 2 * time.Hour}},
	"DeadLeaderTimeout":        {"dead_leader_timeout", []any{-time.Second, time.Duration(0)}},
	"SuspectAfter":             {"suspect_after", []any{-time.Second, time.Millisecond}},
	"EjectionFailureThreshold": {"instance_ejection_failure_threshold", []any{-1}},
	"EjectionFailureWindow":    {"instance_ejection_failure_window", []any{time.Duration(0)}},
	"EjectionDuration":         {"instance_ejection_duration", []any{time.Duration(0)}},
	"EjectionMaxDuration":      {"instance_ejection_max_duration", []any{time.Duration(0), 20 * time.Millisecond}},
	"SSLMode":                  {"sslmode", []any{options.SSLMode(77)}},
	"SSLRootCert":              {"sslrootcert", []any{"system", "a\x00b"}},
	"SSLCert":                  {"sslcert", []any{"only.crt"}},
	"SSLKey":                   {"sslcert", []any{"only.key"}},
	"SSLPassword":              {"sslpassword", []any{"without a key"}},
	"SSLNegotiation":           {"sslnegotiation", []any{options.SSLNegotiation(9), options.SSLDirect}},
	"SSLMinProtocolVersion":    {"ssl_min_protocol_version", []any{"TLSv9"}},
	"SSLMaxProtocolVersion":    {"ssl_max_protocol_version", []any{"TLSv9", "TLSv1.1"}},
	"TLSServerName":            {"tls_server_name", []any{"a b"}},
	"Mirror":                   {"mirror", []any{"x", "picodata://u@/", "picodata://h/", "picodata://u@h/?max_conns=-1"}},
	"MirrorMap":                {"mirror_map", []any{[]options.Mapping{{From: "", To: "b"}}}},
	"MirrorMode":               {"mirror_mode", []any{options.MirrorMode(9)}},
	"MirrorRatio":              {"mirror_ratio", []any{-0.5, 1.5}},
	"MirrorQueue":              {"mirror_queue", []any{0, -1}},
	"MirrorQueueBytes":         {"mirror_queue_bytes", []any{0}},
	"ServerOptions": {"options", []any{[]options.Setting{{Name: "a", Value: "b,sql_vdbe_opcode_max=0"}}, []options.Setting{{Name: "a,b", Value: "c"}},
		[]options.Setting{{Name: "pico_query_metadata", Value: "perhaps"}}, []options.Setting{{Name: "", Value: "x"}}}},
	"TLSConfig": {"sslmode", []any{&tls.Config{}}},
	"Tracers":   {"Tracers", []any{[]any{1}, []any{nil}}},
}

// neverWrong are the kinds of values that can't be wrong by themselves: nil is the default of the last three.
var neverWrong = []reflect.Kind{reflect.Bool, reflect.Func, reflect.Interface}

// goodConfig is a Config in which nothing is wrong, and in which the bad values above contradict something.
func goodConfig(t *testing.T) *picodata.Config {
	t.Helper()
	cfg, err := picodata.ParseDSN("picodata://u:p@h/?allowed_tiers=hot&instance_ejection_duration=1s&instance_ejection_max_duration=5s")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func refused(t *testing.T, way, field, key string, value any, err error) {
	t.Helper()
	var e *picodata.ConfigError
	if !errors.As(err, &e) {
		t.Errorf("%s: %s = %v: %v, want a *ConfigError", way, field, value, err)
		return
	}
	if got := err.Error(); !strings.Contains(got, key) && !(field == "Hosts" && strings.Contains(got, "port")) {
		t.Errorf("%s: %s = %v: %q doesn't name %s", way, field, value, got, key)
	}
}

// Every field of Config, by reflection, so that a new one can't be forgotten: assigned, set by an option and written in a DSN.
func TestEveryWayInRefusesEveryBadValue(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGUSER"} {
		t.Setenv(name, "")
	}
	typ := reflect.TypeFor[options.Config]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		bad, ok := badValues[f.Name]
		if !ok {
			if f.IsExported() && f.Name != "Logger" && !slices.Contains(neverWrong, f.Type.Kind()) {
				t.Errorf("Config.%s: no bad value is known, so nobody sees whether it is checked", f.Name)
			}
			continue
		}
		for _, v := range bad.values {
			set := func(c *options.Config) error {
				reflect.ValueOf(c).Elem().FieldByName(f.Name).Set(reflect.ValueOf(v))
				if f.Name == "TLSConfig" {
					c.SSLMode = options.SSLDisable // plain text, whatever the program had meant to be verified
				}
				return nil
			}
			cfg := goodConfig(t)
			set(cfg)
			_, err := picodata.NewConnector(cfg)
			refused(t, "Config", f.Name, bad.key, v, err)
			_, err = picodata.NewConnector(goodConfig(t), set)
			refused(t, "option", f.Name, bad.key, v, err)
			if f.Name == "TLSConfig" || f.Name == "Tracers" {
				continue // no DSN carries them
			}
			dsn := cfg.FormatDSN()
			if read, err := picodata.ParseDSN(dsn); err == nil && !reflect.DeepEqual(reflect.ValueOf(read).Elem().FieldByName(f.Name).Interface(), v) {
				continue // as a text it means something else, as a list whose item holds a comma does
			}
			_, err = (&picodata.Driver{}).OpenConnector(dsn)
			refused(t, "DSN", f.Name, bad.key, v, err)
		}
	}
}

// What was good stays good, with options as without.
func TestAGoodConfigPasses(t *testing.T) {
	c, err := picodata.NewConnector(goodConfig(t), options.WithTLSConfig(&tls.Config{}), options.WithSSLMode(options.SSLRequire))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// The zero value has none of the defaults: it is refused, with the way to them.
func TestAZeroConfigIsRefused(t *testing.T) {
	_, err := picodata.NewConnector(&picodata.Config{User: "u", Hosts: []options.Host{{Name: "h", Port: 1}}})
	if err == nil || !strings.Contains(err.Error(), "NewConfig") {
		t.Errorf("%v", err)
	}
}
