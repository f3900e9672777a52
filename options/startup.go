package options

import "strings"

// Names of the startup settings that the driver gives or reads itself.
const (
	settingReadPreference = "read_preference"
	settingForward        = "forward"
	settingQueryMetadata  = "pico_query_metadata"
	settingInvalidation   = "pico_stmt_invalidation"
)

// StartupOptions returns the value of the startup parameter "options" in the server's own form,
// name=value[,name=value…]: the user's settings, read_preference, forward, and then, where they are
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
