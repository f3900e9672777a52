package options

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
)

func TestPassFile(t *testing.T) {
	file, bad := ParsePassFile(strings.Join([]string{
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
		if got, ok := file.Password(tt.host, tt.port, tt.db, tt.user); got != tt.want || ok != tt.ok {
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
		if err := CheckPassFileMode("f", mode); (err == nil) != want {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestReadPassFile(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name != "f" {
			return nil, fs.ErrNotExist
		}
		return []byte("*:*:db:u:p"), nil
	}
	for name, tt := range map[string]struct {
		file, user, want string
		ok, fails        bool
	}{
		"found": {"f", "u", "p", true, false}, "other user": {"f", "v", "", false, false}, "none": {"", "u", "", false, false}, "missing": {"g", "u", "", false, true},
	} {
		c := New()
		c.PassFile, c.User, c.Database = tt.file, tt.user, "db"
		got, ok, err := c.ReadPassFile(read, "h", 1)
		if got != tt.want || ok != tt.ok || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v, %v", name, got, ok, err)
		}
	}
}
