package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// dumpTables are tables of all types that a parameter can have, and of all kinds of keys.
var dumpTables = []struct{ name, create string }{
	{"plain", "create table %s (id int primary key, u unsigned, b bool, d double, m decimal, s text, g uuid, at datetime)"},
	{"pairs", "create table %s (s text not null, id int not null, g uuid not null, u unsigned, b bool, d double, m decimal, at datetime, primary key (s, id, g)) distributed by (id)"},
	{"times", "create table %s (at datetime primary key, id int, u unsigned, b bool, d double, m decimal, s text, g uuid)"},
	{"world", "create table %s (id int primary key, u unsigned, b bool, d double, m decimal, s text, g uuid, at datetime) distributed globally"},
	{"placed", "create table %s (id int not null, u unsigned, b bool, d double, m decimal, s text, g uuid, at datetime, primary key (bucket_id, id)) distributed by (id)"},
}

// dumpFile is a file of rows with what a CSV file can spoil.
func dumpFile(t *testing.T, rows int) string {
	t.Helper()
	texts := []string{`"a, ""b"""`, "\"line\nbreak\"", "\"line\r\nbreak\"", `""`, " spaces ", `NULL`, `\N`, "Москва", "'", `"$1; --"`}
	var b strings.Builder
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.WriteString("id,u,b,d,m,s,g,at\n")
	for i := range rows {
		text := texts[i%len(texts)]
		rest := fmt.Sprintf("%d,%t,%d.25,-%d.500", i, i%2 == 0, i, i)
		if i%5 == 0 {
			rest = ",,,"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%08d-0000-4000-8000-000000000000,%s\n", i-rows/2, rest, text, i, cellText(begin.Add(time.Duration(i)*1001*time.Millisecond+time.Microsecond)))
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDump: what was loaded comes out, every row once, and loaded again it is the same, whatever the key and the page.
func TestDump(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 1, Buckets: 20}}})
	s := newSession(c)
	const rows = 110
	file, dir := dumpFile(t, rows), t.TempDir()
	for _, table := range dumpTables {
		again := table.name + "_again"
		for _, name := range []string{table.name, again} {
			if err := c.Exec(fmt.Sprintf(table.create, name)); err != nil {
				t.Fatal(err)
			}
		}
		s.must(t, "load", file, table.name)
		first, second := filepath.Join(dir, table.name+".csv"), filepath.Join(dir, again+".csv")
		for _, page := range []string{"1000", "7", "2"} {
			_, diag, code := s.run(t, "dump", "--page", page, table.name, first)
			if code != exitDone {
				t.Fatalf("%s: exit code %d: %s", table.name, code, diag)
			}
			wants(t, diag, table.name+": 110 rows in ")
			if page == "1000" {
				s.must(t, "load", first, again)
			}
			s.must(t, "dump", again, second)
			if one, two := readFile(t, first), readFile(t, second); one != two {
				t.Fatalf("%s, pages of %s: the dumps differ:\n%.2000s\n%.2000s", table.name, page, one, two)
			}
		}
		if got, want := records(t, readFile(t, first), table.name), records(t, readFile(t, file), ""); !slices.Equal(got, want) {
			t.Fatalf("%s: %d records, want %d:\n%.2000q\n%.2000q", table.name, len(got), len(want), got, want)
		}
	}
}

// records are the records of a file, sorted, their columns too, with NULLs told apart from empty texts.
func records(t *testing.T, text, name string) (all []string) {
	t.Helper()
	r := newCSVReader(strings.NewReader(text), ',')
	header, _, err := r.read()
	for err == nil {
		var values []string
		var quoted []bool
		if values, quoted, err = r.read(); err == nil {
			words := make([]string, len(values))
			for i, v := range values {
				words[i] = fmt.Sprintf("%s=%q null %t", header[i], v, v == "" && !quoted[i])
			}
			slices.Sort(words)
			all = append(all, strings.Join(words, " "))
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(name, err)
	}
	slices.Sort(all)
	return all
}

// TestDumpGoesToOwners: each page is one statement to the leader that owns its buckets, and few buckets' rows take few pages.
func TestDumpGoesToOwners(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table cities (id int primary key, name text)"); err != nil {
		t.Fatal(err)
	}
	s := newSession(c)
	s.in = strings.NewReader("1,a\n2,NULL\n3,\n")
	s.must(t, "load", "--columns", "id,name", "--no-header", "--null", "NULL", "-", "cities")
	c.ResetCounters()
	if got := s.must(t, "dump", "CITIES"); got != "id,name\n2,\n1,a\n3,\"\"\n" { // by bucket: 1410, 1934, 1958
		t.Errorf("%q", got)
	}
	pages := c.Statements(picotest.SQL("FROM \"cities\""))
	for _, p := range pages {
		if p.Hops > 0 {
			t.Errorf("forwarded: %s", p.SQL)
		}
	}
	if n := len(pages); n > 30 { // of 3,000 buckets
		t.Errorf("%d pages", n)
	}
	if got := s.must(t, "dump", "--columns", "name", "--no-header", "--delimiter", `\t`, "--null", "NULL", "cities", "-"); got != "NULL\na\n\"\"\n" {
		t.Errorf("%q", got)
	}
	if got := s.must(t, "dump", "--columns", "name,id", "--delimiter", ";", "cities"); got != "name;id\n;2\na;1\n\"\";3\n" {
		t.Errorf("%q", got)
	}
}

