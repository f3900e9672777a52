package main

import (
	"io"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestCommands gives each command once and looks at the cluster.
func TestCommands(t *testing.T) {
	c := picotest.Start(t, picotest.Config{SwitchWindow: -1, StartWindow: -1})
	do := func(line string) {
		t.Helper()
		if err := command(c, line, io.Discard); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	do("")
	do("kill i1")
	if c.Node("i1").Running() {
		t.Error("i1 was killed and runs")
	}
	do("start i1")
	c.Node("i1").Online()
	do("freeze i2")
	if c.Node("i2").Running() {
		t.Error("i2 was frozen and runs")
	}
	do("thaw i2")
	if !c.Node("i2").Running() {
		t.Error("i2 was thawed and doesn't run")
	}
	do("switch default_2 i4")
	if rows, err := c.Query("select target_master_name from _pico_replicaset where name = 'default_2'"); err != nil || rows[0][0] != "i4" {
		t.Errorf("switching to %v, %v", rows, err)
	}
	do("refuse i3")
	if conn, err := c.DialContext(t.Context(), "tcp", c.Node("i3").Addr()); err == nil {
		_ = conn.Close()
		t.Error("i3 accepts")
	}
	do("accept i3")
	do("delay i3 1h")
	do("delay i3 0s")
	do("stop i2")
	if s := c.Node("i2").State(); s != "Offline" {
		t.Errorf("i2 was stopped and is %s", s)
	}
	for line, want := range map[string]string{
		"fly i1":              "no such command",
		"kill":                "want 1 arguments, got 0",
		"switch default_1 i3": "has no node i3",
		"delay i1 soon":       "invalid duration",
	} {
		if err := command(c, line, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
