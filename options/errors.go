package options

import (
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