// TestDumpFails: where it broke off behind a row it goes on there; otherwise the exit code says whether anything is out, and a file is whole or not there.
func TestDumpFails(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 1, Buckets: 4}}})
	for _, create := range []string{"create table cities (id int primary key, name text)", "create table times (at datetime primary key)"} {
		if err := c.Exec(create); err != nil {
			t.Fatal(err)
		}
	}
	s := newSession(c)
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "%d\n", i)
	}
	s.in = strings.NewReader(b.String())
	s.must(t, "load", "--columns", "id", "--no-header", "-", "cities")
	b.Reset()
	for i := range 40 {
		fmt.Fprintf(&b, "2026-03-01 12:00:%02dZ\n", i)
	}
	s.in = strings.NewReader(b.String())
	s.must(t, "load", "--columns", "at", "--no-header", "-", "times")
	whole := s.must(t, "dump", "cities")
	broken := c.CloseAfter(picotest.InsideRow(2), picotest.SQL("FROM \"cities\""))
	if got := s.must(t, "dump", "cities"); got != whole || broken.Count() == 0 {
		t.Errorf("%d times broken: %d bytes, want %d", broken.Count(), len(got), len(whole))
	}
	broken.Remove()
	// Behind a time nothing can go on.
	file := filepath.Join(t.TempDir(), "times.csv")
	times := picotest.SQL("FROM \"times\"")
	for _, bad := range []struct {
		fault *picotest.Fault
		code  int
		want  string
	}{
		{c.Fail("XX000", "sbroad: not now", times), exitFailed, "pico: not now"},
		{c.CloseAfter(picotest.InsideRow(2), times), exitFaults, "pico: the dump broke off: "},
	} {
		out, diag, code := s.run(t, "dump", "times", file)
		if code != bad.code || out != "" {
			t.Errorf("exit code %d, want %d", code, bad.code)
		}
		wants(t, diag, bad.want)
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
		bad.fault.Remove()
	}
	plain := c.UserDSN("plain")
	for _, bad := range []struct {
		args string
		code int
		want string
	}{
		{"cities a b", exitUsage, "want a table"},
		{"cities --page 0", exitUsage, "want 1 or more"},
		{"cities --null a,b", exitUsage, "want a text without"},
		{"cities --delimiter ab", exitUsage, "want one character"},
		{"absent", exitFailed, "there is no table absent"},
		{"cities --columns id,x", exitFailed, "has no column x"},
		{"cities /nowhere/file", exitFailed, "/nowhere/file"},
		{plain + " cities", exitFailed, "an administrator can GRANT"},
	} {
		_, diag, code := s.run(t, append([]string{"dump"}, strings.Fields(bad.args)...)...)
		if code != bad.code {
			t.Errorf("%s: exit code %d, want %d", bad.args, code, bad.code)
		}
		wants(t, diag, bad.want)
	}
}

// TestDumpBar: on a terminal, of the buckets, or the rows alone.
func TestDumpBar(t *testing.T) {
	if got := dumpBar(&scan{rows: 400, buckets: 100, bucket: 51}, 2*time.Second, 60); !strings.HasPrefix(got, "[█") || !strings.HasSuffix(got, "50%  400 rows  200/s") {
		t.Errorf("%q", got)
	}
	if got := dumpBar(&scan{rows: 400, bucket: 1}, 2*time.Second, 60); got != "400 rows  200/s" {
		t.Errorf("%q", got)
	}
}
