package options

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseDSNReadsEveryForm(t *testing.T) {
	for _, tt := range goodDSNs {
		c, err := ParseDSN(tt.dsn)
		if err != nil {
			t.Errorf("ParseDSN(%q): %v", tt.dsn, err)
			continue
		}
		if got := c.FormatDSN(); got != tt.want {
			t.Errorf("FormatDSN(ParseDSN(%q))\n got %s\nwant %s", tt.dsn, got, tt.want)
		}
	}
}

func TestParseDSNRefusesWithKeyAndReason(t *testing.T) {
	for _, tt := range badDSNs {
		c, err := ParseDSN(tt.dsn)
		if err == nil {
			t.Errorf("ParseDSN(%q) = %v, want an error", tt.dsn, c)
			continue
		}
		var e *ConfigError
		if !errors.As(err, &e) {
			t.Errorf("ParseDSN(%q): %T, want a *ConfigError", tt.dsn, err)
			continue
		}
		if e.Key != tt.key || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("ParseDSN(%q)\n got %s: %v\nwant %s: …%s…", tt.dsn, e.Key, err, tt.key, tt.reason)
		}
	}
}

func TestParseDSNNamesThePlace(t *testing.T) {
	for dsn, want := range map[string]string{
		"picodata://u@h/?max_conns=x":                  "DSN, byte 17",
		"host=h max_conns=x":                           "DSN, byte 8",
		"  picodata://u@h/?max_conns=x":                "DSN, byte 19",
		"picodata://u@h1,h2:x/":                        "DSN, byte 20",
		"picodata://u:a%zb@h/":                         "DSN, byte 15",
		"picodata://h/?a=1":                            "DSN, byte 15",
		"picodata://u:p@h/?max_conns=1&&max_retries=x": "DSN, byte 32",
	} {
		var e *ConfigError
		if _, err := ParseDSN(dsn); !errors.As(err, &e) || e.Where != want {
			t.Errorf("ParseDSN(%q): %v, want it at %s", dsn, err, want)
		}
	}
}

func TestEveryKeyIsReadAndFormatted(t *testing.T) {
	// A value other than the default for every key that may stand in a query.
	values := map[string]string{
		"passfile": "f", "application_name": "a", "options": "a=b", "mode": "bootstrap", "topology": "off",
		"topology_update_interval": "1s", "instance_role": "leader", "read_preference": "any", "forward": "on",
		"allowed_tiers": "t", "forbidden_tiers": "f", "address_map": "a%3Eb", "allowed_networks": "10.0.0.0/8",
		"balance_strategy": "random", "prefer_zones": "a=b", "node_weights": "i1=3", "node_priorities": "i1=3",
		"overflow": "off", "max_conns": "7", "max_conns_per_instance": "7", "node_max_conns": "i1=3",
		"min_idle_conns_per_instance": "1", "max_conn_lifetime": "2h", "max_conn_idle_time": "2m",
		"abandoned_limit": "20", "overflow_idle_time": "1s", "acquire_timeout": "1s", "connect_timeout": "1s", "drain_timeout": "1s",
		"instance_ejection_failure_threshold": "5", "instance_ejection_failure_window": "1s",
		"instance_ejection_duration": "2s", "instance_ejection_max_duration": "1m", "routing": "keys",
		"routing_acquire_timeout": "1s", "query_metadata_cache_size": "5", "no_shard_specified_behavior": "shard_1",
		"no_shard_scope": "all", "prepare": "eager", "statement_cache_size": "5", "statement_cache_threshold": "1",
		"strip_comments": "off", "transactions": "autocommit", "max_retries": "1", "stuck_statement_timeout": "1s",
		"dead_leader": "fail", "dead_leader_timeout": "5s", "switchover_timeout": "3s", "suspect_after": "1s", "stale_reads": "degraded", "split_inserts": "on",
		"float_guard": "off", "uuid_guard": "off", "max_chained_operators": "8", "sql_vdbe_opcode_max": "0", "sql_motion_row_max": "100000", "log": "stderr",
		"sslmode": "require", "sslrootcert": "r", "sslcert": "c", "sslkey": "k", "sslpassword": "p", "sslsni": "0",
		"sslnegotiation": "direct", "ssl_min_protocol_version": "TLSv1.3", "ssl_max_protocol_version": "TLSv1.3",
		"tls_server_name": "n", "allow_cleartext_password": "on", "mirror": "host=m user=u", "mirror_map": "a%3Eb",
		"mirror_mode": "all", "mirror_ratio": "0.5", "mirror_queue": "5", "mirror_queue_bytes": "5000", "mirror_compare": "on",
	}
	needs := map[string]string{
		"sslcert": "sslkey=k", "sslkey": "sslcert=c", "sslpassword": "sslcert=c&sslkey=k", "sslnegotiation": "sslmode=require",
	}
	for name := range values {
		if _, ok := lookup(name); !ok {
			t.Errorf("there is no key %s", name)
		}
	}
	for _, k := range table() {
		if k.inside {
			continue
		}
		value, ok := values[k.Name]
		if !ok {
			t.Errorf("no value to test key %s with", k.Name)
			continue
		}
		dsn := "picodata://h/?" + needs[k.Name] + "&" + k.Name + "=" + value
		c, err := ParseDSN(dsn)
		if err != nil {
			t.Errorf("ParseDSN(%q): %v", dsn, err)
			continue
		}
		field := reflect.ValueOf(*c).FieldByName(k.Go)
		if !field.IsValid() {
			t.Errorf("key %s: Config has no field %s", k.Name, k.Go)
			continue
		}
		if reflect.DeepEqual(field.Interface(), reflect.ValueOf(*New()).FieldByName(k.Go).Interface()) {
			t.Errorf("ParseDSN(%q) left Config.%s at its default", dsn, k.Go)
		}
		again, err := ParseDSN(c.FormatDSN())
		if err != nil || !sameConfig(c, again) {
			t.Errorf("%s doesn't survive FormatDSN: %s, %v", k.Name, c.FormatDSN(), err)
		}
	}
}

