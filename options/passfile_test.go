package options

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPassFile(t *testing.T) {
	file, bad := parsePassFile(strings.Join([]string{
		"# a comment:1:2:3:4",
		"",
		"h1:4327:db:u:first",
		"h1:*:*:u:second\r",
		"[nothing",
		`::1:4327:db:u:never`,
		`\:\:1:4327:*:u:six`,
		`*:*:*:star:with:colons\\and\:such`,
		`*:*:\*:v:literal`,
		"a:b:c:d",
	}, "\n"))
	if want := []int{5, 10}; !reflect.DeepEqual(bad, want) {
		t.Errorf("bad lines %v, want %v", bad, want)
	}
	for _, tt := range []struct {
		host     string
		port     uint16
		db, user string
		want     string
		ok       bool
	}{
		{"h1", 4327, "db", "u", "first", true},
		{"H1", 4327, "db", "u", "first", true},
		{"h1", 4328, "db", "u", "second", true},
		{"0::1", 4327, "x", "u", "six", true},
		{"any", 1, "x", "star", `with:colons\and:such`, true},
		{"any", 1, "*", "v", "literal", true},
		{"any", 1, "x", "v", "", false},
		{"h2", 4327, "db", "u", "", false},
	} {
		if got, ok := file.password(tt.host, tt.port, tt.db, tt.user); got != tt.want || ok != tt.ok {
			t.Errorf("Password(%s, %d, %s, %s) = %q, %v, want %q, %v", tt.host, tt.port, tt.db, tt.user, got, ok, tt.want, tt.ok)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(verb, file); strings.Contains(text, "first") {
			t.Errorf("%s shows a password", text)
		}
	}
}

func TestCheckPassFileMode(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o610: false, fs.ModeDir | 0o700: false, fs.ModeNamedPipe | 0o600: false,
	} {
		if err := checkPassFileMode("f", mode); (err == nil) != want {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestReadPassFile(t *testing.T) {
	files := fstest.MapFS{
		"f":      {Data: []byte("h:1:db:u:p"), Mode: 0o600},
		"shared": {Data: []byte("h:1:db:u:p"), Mode: 0o640},
		"public": {Data: []byte("h:1:db:u:p"), Mode: 0o604},
	}
	for name, tt := range map[string]struct {
		file, user, host, want string
		ok, fails              bool
	}{
		"found":      {"f", "u", "h", "p", true, false},
		"other user": {"f", "v", "h", "", false, false},
		"other host": {"f", "u", "g", "", false, false},
		"none":       {"", "u", "h", "", false, false},
		"missing":    {"g", "u", "h", "", false, true},
		"group":      {"shared", "u", "h", "", false, true},
		"world":      {"public", "u", "h", "", false, true},
		"not a file": {".", "u", "h", "", false, true},
	} {
		c := New()
		c.PassFile, c.User, c.Database = tt.file, tt.user, "db"
		got, ok, err := c.ReadPassFile(files.Open, tt.host, 1)
		if got != tt.want || ok != tt.ok || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v, %v", name, got, ok, err)
		}
	}
}
