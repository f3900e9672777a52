package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// serverSettings are the startup settings that a Picodata server knows, with what it takes for
// each. It closes the connection without a word on any other value.
var serverSettings = map[string]struct {
	want string
	ok   func(string) bool
}{
	settingReadPreference: {"leader, replica or any", isOneOf[ReadPreference](settingReadPreference, readPreferenceNames[:])},
	settingForward:        {"on, ro_to_rw or off, in lower case", isOneOf[Forward](settingForward, forwardNames[:])},
	settingQueryMetadata:  {"true or false, in lower case", isTrueOrFalse},
	settingInvalidation:   {"true or false, in lower case", isTrueOrFalse},
	settingMotionRows:     {wantLimit, isLimit},
	settingOpcodes:        {wantLimit, isLimit},
}

// Limit is a limit that the server puts on one statement: a positive number, NoLimit or LimitUnset.
type Limit int64

const (
	LimitUnset Limit = 0  // not given: the server's own setting holds
	NoLimit    Limit = -1 // no limit, the server's 0
)

// String is the text of the DSN keys sql_vdbe_opcode_max and sql_motion_row_max, where 0 means no limit; "" if not given.
func (v Limit) String() string {
	switch v {
	case LimitUnset:
		return ""
	case NoLimit:
		return "0"
	}
	return strconv.FormatInt(int64(v), 10)
}

// MarshalText is String for encoders.
func (v Limit) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads an integer from 0, which means no limit, to 9223372036854775807; an empty text means not given.
func (v *Limit) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = LimitUnset
		return nil
	}
	if !isLimit(string(text)) {
		return &ConfigError{Key: "limit", Value: string(text), Msg: "want " + wantLimit}
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if *v = Limit(n); n == 0 {
		*v = NoLimit
	}
	return err
}

const wantLimit = "an integer from 0 (no limit) to 9223372036854775807"

// bindLimit is for a Limit.
func bindLimit(field func(*Config) *Limit) binding {
	return binding{
		kind:    "integer",
		allowed: "0 (no limit) to 9223372036854775807",
		set:     func(c *Config, text string) bool { return text != "" && field(c).UnmarshalText([]byte(text)) == nil },
		get:     func(c *Config) string { return field(c).String() },
		ok:      func(c *Config) bool { return *field(c) >= NoLimit },
	}
}

// isOneOf is parseEnum as a check.
func isOneOf[T ~uint8](key string, names []string) func(string) bool {
	return func(v string) bool { _, err := parseEnum[T](key, names, v); return err == nil }
}

func isTrueOrFalse(v string) bool { return v == "true" || v == "false" }

func isLimit(v string) bool {
	n, err := parseDecimal[int64](v, 0, math.MaxInt64)
	return err == nil && n >= 0 && v[0] != '-'
}

// bindServerOptions is for the key options.
func bindServerOptions() binding {
	return binding{
		kind:    "list",
		allowed: "name=value[,name=value…] or -c name=value …",
		set: func(c *Config, text string) bool {
			settings, fault := parseServerOptions(text)
			c.ServerOptions = settings
			return fault == ""
		},
		fault: func(text string) string {
			_, fault := parseServerOptions(text)
			return fault
		},
		get: func(c *Config) string {
			items := make([]string, len(c.ServerOptions))
			for i, s := range c.ServerOptions {
				items[i] = s.Name + "=" + s.Value
			}
			return strings.Join(items, ",")
		},
		ok:  func(c *Config) bool { return settingsFault(c.ServerOptions) == "" },
		why: func(c *Config) string { return settingsFault(c.ServerOptions) },
	}
}

// parseServerOptions reads Picodata's comma form or, if the text begins with a hyphen, the form of
// PostgreSQL's command line. fault says what is wrong without quoting values; the text
// may have been meant for another slot.
func parseServerOptions(text string) (settings []Setting, fault string) {
	var items []string
	switch trimmed := strings.TrimLeft(text, " \t"); {
	case text == "":
		return nil, ""
	case strings.HasPrefix(trimmed, "-"):
		if items, fault = commandLineItems(trimmed); fault != "" {
			return nil, fault
		}
	default:
		items = strings.Split(text, ",")
	}
	for i, item := range items {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			if strings.Contains(strings.ToUpper(item), "%3D") {
				return nil, fmt.Sprintf("item %d has no =; percent-encoding belongs into URLs only", i+1)
			}
			return nil, fmt.Sprintf("item %d has no =", i+1)
		}
		settings = append(settings, Setting{Name: settingName(name), Value: value})
	}
	return settings, settingsFault(settings)
}

