package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// tableRow is the line of an instance, without blanks in a row.
func tableRow(t *testing.T, table, instance string) string {
	t.Helper()
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); slices.Contains(words, instance) {
			return strings.Join(words, " ")
		}
	}
	t.Fatalf("no %s in\n%s", instance, table)
	return ""
}

func TestTopology(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "arbiter", Arbiter: true},
	}})
	s := newSession(c)
	out := s.must(t, "topology")
	wants(t, tableRow(t, out, "i1"), "default default_1 i1 leader Online "+c.Node("i1").Addr()+" 26.2.", " ms 1")
	wants(t, tableRow(t, out, "i2"), " replica Online")
	wants(t, tableRow(t, out, "i5"), "– 0 not used: ")

	var p picture
	if err := json.Unmarshal([]byte(s.must(t, "topology", "--json", c.DSN())), &p); err != nil || len(p.Instances) != 5 {
		t.Fatalf("%v, %+v", err, p)
	}
	for _, in := range p.Instances {
		if (in.LatencyMS > 0) != (in.Tier == "default") || in.Used != (in.Tier == "default") {
			t.Errorf("%+v", in)
		}
	}
	// By its role.
	out = s.must(t, "topology", with(c.DSN(), "instance_role=leader"))
	wants(t, tableRow(t, out, "i2"), "not used: ")
	wants(t, tableRow(t, out, "i3"), " ms 1")
	// Without rights.
	out = s.must(t, "topology", c.UserDSN("plain"))
	wants(t, out, "GRANT READ ON TABLE _pico_replicaset TO plain")
	wants(t, tableRow(t, out, "i1"), " unknown Online")
	// With settings that leave no node: the table is what explains it.
	out = s.must(t, "topology", with(c.UserDSN("plain"), "instance_role=leader&acquire_timeout=200ms"))
	wants(t, tableRow(t, out, "i1"), "not used: ")
	wants(t, out, "no node")
}

// TestTopologyOfTrouble: a node that is silent and one that refuses connections, both still Online by the tables.
func TestTopologyOfTrouble(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "instance_ejection_failure_threshold=1&instance_ejection_duration=10m&instance_ejection_max_duration=10m")
	c.Node("i4").Refuse()
	out := s.must(t, "topology")
	wants(t, tableRow(t, out, "i4"), "ejected: ", "refused")
	c.Node("i2").Delay(time.Hour)
	out = s.must(t, "topology", "--probe-timeout", "300ms")
	wants(t, tableRow(t, out, "i2"), " Online ", "no answer within 300ms")
}

// watched reads what pico topology --watch prints, one table or JSON line after the other.
type watched struct {
	t    *testing.T
	r    *io.PipeReader
	text strings.Builder
}

// until reads until a part was printed since the last call.
func (w *watched) until(part string) string {
	w.t.Helper()
	buf := make([]byte, 64<<10)
	for !strings.Contains(w.text.String(), part) {
		n, err := w.r.Read(buf)
		if err != nil {
			w.t.Fatalf("waiting for %q: %v, after\n%s", part, err, w.text.String())
		}
		w.text.Write(buf[:n])
	}
	text := w.text.String()
	w.text.Reset()
	return text
}

// startWatch runs pico topology --watch; stop interrupts it.
func startWatch(t *testing.T, s *session, args ...string) (w *watched, stop func()) {
	t.Helper()
	r, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	code := make(chan int, 1)
	go func() {
		code <- s.tool.run(ctx, append([]string{"topology", "--watch"}, args...), s.in, out, io.Discard)
		_ = out.CloseWithError(errors.New("pico ended"))
	}()
	return &watched{t: t, r: r}, func() {
		cancel()
		_, _ = io.Copy(io.Discard, r) // until it has ended
		if c := <-code; c != exitDone {
			t.Errorf("exit code %d after an interrupt", c)
		}
	}
}

