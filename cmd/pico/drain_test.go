package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestDrain: the leadership is elsewhere for everybody before the instance may be stopped.
func TestDrain(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 3}}})
	s := newSession(c)
	s.env[dsnVariable] = c.AdminDSN()
	leads := func() string {
		rows, err := c.Query("select current_master_name from _pico_replicaset where name = 'default_1'")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows[0][0])
	}
	first := c.Leader("default_1").Name()
	out := s.must(t, "drain", first)
	if leads() == first {
		t.Errorf("%s still leads:\n%s", first, out)
	}
	wants(t, out, "default_1: "+leads()+" is to lead instead of "+first, "default_1: "+leads()+" leads, as all 6 instances see", first+" may be stopped\n")
	// Once more: nothing is left to do.
	again := s.must(t, "drain", first)
	wants(t, again, first+" may be stopped\n")
	if strings.Contains(again, "is to lead") {
		t.Errorf("something was moved:\n%s", again)
	}
	out = s.must(t, "drain", leads(), "--to", first)
	if leads() != first {
		t.Errorf("%s leads, want %s:\n%s", leads(), first, out)
	}
	for _, bad := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"i99"}, exitFailed, `no instance "i99"; it has i1`},
		{[]string{first, "--to", c.Leader("default_2").Name()}, exitUsage, "want an Online replica of default_1"},
		{nil, exitUsage, "want the name of one instance"},
	} {
		_, diag, code := s.run(t, append([]string{"drain"}, bad.args...)...)
		if code != bad.code {
			t.Errorf("%v: exit code %d, want %d", bad.args, code, bad.code)
		}
		wants(t, diag, bad.want)
	}
	// A user without the right is told so, and nothing has changed.
	s.env[dsnVariable] = c.UserDSN("plain")
	_, diag, code := s.run(t, "drain", first)
	if code != exitFailed || leads() != first {
		t.Errorf("exit code %d, %s leads", code, leads())
	}
	wants(t, diag, "_pico_replicaset", "give the DSN of admin")
}

// TestDrainOfTheLast: an instance without another one beside it can't be drained, and one that is silent is named.
func TestDrainOfTheLast(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 1}}})
	s := newSession(c)
	s.env[dsnVariable] = c.AdminDSN()
	_, diag, code := s.run(t, "drain", "i1")
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	wants(t, diag, "default_1 has no other Online instance")
}
