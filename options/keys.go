package options

import (
	"slices"
	"strings"
	"sync"
)

// Key describes one DSN key. The list that Keys returns is the only place where keys are defined:
// parser, formatter, checks, error texts and documents are made from it.
type Key struct {
	Name     string   // as written in a DSN
	Synonyms []string // other accepted names
	Group    string   // what it is about: a heading of the documents
	Type     string   // what its value is
	Allowed  string   // which values
	Default  string   // as text; "" for nothing
	Since    string   // the server version that it needs; "any" for none
	Cost     string   // what setting it costs
	Doc      string   // what it does
	Go       string   // the Config field; the functional option is With + Go, or see Option
	Option   string   // the functional option
}

// key is a Key with the code behind it.
type key struct {
	Key
	binding
	secret bool // the value must never be shown
	inside bool // part of a URL's authority or path, or of host lists: not in its query
}

// Groups of keys, in the order of the documents.
const (
	groupWho        = "Where and who"
	groupNodes      = "The node set"
	groupBalance    = "Balancing"
	groupCapacity   = "Capacity and time limits"
	groupRouting    = "Routing"
	groupStatements = "Statements"
	groupHealth     = "Health"
	groupTLS        = "TLS and security"
	groupMirror     = "Mirroring"
)

// The table is built at its first use and never changes.
var (
	tableOnce  sync.Once
	tableKeys  []key
	tableNames map[string]int // name or synonym → index
)

// table returns all keys in the order of the documents.
func table() []key {
	tableOnce.Do(func() {
		all := slices.Concat(connectionKeys(), nodeKeys(), capacityKeys(), statementKeys(), tlsKeys(), mirrorKeys())
		defaults := New()
		tableNames = make(map[string]int, len(all)+4)
		for i := range all {
			k := &all[i]
			k.Type, k.Allowed = k.kind, k.allowed
			if k.get != nil {
				k.Default = k.get(defaults)
			}
			if k.Since == "" {
				k.Since = "any"
			}
			if k.Option == "" {
				k.Option = "With" + k.Go
			}
			tableNames[k.Name] = i
			for _, name := range k.Synonyms {
				tableNames[name] = i
			}
		}
		tableKeys = all
	})
	return tableKeys
}

// Keys returns all DSN keys in the order of the documents. The slice is the caller's.
func Keys() []Key {
	all := table()
	keys := make([]Key, len(all))
	for i, k := range all {
		keys[i] = k.Key
		keys[i].Synonyms = slices.Clone(k.Synonyms)
	}
	return keys
}

// lookup finds a key by name or synonym.
func lookup(name string) (*key, bool) {
	all := table()
	i, ok := tableNames[name]
	if !ok {
		return nil, false
	}
	return &all[i], true
}

// replacedKeys are keys of other drivers that mean something here only under another name, or
// nothing at all. The text says which and why.
var replacedKeys = map[string]string{
	"target_session_attrs":      "is for clusters of one leader; use instance_role=leader, replica or any",
	"load_balance_hosts":        "is replaced by balance_strategy, which balances every statement, not only the choice of a host at connect",
	"hostaddr":                  "is replaced by host, which takes IP addresses too; tls_server_name gives the name to verify",
	"max_size":                  "is replaced by max_conns, the limit for the whole cluster",
	"pool_max_conns":            "is replaced by max_conns (whole cluster) and max_conns_per_instance",
	"pool_min_idle_conns":       "is replaced by min_idle_conns_per_instance",
	"pool_min_conns":            "is replaced by min_idle_conns_per_instance",
	"pool_max_conn_lifetime":    "is replaced by max_conn_lifetime",
	"pool_max_conn_idle_time":   "is replaced by max_conn_idle_time",
	"excluded_tiers":            "is replaced by forbidden_tiers",
	"default_query_exec_mode":   "has no counterpart: see statement_cache_threshold and statement_cache_size",
	"statement_cache_capacity":  "is replaced by statement_cache_size",
	"binary_parameters":         "has no counterpart: the driver chooses the form that needs one flight",
	"client_encoding":           "has no counterpart: Picodata speaks UTF8 only",
	"TimeZone":                  "has no counterpart: Picodata's times are in UTC",
	"timezone":                  "has no counterpart: Picodata's times are in UTC",
	"DateStyle":                 "has no counterpart: Picodata has one style",
	"datestyle":                 "has no counterpart: Picodata has one style",
	"extra_float_digits":        "has no counterpart: Picodata sends all digits",
	"keepalives":                "has no counterpart: the driver always sets TCP keepalive",
	"keepalives_idle":           "has no counterpart: the driver always sets TCP keepalive",
	"keepalives_interval":       "has no counterpart: the driver always sets TCP keepalive",
	"keepalives_count":          "has no counterpart: the driver always sets TCP keepalive",
	"tcp_user_timeout":          "has no counterpart: the driver sets it where the system has it",
	"search_path":               "has no counterpart: Picodata has no schemas",
	"statement_timeout":         "has no counterpart in Picodata: give each statement a context with a deadline",
	"fallback_application_name": "is replaced by application_name",
	"sslcrl":                    "isn't supported: give a tls.Config by options.WithTLSConfig",
	"sslcrldir":                 "isn't supported: give a tls.Config by options.WithTLSConfig",
	"sslcompression":            "isn't supported, as in every TLS library of today",
	"channel_binding":           "isn't supported by Picodata",
	"gssencmode":                "isn't supported by Picodata",
	"krbsrvname":                "isn't supported by Picodata",
	"replication":               "isn't supported by Picodata",
	"ssl":                       "is replaced by sslmode",
	"service":                   "isn't supported: write the settings into the DSN",
	"servicefile":               "isn't supported: write the settings into the DSN",
	"require_auth":              "isn't supported; allow_cleartext_password decides about cleartext passwords",
}

// nearest proposes the known key that an unknown name most probably means, and tells how many
// edits lie between them, without regard to case, hyphens and underscores.
func nearest(name string) (known string, edits int) {
	plain := func(s string) string {
		return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
	}
	name = plain(name)
	if len(name) > 64 {
		name = name[:64]
	}
	best := 1 << 20
	for _, k := range table() {
		for _, candidate := range append([]string{k.Name}, k.Synonyms...) {
			candidate = plain(candidate)
			d := distance(name, candidate)
			if len(name) >= 4 && strings.HasPrefix(candidate, name) {
				d = min(d, 2) // a word left unfinished
			}
			if d < best {
				best, known = d, k.Name
			}
		}
	}
	return known, best
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours that turn
// a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