func TestWatch(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "topology_update_interval=10ms")
	w, stop := startWatch(t, s, "--interval", "0")
	defer stop()
	first := w.until("\n\n")
	if row := tableRow(t, first, "i1"); !strings.HasPrefix(row, "default default_1 i1 leader") {
		t.Errorf("the first table is marked: %s", row)
	}
	c.SwitchLeader("default_1", "i2")
	text := w.until("* i2: role ")
	for !strings.Contains(text, "→ leader") {
		text += w.until("→ leader")
	}
	if !strings.Contains(text, "\n* default  default_1   i2") {
		t.Errorf("i2 isn't marked in\n%s", text)
	}
	c.AddInstance("default_2")
	text = w.until("+ i5 joined default_2")
	if !strings.Contains(text, "\n+ default  default_2   i5") && !strings.Contains(w.until("i5"), "i5") {
		t.Errorf("i5 isn't marked in\n%s", text)
	}
	if err := c.Expel("i4"); err != nil {
		t.Fatal(err)
	}
	w.until("- i4 left default_2")
}

func TestWatchJSON(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "topology_update_interval=10ms")
	w, stop := startWatch(t, s, "--json", "--interval", "0")
	defer stop()
	var p picture
	line := w.until("\n")
	if err := json.Unmarshal([]byte(line), &p); err != nil || len(p.Instances) != 4 || len(p.Changes) != 0 {
		t.Fatalf("%v, %s", err, line)
	}
	c.SwitchLeader("default_2", "i4")
	for line = w.until("\n"); !strings.Contains(line, "i4: role replica") && !strings.Contains(line, "i4: role unknown"); line = w.until("\n") {
	}
	if err := json.Unmarshal([]byte(strings.Split(line, "\n")[0]), &p); err != nil || len(p.Changes) == 0 {
		t.Errorf("%v, %s", err, line)
	}
}

// TestWatchOnTerminal: colours, one screen drawn over the other on the alternate screen, lines cut to the width, keys.
func TestWatchOnTerminal(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "topology_update_interval=10ms&max_conns_per_instance=7")
	s.tool.terminal = func(io.Writer) (int, bool) { return 60, true }
	s.tool.height = func(io.Writer) int { return 12 }
	keys, press := io.Pipe()
	s.in = keys
	w, stop := startWatch(t, s, "--interval", "0")
	first := w.until("\x1b[J")
	wants(t, first, "\x1b[?1049h\x1b[?25l\x1b[H", reversed+"TIER", green+"default  default_1   i1", "q quit  p pause  s sort: place")
	for line := range strings.SplitSeq(first, "\r\n") {
		line = regexp.MustCompile("\x1b\\[[^a-zA-Z]*[a-zA-Z]").ReplaceAllString(line, "")
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d characters: %q", n, line)
		}
	}
	if n := strings.Count(first, "\r\n"); n > 11 {
		t.Errorf("%d lines on a terminal of 12:\n%s", n+1, first)
	}
	c.SwitchLeader("default_1", "i2")
	for text := w.until("\x1b[J"); !strings.Contains(text, yellow); text = w.until("\x1b[J") {
	}
	for _, k := range []struct{ keys, shows string }{{"s", "sort: latency"}, {"r", "sort: latency, reversed"}, {"?", "hide this help"}, {"\x1b[B", "sort: latency, reversed"}, {"p", "PAUSED"}} {
		go func() { _, _ = io.WriteString(press, k.keys) }() // the screen has to be read meanwhile
		w.until(k.shows)
	}
	go func() { _, _ = io.WriteString(press, "q") }()
	w.until("\x1b[?25h\x1b[?1049l")
	stop()
	_ = press.Close()
}

