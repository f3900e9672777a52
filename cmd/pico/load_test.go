package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// TestLoad: a file with quotes, NULLs and types arrives whole, in few statements.
func TestLoad(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table cities (id int primary key, name text, area double, founded datetime)"); err != nil {
		t.Fatal(err)
	}
	s := newSession(c)
	dir := t.TempDir()
	file := filepath.Join(dir, "cities.csv")
	var b strings.Builder
	b.WriteString("\ufeffid,name,area,founded\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "%d,\"a, \"\"b\"\"\n%d\",%d.5,2026-03-01T12:00:00Z\n", i, i, i)
	}
	b.WriteString("5000,,,\n5001,\"\",,\n5002,\"line\r\nbreak\",,\n") // what stands in quotes is kept: an empty text is no NULL
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func(where string) string {
		rows, err := c.Query("select count(*) from cities where " + where)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows[0][0])
	}
	wants(t, s.must(t, "load", file, "CITIES"), "cities: 3003 inserted; ")
	if count("id >= 0") != "3003" || count("name is null and area is null and founded is null") != "1" || count("area = 2.5") != "1" || count("name = ''") != "1" || count("name = 'line\r\nbreak'") != "1" {
		t.Errorf("%s rows, %s of NULLs", count("id >= 0"), count("name is null"))
	}
	if n := len(c.Statements(picotest.SQL("INSERT INTO"))); n > 20 {
		t.Errorf("%d INSERTs for 3003 rows", n)
	}
	// Again: every key is there. The rows that aren't in can be loaded from the rejects.
	left := filepath.Join(dir, "left.csv")
	out, diag, code := s.run(t, "load", "--rejects", left, file, "cities")
	if code != exitFaults {
		t.Errorf("exit code %d", code)
	}
	wants(t, out, "cities: 0 inserted")
	wants(t, diag, "3003 rows in "+left)
	wants(t, s.must(t, "load", "--on-conflict", "skip", left, "cities"), "0 inserted, 3003 skipped")
	if err := c.Exec("delete from cities where id < 10"); err != nil {
		t.Fatal(err)
	}
	wants(t, s.must(t, "load", "--on-conflict", "skip", left, "cities"), "10 inserted, 2993 skipped")
	// Standard input, a delimiter, columns by flag, another NULL.
	s.in = strings.NewReader("7001\tx\n7002\tNULL\n")
	wants(t, s.must(t, "load", "--columns", "id,name", "--no-header", "--delimiter", `\t`, "--null", "NULL", "-", "cities"), "2 inserted")
	if count("id = 7002 and name is null") != "1" {
		t.Error("NULL isn't")
	}
	for _, bad := range []struct {
		args string
		code int
		want string
	}{
		{"- cities --rejects x", exitUsage, "which standard input can't be"},
		{"- cities --no-header", exitUsage, "--no-header needs --columns"},
		{"- cities --delimiter ab", exitUsage, "want one character"},
		{"- cities --on-conflict maybe", exitUsage, "want fail, skip or replace"},
		{"cities", exitUsage, "want a file"},
		{"/nowhere.csv cities", exitFailed, "/nowhere.csv"},
		{file + " absent", exitFaults, "absent"},
	} {
		s.in = strings.NewReader("")
		_, diag, code := s.run(t, append([]string{"load"}, strings.Fields(bad.args)...)...)
		if code != bad.code {
			t.Errorf("%s: exit code %d, want %d", bad.args, code, bad.code)
		}
		wants(t, diag, bad.want)
	}
}

// TestLoadBar: on a terminal, with the rate and the owners' shares.
func TestLoadBar(t *testing.T) {
	p := picodata.InsertProgress{Inserted: 400, Bytes: 50, Elapsed: 2 * time.Second, Owners: map[string]int64{"default_1": 100, "default_2": 300}}
	if got := loadBar(p, 100, 90); !strings.HasPrefix(got, "[█") || !strings.HasSuffix(got, "50%  400 rows  200/s  default_1 25%  default_2 75%") {
		t.Errorf("%q", got)
	}
	if got := loadBar(p, 0, 90); got != "400 rows  200/s  default_1 25%  default_2 75%" {
		t.Errorf("%q", got)
	}
}
