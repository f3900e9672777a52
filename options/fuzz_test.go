package options

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParseDSN wants of any text: no panic, a *ConfigError or a Config that formats to a fixpoint and
// shows no password.
func FuzzParseDSN(f *testing.F) {
	for _, tt := range goodDSNs {
		f.Add(tt.dsn)
	}
	for _, tt := range badDSNs {
		f.Add(tt.dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		redacted := RedactDSN(dsn)
		c, err := ParseDSN(dsn)
		if err != nil {
			var e *ConfigError
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		checkFixpoint(t, c)
		// What a password shares with what may be seen proves nothing; so compare with the same Config without it.
		without := c.Clone()
		without.Password, without.SSLPassword = "", ""
		for _, secret := range []string{c.Password, c.SSLPassword} {
			if len(secret) < 4 || strings.Contains(without.String(), secret) || strings.Contains("picodata://***", secret) {
				continue
			}
			if strings.Contains(redacted, secret) || strings.Contains(c.String(), secret) {
				t.Fatalf("%q shows %q", c.String(), secret)
			}
		}
		_ = c.Warnings()
		_ = c.StartupOptions(true, true)
		if _, err := ParseDSN(c.RedactedDSN()); err != nil && c.Mirror == "" && c.SSLPassword == "" {
			t.Fatalf("the redacted form %s isn't a DSN: %v", c.RedactedDSN(), err)
		}
	})
}

// FuzzPassword wants that a password goes through all encoded forms unchanged, and that no error about the raw
// form holds a part of it.
func FuzzPassword(f *testing.F) {
	for _, p := range passwords {
		f.Add(p, "max_conns=x")
	}
	f.Add("12?user=x", "")
	f.Add("a@b?c=d&", "colour=1")
	f.Fuzz(func(t *testing.T, password, tail string) {
		if strings.IndexByte(password, 0) < 0 {
			var encoded strings.Builder
			escape(&encoded, password, "")
			for _, dsn := range []string{
				"picodata://u:" + encoded.String() + "@h/",
				"picodata://u@h/?password=" + encoded.String(),
				"host=h user=u password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'",
			} {
				c, err := ParseDSN(dsn)
				if err != nil {
					t.Fatalf("ParseDSN(%q): %v", dsn, err)
				}
				if c.Password != password {
					t.Fatalf("ParseDSN(%q): password %q, want %q", dsn, c.Password, password)
				}
			}
		}
		// Three letters that no text of the package has, in the password's beginning, middle and end.
		half := len(password) / 2
		secret := "QXZ" + password[:half] + "ZQJ" + password[half:] + "XJQ"
		if strings.Contains(tail, "QXZ") || strings.Contains(tail, "ZQJ") || strings.Contains(tail, "XJQ") {
			return
		}
		for _, dsn := range []string{
			"picodata://u:" + secret + "@h/?" + tail,
			"picodata://u@h/?password=" + secret + "&" + tail,
			"host=h password=" + secret + " " + tail,
			"host=h password='" + secret + "' " + tail,
		} {
			c, err := ParseDSN(dsn)
			text := RedactDSN(dsn)
			if err != nil {
				text += err.Error()
			} else if c.Password != secret {
				// Read otherwise than it was meant, and nothing shows it: an encoded part, say.
				continue
			}
			for _, part := range []string{"QXZ", "ZQJ", "XJQ"} {
				if strings.Contains(text, part) {
					t.Fatalf("%q shows %s: %s", dsn, part, text)
				}
			}
		}
	})
}

// FuzzServerOptions wants of any value of options=: no panic, and that what is taken is sent in a form that a server
// takes, and read back to the same.
func FuzzServerOptions(f *testing.F) {
	for _, text := range []string{"", "a=b", "read_preference=any,forward=on", "-c a=b --c-d=e -cf=g\\ h", "sql_motion_row_max=1", "-c", "a", "=", ",", "-c x=1,y=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, fault := parseServerOptions(text)
		if fault != "" {
			return
		}
		c := New()
		c.ServerOptions = settings
		if c.Normalize() != nil {
			return
		}
		sent := c.StartupOptions(false, false)
		again := New()
		again.ServerOptions, fault = parseServerOptions(sent)
		if fault != "" || again.Normalize() != nil || again.StartupOptions(false, false) != sent {
			t.Fatalf("%q is sent as %q, which is read as %v, %s", text, sent, again.ServerOptions, fault)
		}
	})
}

// FuzzPassFile wants of any text no panic, and that a line that is written is found.
func FuzzPassFile(f *testing.F) {
	f.Add("h:1:d:u:p\n*:*:*:*:x", "p:w\\")
	f.Add("# comment\nh:1", "")
	f.Fuzz(func(t *testing.T, text, password string) {
		file, _ := parsePassFile(text)
		file.password("h", 1, "d", "u")
		if strings.ContainsAny(password, "\r\n") {
			return
		}
		line := "h:1:d:u:" + strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(password)
		file, _ = parsePassFile(line + "\n" + text)
		if got, ok := file.password("h", 1, "d", "u"); !ok || got != password {
			t.Fatalf("%q: %q, %v, want %q", line, got, ok, password)
		}
	})
}