// TestScreen: the order of rows, scrolling, the log of events, and what a small terminal leaves out.
func TestScreen(t *testing.T) {
	s := new(screen)
	var p picture
	for i := range 30 {
		p.Instances = append(p.Instances, instanceRow{Instance: fmt.Sprintf("n%02d", i), UUID: fmt.Sprint(i), State: "Online", Used: true, LatencyMS: float64(1 + i%7), Ejections: uint64(i), InUse: i, Cap: 50})
		p.Changes = append(p.Changes, fmt.Sprintf("event %d", i))
	}
	p.Alerts = []string{"default_1: no leader"}
	s.show(p, changes{"3": '*'})
	at := func(what string) int { return strings.Index(s.draw(200, 20), what) }
	text := s.draw(200, 20)
	if n := strings.Count(text, "\r\n") + 1; n != 20 {
		t.Errorf("%d lines of 20:\n%s", n, text)
	}
	wants(t, text, red+"default_1: no leader", "n00", "3/50", "event 29", "30 instances")
	if at("n29") >= 0 || at("event 20") >= 0 {
		t.Error("more is shown than there is room")
	}
	for range 4 {
		s.press('s')
	}
	if a, b := at("n29"), at("n28"); sortings[s.sort].name != "ejections" || a < 0 || a > b {
		t.Errorf("sorted by %s: n29 at %d, n28 at %d", sortings[s.sort].name, a, b)
	}
	s.press('r')
	if a, b := at("n00"), at("n01"); a < 0 || a > b {
		t.Errorf("reversed: n00 at %d, n01 at %d", a, b)
	}
	for _, b := range []byte("j\x1b[Bk\x1b[A\x1b[B") {
		s.press(b)
	}
	if at("n00") >= 0 || at("n01") < 0 || s.top != 1 {
		t.Errorf("scrolled to %d", s.top)
	}
	if s.press('x') || !s.press(3) || !s.press('q') {
		t.Error("q and Ctrl-C end it, others don't")
	}
	for range 20 {
		s.show(p, nil)
	}
	if len(s.events) != maxEvents {
		t.Errorf("%d events are kept", len(s.events))
	}
}

// TestAlerts: a dead leader is named as such, with what it stalls, before and after the cluster has noticed.
func TestAlerts(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Scale: 1000})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "instance_ejection_failure_threshold=1&topology_update_interval=10ms")
	c.Node("i1").Kill()
	wants(t, s.must(t, "topology", "--probe-timeout", "300ms"), "default_1: its leader i1 doesn't answer here (", "hang until another leads")
	out, _, code := s.run(t, "check", "--probe-timeout", "300ms")
	if code != exitFaults {
		t.Errorf("pico check of a dead leader: exit code %d", code)
	}
	wants(t, out, "default_1: its leader i1 is dead, or can't be reached from here", "statements of tier default that need a hop to it hang")
}

func TestCompare(t *testing.T) {
	row := func(name, role string, ms float64) instanceRow {
		return instanceRow{Instance: name, UUID: "u" + name, Replicaset: "rs", Role: role, LatencyMS: ms, Connections: int(ms)}
	}
	before := &picture{Instances: []instanceRow{row("i1", "leader", 1), row("i2", "replica", 1), row("i3", "replica", 1)}}
	now := &picture{Instances: []instanceRow{row("i1", "leader", 2), row("i2", "leader", 1), row("i4", "replica", 1)}}
	marks, lines := compare(before, now)
	if len(marks) != 2 || marks["ui2"] != '*' || marks["ui4"] != '+' {
		t.Errorf("%v", marks)
	}
	wants(t, strings.Join(lines, "\n"), "* i2: role replica → leader", "+ i4 joined rs as replica", "- i3 left rs")
	before.At, now.At = time.Unix(100, 0), time.Unix(102, 0)
	before.Instances[0].Leases, now.Instances[0].Leases = 10, 30
	if compare(before, now); now.Instances[0].Rate != 10 {
		t.Errorf("%v statements a second", now.Instances[0].Rate)
	}
	if _, lines := compare(now, now); len(lines) != 0 {
		t.Errorf("nothing changed: %v", lines)
	}
}
