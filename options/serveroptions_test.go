package options

import (
	"crypto/tls"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// recorded are dialogues with real servers.
type recorded struct {
	Dialogues []struct {
		Name   string
		Params map[string]string
		Steps  []struct{ End string }
	}
}

// TestOptionsAgreeWithRecordedServers sends every recorded value of the startup parameter "options" through
// ParseDSN: what a server closed the connection on must be refused, what it took must pass.
func TestOptionsAgreeWithRecordedServers(t *testing.T) {
	for _, file := range []string{"dialogues-25.6.json", "dialogues-26.2.json"} {
		text, err := os.ReadFile("../testdata/live/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var all recorded
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, d := range all.Dialogues {
			value, ok := d.Params["options"]
			if !ok || len(d.Steps) == 0 {
				continue
			}
			checked++
			// The driver is stricter in one thing: the server takes this mix and then fails reads.
			if value == "forward=off,read_preference=any" {
				continue
			}
			c, err := ParseDSN("host=h options='" + value + "'")
			if taken := d.Steps[0].End == "ready"; taken != (err == nil) {
				t.Errorf("%s: %s: server took it: %v, driver: %v", file, d.Name, taken, err)
			}
			if err == nil && !strings.HasPrefix(value, "-") {
				if got := c.StartupOptions(false, false); !sameSettings(got, value) {
					t.Errorf("%s: %s: sent as %q", file, d.Name, got)
				}
			}
		}
		if checked < 10 {
			t.Errorf("%s: only %d dialogues with options", file, checked)
		}
	}
}

// sameSettings compares two comma lists without regard to order and case.
func sameSettings(a, b string) bool {
	items := map[string]int{}
	for _, s := range strings.Split(strings.ToLower(a), ",") {
		items[s]++
	}
	for _, s := range strings.Split(strings.ToLower(b), ",") {
		items[s]--
	}
	for _, n := range items {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestStartupOptions(t *testing.T) {
	for _, tt := range []struct {
		options                string
		metadata, invalidation bool
		want                   string
	}{
		{"", false, false, ""},
		{"", true, false, "pico_query_metadata=true"},
		{"", false, true, "pico_stmt_invalidation=true"},
		{"read_preference=any,sql_motion_row_max=0,forward=on,x=y", true, true,
			"x=y,sql_motion_row_max=0,read_preference=any,forward=on,pico_query_metadata=true,pico_stmt_invalidation=true"},
		{"pico_query_metadata=false,pico_stmt_invalidation=false", false, false, "pico_query_metadata=false,pico_stmt_invalidation=false"},
		{"pico_query_metadata=false,a=b,pico_stmt_invalidation=false", true, true, "a=b,pico_query_metadata=true,pico_stmt_invalidation=true"},
	} {
		c := New()
		if !mustSet(t, c, "options", tt.options) {
			continue
		}
		if got := c.StartupOptions(tt.metadata, tt.invalidation); got != tt.want {
			t.Errorf("StartupOptions of %q = %q, want %q", tt.options, got, tt.want)
		}
	}
}

// mustSet sets a key by its text and normalizes.
func mustSet(t *testing.T, c *Config, name, text string) bool {
	t.Helper()
	k, ok := lookup(name)
	if !ok || !k.set(c, text) || c.Normalize() != nil {
		t.Errorf("%s=%q can't be set", name, text)
		return false
	}
	return true
}

func TestWarningsAreOneLineEachWithoutRepetition(t *testing.T) {
	for dsn, want := range map[string][]string{
		"picodata://h/": nil,
		"picodata://h/?options=foo=1,bar=2,foo=3":           {`"foo"`, `"bar"`},
		"picodata://h/?options=pico_new=1":                  {`"pico_new"`},
		"picodata://h/?options=pico_query_metadata=false":   {"routing and query_metadata_cache_size"},
		"picodata://h/?instance_role=replica":               {"add read_preference=any or replica"},
		"picodata://h/?instance_role=leader&topology=off":   {"a change of leader goes unseen"},
		"picodata://h/?read_preference=leader&topology=off": {"a change of leader goes unseen"},
		"picodata://h/?sslrootcert=x":                       {"verifies nothing"},
		"picodata://h/?sslrootcert=x&sslmode=require":       nil,
		"picodata://h/?mirror_compare=on":                   {"without mirror"},
	} {
		c, err := ParseDSN(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		got := c.Warnings()
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %d warnings", dsn, got, len(want))
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], want[i]) || strings.Contains(got[i], "\n") {
				t.Errorf("%s: %q, want it to say %q", dsn, got[i], want[i])
			}
		}
	}
}

// Who gives a tls.Config hears that a mode which falls back to plain text may not use it.
func TestWarningAboutATLSConfigThatMayGoUnused(t *testing.T) {
	for mode, want := range map[SSLMode]int{SSLPrefer: 1, SSLAllow: 1, SSLRequire: 0, SSLVerifyFull: 0} {
		c := New()
		c.TLSConfig, c.SSLMode = &tls.Config{}, mode
		if got := c.Warnings(); len(got) != want || want == 1 && !strings.Contains(got[0], "plain text") {
			t.Errorf("%s: %q", mode, got)
		}
	}
}