// sameConfig compares settings and not where they were given.
func sameConfig(a, b *Config) bool {
	a, b = a.Clone(), b.Clone()
	for _, c := range []*Config{a, b} {
		c.origin = origin{roleGiven: c.origin.roleGiven}
	}
	return reflect.DeepEqual(a, b)
}

func TestParseDSNWithEnvFillsOnlyWhatIsMissing(t *testing.T) {
	full := map[string]string{"PGHOST": "e1,::1", "PGPORT": "1,2", "PGUSER": "eu", "PGPASSWORD": "ep", "PGPASSFILE": "ef",
		"PGSSLMODE": "verify-full", "PGOPTIONS": "a=b", "PGDATABASE": "ed", "PGCONNECT_TIMEOUT": "9", "PGAPPNAME": "ea", "PGTARGETSESSIONATTRS": "primary"}
	for _, tt := range []struct {
		dsn, want string
		env       map[string]string
	}{
		{"picodata://u:p@h/", "picodata://u:p@h:4327/", full},
		{"picodata://u:@h/", "picodata://u@h:4327/", full},
		{"host=h user=u password=''", "picodata://u@h:4327/", full},
		{"picodata://u@h/?passfile=f", "picodata://u@h:4327/?passfile=f", full},
		{"picodata://u@h/", "picodata://u:ep@h:4327/", full},
		{"picodata://u@h/", "picodata://u@h:4327/?passfile=ef", map[string]string{"PGPASSFILE": "ef"}},
		{"picodata://h/", "picodata://eu:ep@h:4327/", full},
		{"", "picodata://eu:ep@e1:1,[::1]:2/", full},
		{"port=9", "picodata://eu:ep@e1:9,[::1]:9/", full},
		{"picodata://", "picodata://e1:4327/", map[string]string{"PGHOST": "e1"}},
		{"picodata://h", "picodata://h:4327/", map[string]string{"PGPORT": "1"}},
		{"", "picodata:///", nil},
	} {
		c, err := ParseDSNWithEnv(tt.dsn, func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		if err != nil {
			t.Errorf("ParseDSNWithEnv(%q): %v", tt.dsn, err)
		} else if got := c.FormatDSN(); got != tt.want {
			t.Errorf("ParseDSNWithEnv(%q) = %s, want %s", tt.dsn, got, tt.want)
		}
	}
	for name, env := range map[string]map[string]string{
		"unix sockets": {"PGHOST": "/run/pico"},
		"2 ports":      {"PGHOST": "h", "PGPORT": "1,2"},
		"UTF-8":        {"PGUSER": "\xff"},
	} {
		_, err := ParseDSNWithEnv("", func(n string) (string, bool) { v, ok := env[n]; return v, ok })
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "PG") {
			t.Errorf("environment %v: %v, want an error about %s that names the variable", env, err, name)
		}
	}
}

func TestParseDSNReadsNoEnvironment(t *testing.T) {
	t.Setenv("PGHOST", "env")
	t.Setenv("PGPASSWORD", "env")
	c, err := ParseDSN("picodata://u@/")
	if err != nil || len(c.Hosts) != 0 || c.Password != "" {
		t.Errorf("ParseDSN = %+v, %v, want no host and no password", c, err)
	}
}

func TestNearestKnowsTypicalSlips(t *testing.T) {
	for name, want := range map[string]string{
		"readpref": "read_preference", "sslmod": "sslmode", "pasword": "password", "usr": "user", "hosts": "host",
		"tranzactions": "transactions", "maxConns": "max_conns", "enable_discover": "mode", "forwrad": "forward",
		"ssl_root_cert": "sslrootcert", "connection_timeout": "connect_timeout",
	} {
		if got, _ := nearest(name); got != want {
			t.Errorf("nearest(%q) = %s, want %s", name, got, want)
		}
	}
}

func BenchmarkParseDSN(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseDSN("picodata://u:p@h1:4327,h2,[::1]:4329/db?max_conns=50&read_preference=any&node_weights=i1=3"); err != nil {
			b.Fatal(err)
		}
	}
}