// settingName writes the name of a known setting as the server knows it: in lower case.
func settingName(name string) string {
	if known := strings.ToLower(name); serverSettings[known].ok != nil {
		return known
	}
	return name
}

// settingsFault says what is wrong with a list of settings, "" if nothing.
func settingsFault(settings []Setting) string {
	for i, s := range settings {
		if s.Name == "" || s.Name[0] == '-' || strings.ContainsAny(s.Name, " \t\r\n,=") || !cleanText(s.Name) {
			return fmt.Sprintf("item %d: a name is one word, and no spaces stand around commas", i+1)
		}
		known := serverSettings[s.Name]
		switch {
		case strings.IndexByte(s.Value, ',') >= 0 || !cleanText(s.Value):
			return fmt.Sprintf("item %d: a value can't hold a comma or NUL", i+1)
		case known.ok == nil || known.ok(s.Value):
		case strings.ContainsAny(s.Value, " \t"):
			return fmt.Sprintf("item %d: %s: want %s; items are separated by commas, without spaces", i+1, s.Name, known.want)
		default:
			return fmt.Sprintf("item %d: %s: want %s", i+1, s.Name, known.want)
		}
	}
	return ""
}

// commandLineItems takes name=value out of -c name=value, -cname=value and --name=value, separated by
// blanks, with a backslash before a blank that belongs to a value.
func commandLineItems(text string) (items []string, fault string) {
	words := commandLineWords(text)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c":
			if i+1 == len(words) {
				return nil, "-c at the end has no name=value after it"
			}
			i++
			items = append(items, words[i])
		case strings.HasPrefix(w, "--"):
			name, value, ok := strings.Cut(w[2:], "=")
			name = strings.ReplaceAll(name, "-", "_")
			if ok {
				name += "=" + value
			}
			items = append(items, name)
		case strings.HasPrefix(w, "-c"):
			items = append(items, w[2:])
		default:
			return nil, fmt.Sprintf("word %d: want -c name=value or --name=value", i+1)
		}
	}
	return items, ""
}

// commandLineWords splits at blanks; a backslash takes the next byte as it is.
func commandLineWords(text string) []string {
	var words []string
	var b strings.Builder
	inWord := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
			inWord = true
		case ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r':
			if inWord {
				words = append(words, b.String())
				b.Reset()
				inWord = false
			}
		default:
			b.WriteByte(ch)
			inWord = true
		}
	}
	if inWord {
		words = append(words, b.String())
	}
	return words
}

// Names of the startup settings that the driver gives or reads itself.
const (
	settingReadPreference = "read_preference"
	settingForward        = "forward"
	settingQueryMetadata  = "pico_query_metadata"
	settingInvalidation   = "pico_stmt_invalidation"
	settingOpcodes        = "sql_vdbe_opcode_max"
	settingMotionRows     = "sql_motion_row_max"
)

// StartupOptions returns the value of the startup parameter "options" in the server's own form,
// name=value[,name=value…]: the user's settings, limits, read_preference, forward, and then, where they are
// asked for, the two that the driver lives on. It is empty if there is nothing to say: the
// parameter must then be left out, because the server closes the connection on an empty one.
func (c *Config) StartupOptions(metadata, invalidation bool) string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(value)
	}
	for _, s := range c.ServerOptions {
		if metadata && s.Name == settingQueryMetadata || invalidation && s.Name == settingInvalidation {
			continue
		}
		add(s.Name, s.Value)
	}
	if c.VdbeOpcodeMax != LimitUnset {
		add(settingOpcodes, c.VdbeOpcodeMax.String())
	}
	if c.MotionRowMax != LimitUnset {
		add(settingMotionRows, c.MotionRowMax.String())
	}
	if c.ReadPreference != ReadPreferenceUnset {
		add(settingReadPreference, c.ReadPreference.String())
	}
	if c.Forward != ForwardUnset {
		add(settingForward, c.Forward.String())
	}
	if metadata {
		add(settingQueryMetadata, "true")
	}
	if invalidation {
		add(settingInvalidation, "true")
	}
	return b.String()
}
