package options

import (
	"fmt"
	"slices"
	"strings"
)

// ParseDSN reads a data source name: a URL with one of the schemes picodata, postgres and postgresql, or
// key=value words as libpq reads them. Every value is checked, the settings are checked against each
// other, and what follows from them is filled in; a missing host or user is not an error here, since an
// option may add it: Validate finds it.
//
// It reads neither the environment nor any file: ParseDSNWithEnv does the former with
// a function of the caller's.
func ParseDSN(dsn string) (*Config, error) { return parse(dsn, parsing{}) }

// ParseDSNWithEnv is ParseDSN that asks lookup (os.LookupEnv, for instance) for what the DSN leaves
// out: PGHOST with PGPORT if it names no host, PGUSER if it names no user, PGPASSWORD or else
// PGPASSFILE if it has neither a password, be it an empty one, nor a passfile. Nothing else is
// read, so a DSN that gives all of these means the same in every environment.
func ParseDSNWithEnv(dsn string, lookup func(name string) (value string, ok bool)) (*Config, error) {
	return parse(dsn, parsing{lookup: lookup})
}

// parsing is how a DSN is read.
type parsing struct {
	lookup func(string) (string, bool) // the environment; nil for none
	nested bool                        // the DSN is another one's mirror
}

// raw is a DSN taken apart, its values decoded but not yet read.
type raw struct {
	hosts  []rawHost
	params []param
	quiet  bool // no text of it may be shown: it could be a part of a password
}

// rawHost is one host as written, with its place in the text.
type rawHost struct {
	name, port string
	pos        int
}

// param is one key with its value, and the place of the key in the text.
type param struct {
	name, value string
	pos         int
	userInfo    bool // stands before the @ of a URL, where a stray character can't reach the keys unseen
}

// parse reads a DSN in either form.
func parse(dsn string, how parsing) (*Config, error) {
	var r *raw
	var err error
	if rest, begin, ok := cutScheme(dsn); ok {
		r, err = readURL(dsn[:begin+len(rest)], begin)
	} else {
		r, err = readWords(dsn)
	}
	if err != nil {
		return nil, err
	}
	r.quiet = r.quiet || how.nested
	a := assembly{config: New(), raw: r, how: how, seen: map[string]param{}}
	if err := a.run(); err != nil {
		return nil, err
	}
	if err := a.config.Normalize(); err != nil {
		return nil, err
	}
	if err := a.config.check(); err != nil {
		return nil, err
	}
	return a.config, nil
}

// at names a place in a DSN.
func at(pos int) string { return fmt.Sprintf("DSN, byte %d", pos+1) }

// dsnError is an error about the text as a whole or a place in it.
func dsnError(key string, pos int, msg string) error {
	return &ConfigError{Key: key, Where: at(pos), Msg: msg}
}

// assembly fills a Config from a raw DSN.
type assembly struct {
	config *Config
	raw    *raw
	how    parsing
	seen   map[string]param // by canonical name
	hidden bool             // a secret went before: what follows may be its tail
}

func (a *assembly) run() error {
	for _, p := range a.raw.params {
		if err := a.param(p); err != nil {
			return err
		}
		if k, ok := lookup(p.name); ok && k.secret && !p.userInfo {
			a.hidden = true
		}
	}
	if err := a.environment(); err != nil {
		return err
	}
	return a.hosts()
}

