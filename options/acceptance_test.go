package options

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// passwords of the scenario dsn-password-specials.
var passwords = []string{"p@s:s/w?r#d", "%s123", "a b+c", "[x]", `кл'юч\`, ""}

func TestAcceptance(t *testing.T) {
	t.Run("dsn-password-specials", func(t *testing.T) {
		for _, password := range passwords {
			var encoded strings.Builder
			escape(&encoded, password, "")
			quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'"
			for _, dsn := range []string{
				"picodata://u:" + encoded.String() + "@h:4327/",
				"picodata://u@h:4327/?password=" + encoded.String(),
				"host=h port=4327 user=u password=" + quoted,
			} {
				c, err := ParseDSN(dsn)
				if err != nil {
					t.Errorf("ParseDSN(%q): %v", dsn, err)
					continue
				}
				if c.Password != password || c.User != "u" || len(c.Hosts) != 1 || c.Hosts[0] != (Host{"h", 4327}) {
					t.Errorf("ParseDSN(%q): password %q of %q at %v, want %q", dsn, c.Password, c.User, c.Hosts, password)
				}
			}
		}
		// Only what must be encoded is: the rest of the reserved bytes may stand as they are.
		c, err := ParseDSN("picodata://u:a+b!$&'()*;=[x]~@h:4327/")
		if err != nil || c.Password != "a+b!$&'()*;=[x]~" {
			t.Errorf("sub-delims: %q, %v", c.Password, err)
		}

		dsn := "picodata://u:ab?c@h:4327/"
		c, err = ParseDSN(dsn)
		if err == nil {
			t.Fatalf("ParseDSN(%q) = %+v, want an error", dsn, c)
		}
		if !strings.Contains(err.Error(), "byte 16") || !strings.Contains(err.Error(), "byte 18") {
			t.Errorf("%v: names neither the ? at byte 16 nor the @ at byte 18", err)
		}
		for _, secret := range []string{"ab", "b?", "?c", "c@", "ab?c"} {
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), RedactDSN(dsn)} {
				if strings.Contains(text, secret) {
					t.Errorf("%q shows %q of the password", text, secret)
				}
			}
		}
	})

	t.Run("dsn-ipv6", func(t *testing.T) {
		for dsn, want := range map[string][]Host{
			"picodata://u@[::1]:4328,[2001:db8::5],127.0.0.1:4329/db": {{"::1", 4328}, {"2001:db8::5", DefaultPort}, {"127.0.0.1", 4329}},
			"host=2001:db8::5 port=4330":                              {{"2001:db8::5", 4330}},
			"picodata://[fe80::1%25eth0]:4327":                        {{"fe80::1%eth0", 4327}},
		} {
			c, err := ParseDSN(dsn)
			if err != nil || !reflect.DeepEqual(c.Hosts, want) {
				t.Errorf("ParseDSN(%q) = %v, %v, want %v", dsn, c, err, want)
			}
		}
		for host, want := range map[Host]string{
			{"::1", 4328}: "[::1]:4328", {"127.0.0.1", 4329}: "127.0.0.1:4329", {"fe80::1%eth0", 4327}: "[fe80::1%eth0]:4327",
		} {
			if got := host.Address(); got != want {
				t.Errorf("%#v is dialled at %s, want %s", host, got, want)
			}
		}
		// The one rule for rows of the topology.
		for row, want := range map[string]string{
			"[::1]:4328": "[::1]:4328", "::1:4328": "", "nodeb": "nodeb:4327", "nodeb:": "nodeb:4327", "": "",
		} {
			h, err := ParseAddress(row)
			if got := h.Address(); want == "" && err == nil || want != "" && got != want {
				t.Errorf("ParseAddress(%q) = %s, %v, want %q", row, got, err, want)
			}
		}
	})

	t.Run("dsn-unix-socket", func(t *testing.T) {
		for _, dsn := range []string{"picodata://u@%2Frun%2Fpico:4327/db", "host=/run/pico:eu:1 port=4327", "picodata:///db?host=/run/pico"} {
			c, err := ParseDSN(dsn)
			if err == nil || !strings.Contains(err.Error(), "unix sockets are not supported") {
				t.Errorf("ParseDSN(%q) = %v, %v, want the refusal of unix sockets", dsn, c, err)
			}
		}
	})

	t.Run("sslmode-default", func(t *testing.T) {
		// As far as parsing goes: one default for every node, whatever the environment says.
		c, err := ParseDSNWithEnv("picodata://u:p@h", func(name string) (string, bool) { return "verify-full", name == "PGSSLMODE" })
		if err != nil || c.SSLMode != SSLPrefer {
			t.Errorf("sslmode = %v, %v, want prefer", c.SSLMode, err)
		}
		if k, _ := lookup("sslmode"); k.Default != "prefer" {
			t.Errorf("the documents say sslmode=%s", k.Default)
		}
	})
}
