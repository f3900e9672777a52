package picodata

import (
	"fmt"
	"io"
	"log/slog"
)

// A Connector holds a Config with a password, and package fmt prints what lies behind unexported pointers for some
// verbs. So a Connector, too, shows nothing but the redacted DSN, whatever the verb.

// String is the redacted DSN.
func (c *Connector) String() string {
	if c == nil {
		return "picodata.Connector(nil)"
	}
	return "picodata.Connector(" + c.cfg.RedactedDSN() + ")"
}

// Format prints String.
func (c *Connector) Format(f fmt.State, _ rune) {
	// A fmt.State that can't be written to has no other way to say so.
	_, _ = io.WriteString(f, c.String())
}

// LogValue is String for log/slog.
func (c *Connector) LogValue() slog.Value { return slog.StringValue(c.String()) }