// param reads one key and its value.
func (a *assembly) param(p param) error {
	k, ok := lookup(p.name)
	if !ok {
		return a.unknown(p)
	}
	if earlier, twice := a.seen[k.Name]; twice {
		return dsnError(k.Name, p.pos, fmt.Sprintf("given twice, first at byte %d", earlier.pos+1))
	}
	a.seen[k.Name] = p
	c := a.config
	switch {
	case k.Name == "host" || k.Name == "port":
		return nil // read together, at the end
	case a.how.nested && (k.Name == "mirror" || k.Name == "mirror_map"):
		return dsnError(k.Name, p.pos, "a mirror can't have a mirror of its own")
	case p.name == "enable_discovery":
		on, ok := parseBool(p.value)
		if !ok {
			return a.wrong(k, p, "enable_discovery: want True or False")
		}
		c.Mode = Bootstrap
		if on {
			c.Mode = Discovery
		}
		return nil
	}
	if !k.set(c, p.value) {
		reason := ""
		if k.fault != nil {
			reason = k.fault(p.value)
		}
		return a.wrong(k, p, reason)
	}
	if !k.ok(c) {
		reason := ""
		if k.why != nil {
			reason = k.why(c)
		}
		return a.wrong(k, p, reason)
	}
	switch k.Name {
	case "instance_role":
		c.origin.roleGiven, c.origin.roleAt = true, at(p.pos)
	case settingReadPreference:
		c.origin.readPreference = place[ReadPreference]{c.ReadPreference, at(p.pos)}
	case settingForward:
		c.origin.forward = place[Forward]{c.Forward, at(p.pos)}
	case settingOpcodes:
		c.origin.opcodes = place[Limit]{c.VdbeOpcodeMax, at(p.pos)}
	case settingMotionRows:
		c.origin.motionRows = place[Limit]{c.MotionRowMax, at(p.pos)}
	case "options":
		c.origin.optionsAt = "options=, " + at(p.pos)
	case "instance_ejection_max_duration":
		c.origin.maxEjection = true
	}
	return nil
}

// wrong is the error for a value. reason may be empty.
func (a *assembly) wrong(k *key, p param, reason string) error {
	if reason == "" && strings.Contains(p.value, "?") {
		reason = "further keys follow after &, not ?" // as when ?key=value was put behind a URL that has keys
	}
	return &ConfigError{Key: k.Name, Value: a.show(k, p.value), Where: at(p.pos), Msg: wantText(k, reason)}
}

// wantText says what would be right, after the reason why a value isn't.
func wantText(k *key, reason string) string {
	switch {
	case reason == "":
		return "want " + k.allowed
	case k.Name == "options" || k.secret:
		return reason
	}
	return reason + "; want " + k.allowed
}

// show returns a value if it may be shown.
func (a *assembly) show(k *key, value string) string {
	if a.raw.quiet || a.hidden || k.secret {
		return ""
	}
	for _, secret := range []string{a.config.Password, a.config.SSLPassword} {
		if secret != "" && value != "" && (strings.Contains(value, secret) || strings.Contains(secret, value)) {
			return ""
		}
	}
	return value
}

// unknown is the error for a key that isn't one. Its name is shown only where it can't be
// the tail of a password, or is nearly the name of a key anyway.
func (a *assembly) unknown(p param) error {
	if why, ok := replacedKeys[p.name]; ok {
		return dsnError(p.name, p.pos, why)
	}
	known, edits := nearest(p.name)
	shown := "DSN"
	if isKeyLike(p.name) && (!a.raw.quiet && !a.hidden || edits <= 2 && len(p.name) >= 6) {
		shown = p.name
	}
	msg := "unknown key; did you mean " + known + "?"
	if strings.ToLower(p.name) == known {
		msg = "unknown key; keys are written in lower case: " + known
	}
	return &ConfigError{Key: shown, Where: at(p.pos), Msg: msg}
}

// env is a variable of the environment, "" if it isn't set or the environment isn't to be read.
func (a *assembly) env(name string) string {
	if a.how.lookup == nil {
		return ""
	}
	value, _ := a.how.lookup(name)
	return value
}

