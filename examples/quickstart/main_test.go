package main

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// What the README's first command promises: all rows, no failed statement, a table per node.
func TestSimulated(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", 8, false); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"5 instances in 3 replicasets", "Halfway: stopped i1, the leader of default_1", "Inserted 10000 cities", "0 statements failed", "Read back: 10000 cities",
		"tier     replicaset  node  role     state    statements  share   rows held", "default  default_1   i2    leader",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the output lacks %q:\n%s", want, text)
		}
	}
}

// With -dsn nothing is stopped; the lead is moved by who may do that.
func TestGivenCluster(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Users: []picotest.User{
		{Name: "maker", Password: "Passw0rd", Grants: []string{"create table", "read on table _pico_replicaset", "read on table _pico_tier", "read on table _pico_table"}},
		{Name: "blind", Password: "Passw0rd", Grants: []string{"create table"}},
	}})
	for _, tc := range []struct{ who, dsn, halfway string }{
		{"admin", c.AdminDSN(), "Halfway: moved the lead of "},
		{"maker", c.UserDSN("maker"), "Halfway: no switchover ("},
		{"blind", c.UserDSN("blind"), "Halfway: no replica is known"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), &out, tc.dsn, 8, false); err != nil {
			t.Errorf("%s: %v", tc.who, err)
		}
		if text := out.String(); !strings.Contains(text, tc.halfway) || !strings.Contains(text, "Read back: 10000 cities") || !strings.Contains(text, "0 statements failed") {
			t.Errorf("%s: the output is\n%s", tc.who, text)
		}
		if strings.Contains(out.String(), "unknown") != (tc.who == "blind") {
			t.Errorf("%s: what is unknown isn't said, or what is known:\n%s", tc.who, out.String())
		}
		if strings.Contains(out.String(), "Passw0rd") || strings.Contains(out.String(), "T0psecret") {
			t.Errorf("%s: the output shows the password", tc.who)
		}
		for _, n := range c.Nodes() {
			if n.State() != "Online" {
				t.Errorf("%s: %s is %s", tc.who, n.Name(), n.State())
			}
		}
	}
	if err := run(t.Context(), &bytes.Buffer{}, c.AdminDSN(), 0, false); err == nil {
		t.Error("no workers is no error")
	}
}

// TestBar: half of the work is half of a bar.
func TestBar(t *testing.T) {
	var done atomic.Int64
	done.Store(5000)
	p := &progress{done: &done, all: 10000}
	bar := p.line()
	if n := strings.Count(bar, "="); !strings.HasSuffix(bar, "] 5000/10000") || n < 20 || n > 26 {
		t.Errorf("%q", bar)
	}
}
