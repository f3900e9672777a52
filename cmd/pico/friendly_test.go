package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata/picotest"
)

// TestFriendlyErrors: what, what to do, the exit code; never a usage dump after a failure, never a password.
func TestFriendlyErrors(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	for _, x := range []struct {
		args string
		env  string
		code int
		want []string
	}{
		{"topology", "", exitUsage, []string{"pico: no cluster: give a DSN", "see: pico topology --help"}},
		{"topology picodata://app:hunter2@h/?max_conns=many", "", exitUsage, []string{"max_conns", "docs/configuration.md"}},
		{"topology h:4327", "", exitUsage, []string{"an argument that is no DSN"}},
		{"topology --wach", "", exitUsage, []string{"--wach", "see: pico topology --help"}},
		{"picodata://app:hunter2@h/", "", exitUsage, []string{"unknown command", "***"}},
		{"toplogy", "", exitUsage, []string{"unknown command", "topology"}},
		{"topology --timeout 500ms picodata://app:hunter2@127.0.0.1:1/", "", exitFailed, []string{"127.0.0.1:1", "what to do: is the instance running"}},
		{"topology", strings.Replace(c.DSN(), "Passw0rd", "hunter2", 1), exitFailed, []string{"authentication failed", "what to do: check user and password"}},
		{"route --instance i9 nonsense", c.DSN(), exitFailed, []string{"i9"}},
		{"bench --workers 0", c.DSN(), exitUsage, []string{"--workers 0: want 1 to 10000"}},
		{"bench --mix read", c.DSN(), exitUsage, []string{`"read" has no weight`, "want KIND=WEIGHT"}},
		{"bench --mix foo=1", c.DSN(), exitUsage, []string{`--mix: there is no kind "foo"; the kinds are count, delete, insert, one, read, update`}},
		{"bench --mix=read=1,read=2", c.DSN(), exitUsage, []string{"--mix: read is there twice"}},
		{"bench --mix read=many", c.DSN(), exitUsage, []string{`the weight of read is "many"`}},
		{"topology --watch user=app password=hunter2 pasword=hunter2", "", exitUsage, []string{"an argument that is no DSN"}},
		{"bench --mix read=0", c.DSN(), exitUsage, []string{`no kind of "read=0" has a weight above 0`}},
		{"bench --arg 1", c.DSN(), exitUsage, []string{"--arg without --sql"}},
		{"bench --html /nowhere/at/all.html", c.DSN(), exitFailed, []string{"/nowhere/at/all.html"}},
		{"bench --duration 0s", c.DSN(), exitUsage, []string{"--duration or --count"}},
		{"bench --sql x --rows 5", c.DSN(), exitUsage, []string{"rows sql"}},
	} {
		s := newSession(c)
		s.env[dsnVariable] = x.env
		out, diag, code := s.run(t, strings.Fields(x.args)...)
		if code != x.code {
			t.Errorf("pico %s: exit code %d, want %d", x.args, code, x.code)
		}
		wants(t, diag, x.want...)
		if strings.Contains(out+diag, "Flags:") || strings.Contains(out+diag, "Usage:") {
			t.Errorf("pico %s prints its usage:\n%s%s", x.args, out, diag)
		}
		if n := strings.Count(diag, "\n"); n > 4 {
			t.Errorf("pico %s says too much:\n%s", x.args, diag)
		}
	}
	if rows, err := c.Query("select name from _pico_table where name like 'pico_bench%'"); err != nil || len(rows) != 0 {
		t.Errorf("a table was made by a wrong command line: %v, %v", rows, err)
	}
}

// TestSecretsOfArguments: whatever may be a DSN is redacted in errors, values of other flags are not.
func TestSecretsOfArguments(t *testing.T) {
	cmd := newTool().root()
	bench, _, err := cmd.Find([]string{"bench"})
	if err != nil {
		t.Fatal(err)
	}
	got := possibleDSNs(bench, []string{"bench", "--mix", "foo=1", "--yes", "user=app pasword=hunter2", "--dsn", "a=1", "--dsn=b=2", "-w", "c=3", "--mix=d=4", "--none", "e=5"})
	if want := "bench|user=app pasword=hunter2|a=1|b=2|--none|e=5"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVersion: a build says what it is.
func TestVersion(t *testing.T) {
	wants(t, newSession(nil).must(t, "--version"), "pico ", runtime.Version(), "for Picodata 25.2 to 26.2\n")
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	info.Main.Version = "v1.2.3"
	wants(t, version(info, true), "v1.2.3, commit 0123456789ab with changes (")
	wants(t, version(nil, false), "unknown (")
}

// TestHelp: every command has a description and examples, and the shells complete them.
func TestHelp(t *testing.T) {
	s := newSession(nil)
	root := s.tool.root()
	var names []string
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Long == "" || cmd.Example == "" || !strings.Contains(cmd.Example, "pico ") {
			t.Errorf("%s lacks a description or examples", cmd.CommandPath())
		}
		names = append(names, cmd.Name())
	}
	wants(t, strings.Join(names, " "), "topology", "check", "route", "bench", "sim")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		wants(t, s.must(t, "completion", shell), "pico")
	}
	wants(t, s.must(t, "__complete", "sim", "--tls", ""), "mutual")
	wants(t, s.must(t, "__complete", "to"), "topology")
	wants(t, s.must(t, "bench", "--help"), "pico_bench_", "{int LOW..HIGH}", "Exit codes:")
}
