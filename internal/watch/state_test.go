package watch

import (
	"encoding/json"
	"testing"

	"github.com/picodata/go-picodata/metadata"
)

func TestParseState(t *testing.T) {
	for _, c := range []struct {
		raw         string
		state       metadata.State
		incarnation uint64
	}{
		{`["Online",5]`, metadata.Online, 5},
		{`["Online", 5]`, metadata.Online, 5},
		{`{"Online":5}`, metadata.Online, 5},
		{`["Offline",0]`, metadata.Offline, 0},
		{`["Expelled",7,"more"]`, metadata.Expelled, 7},
		{`["Hibernating",3]`, "Hibernating", 3},
		{`["Online"]`, metadata.Online, 0},
		{`"Online"`, metadata.Online, 0},
		{`["Online","five"]`, metadata.Online, 0},
		{`["Online",-1]`, metadata.Online, 0},
		{`{"Online":null}`, metadata.Online, 0},
	} {
		state, n, err := parseState(c.raw)
		if err != nil || state != c.state || n != c.incarnation {
			t.Errorf("%s: %v %v %v", c.raw, state, n, err)
		}
	}
	for _, raw := range []string{``, `null`, `[]`, `{}`, `[5,"Online"]`, `{"Online":1,"Offline":2}`, `Online`, `[""]`, `{"":1}`, `""`, `5`, `["Online"`} {
		if state, n, err := parseState(raw); err == nil {
			t.Errorf("%q is taken for %v %v", raw, state, n)
		}
	}
}

func FuzzParseState(f *testing.F) {
	for _, seed := range []string{`["Online",5]`, `{"Online":5}`, `"Offline"`, `[]`, `[["Online"],1]`, `["Online",1e3]`, "\xff", `{"a":{"b":1}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		state, n, err := parseState(raw)
		if s, m, e := parseAnyState(raw); s != state || m != n || (e == nil) != (err == nil) {
			t.Fatalf("%q: %v %v %v in short, %v %v %v at length", raw, state, n, err, s, m, e)
		}
		if err != nil {
			if state != "" || n != 0 {
				t.Fatalf("%q: an error and a state", raw)
			}
			return
		}
		if state == "" {
			t.Fatalf("%q: no state and no error", raw)
		}
		// What was read, written the server's way, reads the same.
		again, _ := json.Marshal([]any{string(state), n})
		if s, m, err := parseState(string(again)); err != nil || s != state || m != n {
			t.Fatalf("%q: %v %v, but %s gives %v %v %v", raw, state, n, again, s, m, err)
		}
	})
}
