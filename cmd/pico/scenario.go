package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picodata/go-picodata/picotest"
)

// scenarioFile is a scenario as it is written. docs/pico.md describes it.
type scenarioFile struct {
	Cluster struct {
		Version       string  `yaml:"version"`
		TLS           string  `yaml:"tls"`
		Scale         float64 `yaml:"scale"`
		Port          int     `yaml:"port"`
		AdminPassword string  `yaml:"admin_password"`
		Tiers         []struct {
			Name              string            `yaml:"name"`
			Replicasets       int               `yaml:"replicasets"`
			ReplicationFactor int               `yaml:"replication_factor"`
			Buckets           uint64            `yaml:"buckets"`
			Arbiter           bool              `yaml:"arbiter"`
			FailureDomain     map[string]string `yaml:"failure_domain"`
		} `yaml:"tiers"`
		Users []struct {
			Name     string   `yaml:"name"`
			Password string   `yaml:"password"`
			Method   string   `yaml:"method"`
			Grants   []string `yaml:"grants"`
		} `yaml:"users"`
		Versions map[string]string `yaml:"versions"` // of single nodes
	} `yaml:"cluster"`
	SQL    []string `yaml:"sql"`
	Steps  []step   `yaml:"steps"`
	Repeat span     `yaml:"repeat"`
}

// step is one command at its time, counted from the start of the scenario or of its repetition.
type step struct {
	At span   `yaml:"at"`
	Do string `yaml:"do"`
}

// span is a Go duration in YAML.
type span struct{ time.Duration }

// UnmarshalYAML reads 1m30s.
func (s *span) UnmarshalYAML(n *yaml.Node) error {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d < 0 {
		return fmt.Errorf("line %d: %q: want a duration such as 1m30s", n.Line, n.Value)
	}
	s.Duration = d
	return nil
}

// scenario is a cluster and what happens to it. The zero scenario is picotest's default cluster, left alone.
type scenario struct {
	config   picotest.Config
	versions map[string]string
	sql      []string
	steps    []step // by time
	repeat   time.Duration
}

// readScenario reads and checks a scenario's file. JSON is YAML too.
func readScenario(name string) (*scenario, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s, err := parseScenario(text)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s: %w", name, err)}
	}
	return s, nil
}

func parseScenario(text []byte) (*scenario, error) {
	var f scenarioFile
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // a mistyped key must not be a fault that never happens
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	mode, known := tlsModes[f.Cluster.TLS]
	if !known {
		return nil, fmt.Errorf("tls %q: want off, on or mutual", f.Cluster.TLS)
	}
	s := &scenario{versions: f.Cluster.Versions, sql: f.SQL, steps: f.Steps, repeat: f.Repeat.Duration}
	s.config = picotest.Config{Version: f.Cluster.Version, TLS: mode, Scale: f.Cluster.Scale, BasePort: f.Cluster.Port, AdminPassword: f.Cluster.AdminPassword}
	for _, t := range f.Cluster.Tiers {
		s.config.Tiers = append(s.config.Tiers, picotest.Tier{
			Name: t.Name, Replicasets: t.Replicasets, ReplicationFactor: t.ReplicationFactor, Buckets: t.Buckets, Arbiter: t.Arbiter, FailureDomain: t.FailureDomain,
		})
	}
	for _, u := range f.Cluster.Users {
		s.config.Users = append(s.config.Users, picotest.User{Name: u.Name, Password: u.Password, Method: u.Method, Grants: u.Grants})
	}
	return s, s.check()
}

// check finds the mistakes that can be found before the cluster is there.
func (s *scenario) check() error {
	slices.SortStableFunc(s.steps, func(a, b step) int { return int(max(-1, min(1, a.At.Duration-b.At.Duration))) })
	for _, step := range s.steps {
		v, _, err := parseCommand(step.Do)
		if err == nil && v == nil {
			err = fmt.Errorf("do: a command is missing")
		}
		if err != nil {
			return fmt.Errorf("the step at %v: %w", step.At.Duration, err)
		}
	}
	if s.repeat > 0 && (len(s.steps) == 0 || s.steps[len(s.steps)-1].At.Duration > s.repeat) {
		return fmt.Errorf("repeat %v: want at least the time of the last step", s.repeat)
	}
	return nil
}

// prepare brings a new cluster to where the scenario begins.
func (s *scenario) prepare(c *picotest.Cluster) error {
	for name, version := range s.versions {
		n, err := find(c, name)
		if err == nil {
			err = n.SetVersion(version)
		}
		if err != nil {
			return fmt.Errorf("the scenario's versions: %w", err)
		}
	}
	for _, text := range s.sql {
		if err := c.Exec(text); err != nil {
			return fmt.Errorf("the scenario's sql %q: %w", text, err)
		}
	}
	return nil
}

// player tells when a scenario's next step is due. It belongs to one goroutine, which takes a step from due,
// does it, and calls next: so steps keep their order.
type player struct {
	due   chan step
	clock picotest.Clock
	of    *scenario
	began time.Time // of the scenario, or of its repetition
	at    int
	timer picotest.Timer
}

// play begins.
func (s *scenario) play(clock picotest.Clock) *player {
	p := &player{due: make(chan step, 1), clock: clock, of: s, began: clock.Now()}
	p.arm()
	return p
}

// next is called when a step is done.
func (p *player) next() {
	if p.at++; p.at == len(p.of.steps) && p.of.repeat > 0 {
		p.at, p.began = 0, p.began.Add(p.of.repeat)
	}
	p.arm()
}

func (p *player) arm() {
	if p.at >= len(p.of.steps) {
		return
	}
	step := p.of.steps[p.at]
	// One step is under way at a time, so there is always room for it. A clock may call from within AfterFunc.
	p.timer = p.clock.AfterFunc(p.began.Add(step.At.Duration).Sub(p.clock.Now()), func() { p.due <- step })
}

func (p *player) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
