package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// TestExampleScenarios runs the files of the directory scenarios on a clock that is moved by hand: every step
// is done, in its order and at its time.
func TestExampleScenarios(t *testing.T) {
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			scenario, err := readScenario(file)
			if err != nil {
				t.Fatal(err)
			}
			clock := picotest.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			tool := newTool()
			tool.simClock = clock
			s := startSim(t, tool, "--scenario", file, "--port", "0")
			s.until("Serving")
			rounds := 1
			if scenario.repeat > 0 {
				rounds = 2
			}
			var at time.Duration
			for round := range rounds {
				for _, step := range scenario.steps {
					due := scenario.repeat*time.Duration(round) + step.At.Duration
					if due > at {
						clock.Advance(due - at)
						at = due
					}
					if line := s.until(" s  "); strings.TrimSpace(line[strings.Index(line, " s  ")+4:]) != step.Do {
						t.Errorf("at %v: %q, want %q", due, line, step.Do)
					}
				}
			}
			s.say("end\n")
			if code, rest := s.end(); code != exitDone {
				t.Errorf("exit code %d: %s", code, rest)
			}
		})
	}
}

// TestScenarioEffects: what a scenario says about the cluster is so, and its step happens.
func TestScenarioEffects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json") // JSON is YAML
	text := `{"cluster": {"version": "26.2", "tiers": [{"name": "default", "replicasets": 1, "replication_factor": 2}],
		"users": [{"name": "shop", "password": "Passw0rd", "grants": ["read table"]}], "versions": {"i2": "26.1"}},
		"sql": ["create table t (id int primary key)"],
		"steps": [{"at": "2s", "do": "nodes"}, {"at": "1s", "do": "switch default_1 i2"}, {"at": "3s", "do": "end"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := picotest.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	tool := newTool()
	tool.simClock = clock
	s := startSim(t, tool, "--scenario", file)
	s.until("Serving")
	out, diag, code := func() (string, string, int) {
		session := &session{tool: newTool(), in: strings.NewReader("")}
		session.tool.env = func(string) string { return "" }
		return session.run(t, "topology", s.dsn)
	}()
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, diag)
	}
	wants(t, out, "26.2.", "26.1.", "i2")
	if !strings.Contains(s.dsn, "shop:") {
		t.Errorf("the first user isn't shop: %s", s.dsn)
	}
	clock.Advance(time.Second)
	s.until("1.000 s  switch default_1 i2")
	s.say("nodes\n") // commands and steps are done one after the other, so the switch has begun when this is answered
	s.until("i2 ")
	clock.Advance(time.Second)
	s.until("2.000 s  nodes")
	if line := s.until("i2 "); !strings.Contains(line, "leader") {
		t.Errorf("i2 isn't leader: %q", line)
	}
	clock.Advance(time.Second)
	if code, rest := s.end(); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}
}

// TestScenarioFails: a step that can't be done ends the simulation with an error that names it.
func TestScenarioFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("steps: [{at: 0s, do: kill i9}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSim(t, newTool(), "--scenario", file)
	code, rest := s.end()
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	wants(t, rest, "the scenario's step at 0s: kill: no node i9")
}

func TestScenarioMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"stepps: []":                                 "stepps",
		"cluster: {tls: perhaps}":                    "want off, on or mutual",
		"steps: [{at: soon, do: nodes}]":             `line 1: "soon": want a duration`,
		"steps: [{at: -1s, do: nodes}]":              "want a duration",
		"steps: [{at: 1s, do: explode i1}]":          "the step at 1s: explode: no such command",
		"steps: [{at: 1s, do: kill}]":                "want 1 arguments, got 0",
		"steps: [{at: 1s}]":                          "a command is missing",
		"repeat: 1m":                                 "repeat 1m0s",
		"{repeat: 1s, steps: [{at: 2s, do: nodes}]}": "want at least the time of the last step",
		"- a": "cannot unmarshal",
		"":    "EOF",
	} {
		if _, err := parseScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
