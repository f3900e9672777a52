package options

import (
	"math"
	"strconv"
	"strings"
)

// mirrorKeys: shadow traffic.
func mirrorKeys() []key {
	return []key{
		{Key: Key{Name: "mirror", Go: "Mirror", Group: groupMirror,
			Cost: "one more connection per connection; the mirrored statements' work on the other cluster",
			Doc:  "DSN of another cluster that gets a copy of the traffic; its results are read and dropped. Percent-encode it inside a URL. It can't have a mirror of its own. Its password is never shown."},
			binding: bindMirror(), secret: true},
		{Key: Key{Name: "mirror_map", Go: "MirrorMap", Group: groupMirror,
			Cost: "as mirror",
			Doc:  "Which node's traffic goes to which mirror address. Nodes that aren't listed go to mirror, if there is one, else nowhere. User, password and TLS are mirror's, or the DSN's own without it."},
			binding: bindMap(func(c *Config) *[]Mapping { return &c.MirrorMap }, true)},
		{Key: Key{Name: "mirror_mode", Go: "MirrorMode", Group: groupMirror,
			Cost: "all: the mirror must be a cluster of its own, or writes happen twice",
			Doc:  "Which statements are mirrored: those recognised as plain reads, or all."},
			binding: bindEnum(func(c *Config) *MirrorMode { return &c.MirrorMode }, mirrorModeNames[:], ParseMirrorMode)},
		{Key: Key{Name: "mirror_ratio", Go: "MirrorRatio", Group: groupMirror,
			Cost: "none",
			Doc:  "The share of statements that is mirrored."},
			binding: binding{kind: "number", allowed: "0 to 1",
				set: func(c *Config, text string) bool {
					v, ok := parseRatio(text)
					c.MirrorRatio = v
					return ok
				},
				get: func(c *Config) string { return strconv.FormatFloat(c.MirrorRatio, 'f', -1, 64) },
				ok: func(c *Config) bool {
					return c.MirrorRatio >= 0 && c.MirrorRatio <= 1 && !math.Signbit(c.MirrorRatio)
				}}},
		{Key: Key{Name: "mirror_queue", Go: "MirrorQueue", Group: groupMirror,
			Cost: "memory, bounded by mirror_queue_bytes",
			Doc:  "How many statements may wait for one mirror connection; more are dropped and counted."},
			binding: bindInt(func(c *Config) *int { return &c.MirrorQueue }, 1, 1_000_000)},
		{Key: Key{Name: "mirror_queue_bytes", Go: "MirrorQueueBytes", Group: groupMirror,
			Cost: "so much memory per mirror connection at most",
			Doc:  "How many bytes of statements and arguments may wait for one mirror connection."},
			binding: bindInt(func(c *Config) *int { return &c.MirrorQueueBytes }, 1024, 1<<30)},
		{Key: Key{Name: "mirror_compare", Go: "MirrorCompare", Group: groupMirror,
			Cost: "a digest of every mirrored result on both sides",
			Doc:  "Whether rows and errors of both sides are compared; differences are counted, and logged by statement."},
			binding: bindBool(func(c *Config) *bool { return &c.MirrorCompare })},
	}
}

// bindMirror is for a DSN inside the DSN. Why it is wrong is said in the words of its own error,
// which holds no secret.
func bindMirror() binding {
	field := func(c *Config) *string { return &c.Mirror }
	b := withOK(withKind(bindText(field), "secret"), "a DSN without mirror keys", func(c *Config) bool { return mirrorFault(c.Mirror) == "" })
	b.why = func(c *Config) string { return mirrorFault(c.Mirror) }
	return b
}

// mirrorFault says what is wrong with a mirror's DSN, "" if nothing.
func mirrorFault(dsn string) string {
	if dsn == "" {
		return ""
	}
	c, err := parse(dsn, parsing{nested: true})
	switch {
	case err != nil:
		return "not a valid DSN: " + strings.TrimPrefix(err.Error(), errorPrefix)
	case len(c.Hosts) == 0:
		return "the mirror's DSN names no host"
	}
	return ""
}

// parseRatio reads a plain decimal number; exponents, hex and NaN are typing errors here.
func parseRatio(text string) (float64, bool) {
	for i := range len(text) {
		if (text[i] < '0' || text[i] > '9') && text[i] != '.' && text[i] != '-' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