// isKeyLike tells whether a name is made of what names of keys are made of. What isn't may be anything, a
// DSN of another driver for instance.
func isKeyLike(name string) bool {
	for i := range len(name) {
		ch := name[i]
		if (ch < 'a' || ch > 'z') && (ch < 'A' || ch > 'Z') && (ch < '0' || ch > '9') && ch != '_' && ch != '-' && ch != '.' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// environment fills in who, where the DSN leaves it out.
func (a *assembly) environment() error {
	if a.how.lookup == nil {
		return nil
	}
	if _, given := a.seen["user"]; !given {
		a.config.User = a.env("PGUSER")
		if !cleanText(a.config.User) {
			return &ConfigError{Key: "user", Where: "environment, PGUSER", Msg: "not UTF-8"}
		}
	}
	_, passwordGiven := a.seen["password"]
	_, passfileGiven := a.seen["passfile"]
	if !passwordGiven && !passfileGiven {
		if a.config.Password = a.env("PGPASSWORD"); a.config.Password == "" {
			a.config.PassFile = a.env("PGPASSFILE")
		}
	}
	return nil
}

// hosts reads the hosts of the URL's authority, or of host= and port=, or of the environment.
func (a *assembly) hosts() error {
	host, hostGiven := a.seen["host"]
	port, portGiven := a.seen["port"]
	where := at(host.pos)
	names, ports := strings.Split(host.value, ","), strings.Split(port.value, ",")
	switch {
	case len(a.raw.hosts) > 0:
		return a.urlHosts()
	case hostGiven:
	case a.env("PGHOST") != "":
		where = "environment, PGHOST and PGPORT"
		names = strings.Split(a.env("PGHOST"), ",")
		if !portGiven {
			ports = strings.Split(a.env("PGPORT"), ",")
		}
	case portGiven:
		return dsnError("port", port.pos, "given without a host")
	default:
		return nil
	}
	if len(ports) != 1 && len(ports) != len(names) {
		return &ConfigError{Key: "port", Where: where,
			Msg: fmt.Sprintf("%d ports for %d hosts: give one for all or one each", len(ports), len(names))}
	}
	for i, name := range names {
		h, err := bareHost(name, pick(ports, i))
		if err != nil {
			return &ConfigError{Key: "host", Where: where, Msg: fmt.Sprintf("host %d: %v", i+1, err)}
		}
		a.addHost(h)
	}
	return nil
}

// urlHosts takes the hosts of the authority, with the ports of port= where it is given.
func (a *assembly) urlHosts() error {
	hosts := a.raw.hosts
	if host, given := a.seen["host"]; given {
		return dsnError("host", host.pos, "given twice: the URL names its hosts before the path already")
	}
	port, portGiven := a.seen["port"]
	ports := strings.Split(port.value, ",")
	if len(ports) != 1 && len(ports) != len(hosts) {
		return dsnError("port", port.pos, fmt.Sprintf("%d ports for %d hosts: give one for all or one each", len(ports), len(hosts)))
	}
	for i, h := range hosts {
		if portGiven {
			if h.port != "" {
				return dsnError("port", port.pos, fmt.Sprintf("given twice: the host at byte %d has its own", h.pos+1))
			}
			h.port = pick(ports, i)
		}
		n, err := parsePort(h.port)
		if err != nil {
			return dsnError("port", port.pos, err.Error())
		}
		a.addHost(Host{Name: h.name, Port: n})
	}
	return nil
}

// addHost adds a host that isn't in the list yet: one node is one node.
func (a *assembly) addHost(h Host) {
	if !slices.ContainsFunc(a.config.Hosts, func(o Host) bool { return o.Port == h.Port && sameHost(o.Name, h.Name) }) {
		a.config.Hosts = append(a.config.Hosts, h)
	}
}

// bareHost reads a host as host= has it: without a port, an IPv6 address with or without brackets.
// Errors don't quote the texts.
func bareHost(name, port string) (Host, error) {
	if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") && strings.Contains(inner, ":") {
		name = strings.TrimSuffix(inner, "]")
	}
	err := checkHostName(name)
	switch {
	case err != nil && !isSocketPath(name) && strings.Contains(name, ":"):
		return Host{}, fmt.Errorf("%w; in this form the port is given by port=", err)
	case err != nil:
		return Host{}, err
	}
	n, err := parsePort(port)
	return Host{Name: name, Port: n}, err
}

// pick is the i-th item, or the only one.
func pick(list []string, i int) string {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return ""
}
