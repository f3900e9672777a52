package options

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// hidden stands for a secret.
const hidden = "***"

// FormatDSN returns the canonical DSN of c: a picodata:// URL with every setting that isn't the default, in
// the order of Keys. It holds the password. ParseDSN reads it back to the same settings, and formats
// those to the same text. What only a program can set is left out.
func (c *Config) FormatDSN() string { return format(c, false) }

// RedactedDSN is FormatDSN with stars for secrets, for logs.
func (c Config) RedactedDSN() string { return format(&c, true) }

// RedactDSN returns a DSN that can be shown: the canonical form without secrets if the text is a DSN beyond
// doubt, else nothing of it but its scheme. A text that was meant otherwise than it reads, as one with an
// unencoded @ in its password, is in doubt.
func RedactDSN(dsn string) string {
	rest, begin, isURL := cutScheme(dsn)
	tail := ""
	if isURL {
		tail = rest[strings.IndexAny(rest+"/", "/?#"):]
	}
	if c, err := ParseDSN(dsn); err == nil && !strings.Contains(tail, "@") {
		return c.RedactedDSN()
	}
	return strings.TrimLeft(dsn[:begin], blanks) + hidden
}

// format writes the URL.
func format(c *Config, redact bool) string {
	if c == nil {
		return ""
	}
	c = c.Clone()
	// A Config that contradicts itself still has to be shown in an error or a log.
	_ = c.Normalize()
	var b strings.Builder
	b.WriteString("picodata://")
	if c.User != "" || c.Password != "" {
		escape(&b, c.User, "")
		if c.Password != "" {
			b.WriteByte(':')
			if redact {
				b.WriteString(hidden)
			} else {
				escape(&b, c.Password, "")
			}
		}
		b.WriteByte('@')
	}
	for i, h := range c.Hosts {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.IndexByte(h.Name, ':') >= 0 {
			b.WriteByte('[')
			escape(&b, h.Name, ":")
			b.WriteByte(']')
		} else {
			escape(&b, h.Name, "")
		}
		fmt.Fprintf(&b, ":%d", h.Port)
	}
	b.WriteByte('/')
	escape(&b, c.Database, "")
	separator := byte('?')
	defaults := New()
	for _, k := range table() {
		if k.inside || k.get(c) == k.get(defaults) && !(k.Name == "instance_role" && c.origin.roleGiven) {
			continue
		}
		if k.Name == "instance_role" && c.RoleDerived {
			continue
		}
		b.WriteByte(separator)
		separator = '&'
		b.WriteString(k.Name)
		b.WriteByte('=')
		switch {
		case redact && k.Name == "mirror":
			escape(&b, RedactDSN(c.Mirror), ",:=/*")
		case redact && k.secret:
			b.WriteString(hidden)
		default:
			escape(&b, k.get(c), ",:=/")
		}
	}
	return b.String()
}

// escape writes text percent-encoded, all but unreserved characters and those of plain.
func escape(b *strings.Builder, text, plain string) {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		ch := text[i]
		if ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' ||
			strings.IndexByte("-._~", ch) >= 0 || strings.IndexByte(plain, ch) >= 0 {
			b.WriteByte(ch)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[ch>>4])
		b.WriteByte(digits[ch&15])
	}
}

// The methods below keep secrets out of everything that prints a Config. They have value receivers so that
// they work on a copy too.

// String is RedactedDSN.
func (c Config) String() string { return c.RedactedDSN() }

// GoString is RedactedDSN as a Go expression.
func (c Config) GoString() string { return fmt.Sprintf("options.Config{%q}", c.RedactedDSN()) }

// Format prints the redacted DSN whatever the verb.
func (c Config) Format(f fmt.State, verb rune) {
	text := c.RedactedDSN()
	switch {
	case verb == 'v' && f.Flag('#'):
		text = c.GoString()
	case verb == 'q':
		text = fmt.Sprintf("%q", text)
	}
	// A fmt.State that can't be written to has no other way to say so.
	_, _ = io.WriteString(f, text)
}

// LogValue is RedactedDSN for log/slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.RedactedDSN()) }

// MarshalText is RedactedDSN for encoders, JSON for instance. Use FormatDSN to store a Config.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.RedactedDSN()), nil }
