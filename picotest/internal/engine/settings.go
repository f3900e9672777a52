package engine

import (
	"fmt"
	"sort"
	"strings"
)

// configKey names a parameter of ALTER SYSTEM; scope is a tier or "".
type configKey struct{ key, scope string }

type parameter struct {
	name   string
	def    Value
	tiered bool
	since  [2]int
	// check gives the server's complaint about a value of the right type, "" if there is none.
	check func(v Value) string
}

func oneOf(words ...string) func(Value) string {
	return func(v Value) string {
		list := ""
		for i, w := range words {
			if v == Value(w) {
				return ""
			}
			switch {
			case i == 0:
			case i == len(words)-1:
				list += " or "
			default:
				list += ", "
			}
			list += "'" + w + "'"
		}
		return "expected " + list
	}
}

// parameters are those of _pico_db_config with the values a new cluster has.
var parameters = []parameter{
	{name: "auth_login_attempt_max", def: int64(4)},
	{name: "auth_password_enforce_digits", def: true},
	{name: "auth_password_enforce_lowercase", def: true},
	{name: "auth_password_enforce_specialchars", def: false},
	{name: "auth_password_enforce_uppercase", def: true},
	{name: "auth_password_length_min", def: int64(8)},
	{name: "governor_auto_offline_timeout", def: 30.0},
	{name: "governor_check_replication_error", def: true, since: [2]int{25, 6}},
	{name: "governor_common_rpc_timeout", def: 3.0},
	{name: "governor_plugin_rpc_timeout", def: 10.0},
	{name: "governor_raft_op_timeout", def: 3.0},
	{name: "governor_rpc_batch_size", def: int64(200)},
	{name: "iproto_net_msg_max", def: int64(768), tiered: true},
	{name: "jwt_secret", def: ""},
	{name: "memtx_checkpoint_count", def: int64(1), tiered: true},
	{name: "memtx_checkpoint_interval", def: int64(3600), tiered: true},
	{name: "pg_portal_max", def: int64(100000)},
	{name: "pg_statement_max", def: int64(100000)},
	{name: "plugin_check_migration_hash", def: true},
	{name: "raft_snapshot_chunk_size_max", def: int64(16777216)},
	{name: "raft_snapshot_read_view_close_timeout", def: int64(86400)},
	{name: "raft_wal_count_max", def: int64(16384)},
	{name: "raft_wal_size_max", def: int64(67108864)},
	{name: "read_preference", def: "leader", since: [2]int{25, 6}, check: oneOf("leader", "replica", "any")},
	{name: "shredding", def: false},
	{name: "sql_ddl_timeout", def: 86400.0, since: [2]int{26, 2}},
	{name: "sql_log", def: false, since: [2]int{25, 6}},
	{name: "sql_motion_row_max", def: int64(5000)},
	{name: "sql_preemption", def: false, since: [2]int{25, 6}},
	{name: "sql_preemption_interval_us", def: int64(500), since: [2]int{25, 6}},
	{name: "sql_preemption_opcode_max", def: int64(1024), since: [2]int{25, 6}},
	{name: "sql_runtime_concurrency_max", def: int64(50), since: [2]int{26, 2}},
	{name: "sql_storage_cache_count_max", def: int64(50)},
	{name: "sql_storage_cache_size_max", def: int64(5242880)},
	{name: "sql_vdbe_opcode_max", def: int64(45000)},
}

func parameterNamed(name string, v Version) (parameter, bool) {
	for _, p := range parameters {
		if p.name == name && v.AtLeast(p.since[0], p.since[1]) {
			return p, true
		}
	}
	return parameter{}, false
}

// setting reads a parameter; nil if there is none of that name.
func (c *catalog) setting(name, scope string) Value {
	if v, ok := c.config[configKey{name, scope}]; ok {
		return v
	}
	for _, p := range parameters {
		if p.name == name {
			return p.def
		}
	}
	return nil
}

func (c *catalog) intSetting(name string) int64 {
	i, _ := c.setting(name, "").(int64)
	return i
}

// valueKind names a type in ALTER SYSTEM's complaints.
func valueKind(v Value) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case int64:
		return "unsigned"
	case float64:
		return "double"
	case string:
		return "string"
	case Decimal:
		return "decimal"
	case nil:
		return "nil"
	}
	return "any"
}

// set changes a parameter after the server's checks; ofTier is what FOR TIER names.
func (c *catalog) set(name string, v Value, tiers []string, ofTier string, version Version) *Error {
	p, ok := parameterNamed(name, version)
	if !ok {
		return &Error{"XX000", fmt.Sprintf("unknown parameter: '%s'", name)}
	}
	if _, wantFloat := p.def.(float64); wantFloat {
		if f, ok := convertDouble(v); ok && valueKind(v) != "string" {
			v = f
		}
	}
	if want, got := valueKind(p.def), valueKind(v); want != got {
		if version.AtLeast(26, 2) {
			want, got = strings.Replace(want, "boolean", "bool", 1), strings.Replace(got, "unsigned", "integer", 1)
		}
		return &Error{"XX000", fmt.Sprintf("invalid value for '%s': expected %s, got %s", name, want, got)}
	}
	if i, ok := v.(int64); ok && i < 0 {
		return &Error{"XX000", fmt.Sprintf("invalid value for '%s': expected unsigned, got integer", name)}
	}
	if p.check != nil {
		if text := p.check(v); text != "" {
			return &Error{"XX000", fmt.Sprintf("invalid value for '%s': %s", name, text)}
		}
	}
	if !p.tiered {
		if ofTier != "" {
			return bare("parameter with global scope can't be configured for tier '%s'", ofTier)
		}
		tiers = []string{""}
	}
	c.revision++
	for _, t := range tiers {
		c.config[configKey{name, t}] = v
	}
	return nil
}

// configRows gives _pico_db_config.
func (c *catalog) configRows(tiers []string, v Version) [][]cell {
	var rows [][]cell
	tiers = append([]string(nil), tiers...)
	sort.Strings(tiers)
	for _, p := range parameters {
		if !v.AtLeast(p.since[0], p.since[1]) {
			continue
		}
		scopes := []string{""}
		if p.tiered {
			scopes = tiers
		}
		for _, s := range scopes {
			rows = append(rows, []cell{p.name, s, configJSON(c.setting(p.name, s))})
		}
	}
	return rows
}

func configJSON(v Value) string {
	if f, ok := v.(float64); ok {
		return formatFloat(f)
	}
	return jsonOf(v)
}
