package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

func TestCheckHealthy(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	out := s.must(t, "check")
	wants(t, out, "4 instances in 2 replicasets of 1 tier, told by", "4 addresses answered", "no server does TLS", "all clocks agree", "all instances are 26.2.",
		"may read every system table", "4 of 4 instances are used", "every replicaset has a leader", "no conflicts", "\n0 faults, 0 warnings")
	text := s.must(t, "check", "--json", c.DSN())
	if err := json.Unmarshal([]byte(text), new(map[string]any)); err != nil {
		t.Error(err)
	}
	wants(t, text, `"verdict": "`, `"dsn": "picodata://app:***@`, `"severity": "ok"`, `"check": "reachability"`)
	// It reads, and nothing else.
	for _, st := range c.Statements() {
		if st.Kind != "DQL" && st.Kind != "Empty" {
			t.Errorf("check ran %s %q", st.Kind, st.SQL)
		}
	}
}

// TestCheckFinds breaks one thing at a time.
func TestCheckFinds(t *testing.T) {
	const grant = "as an administrator: GRANT READ ON TABLE _pico_replicaset TO plain"
	for _, x := range []struct {
		name   string
		config picotest.Config
		spoil  func(t *testing.T, c *picotest.Cluster)
		dsn    func(c *picotest.Cluster) string
		code   int
		want   []string
		silent bool // a node never answers
	}{
		{
			name: "no rights", dsn: func(c *picotest.Cluster) string { return c.UserDSN("plain") },
			code: exitWarnings, want: []string{"WARNING  rights        _pico_replicaset", grant, "note     rights        _pico_table"},
		},
		{
			name: "no rights for a role", dsn: func(c *picotest.Cluster) string { return with(c.UserDSN("plain"), "instance_role=leader") },
			code: exitFaults, want: []string{"FAULT", "GRANT READ ON TABLE _pico_replicaset TO plain"},
		},
		{
			name: "no rights and routing by keys", dsn: func(c *picotest.Cluster) string { return with(c.UserDSN("plain"), "routing=keys") },
			code: exitWarnings, want: []string{"WARNING  rights        _pico_table"},
		},
		{
			name:  "an address that nobody answers at",
			spoil: func(_ *testing.T, c *picotest.Cluster) { c.Node("i4").Advertise("127.0.0.1:1") },
			dsn:   func(c *picotest.Cluster) string { return c.Node("i1").DSN() },
			code:  exitFaults, want: []string{"FAULT    reachability  i4@127.0.0.1:1: the advertised address doesn't answer: dial: ", "address_map=127.0.0.1:1>HOST:PORT", "3 of 4 addresses answered"},
		},
		{
			name:  "a node of the DSN that is down",
			spoil: func(_ *testing.T, c *picotest.Cluster) { c.Node("i4").Refuse() },
			code:  exitFaults, want: []string{"FAULT    reachability  i4@"},
		},
		{
			name:  "a frozen node",
			spoil: func(_ *testing.T, c *picotest.Cluster) { c.Node("i3").Freeze() },
			dsn:   func(c *picotest.Cluster) string { return c.Node("i1").DSN() },
			code:  exitFaults, want: []string{"FAULT    reachability  i3@", "nothing within 1s"}, silent: true,
		},
		{
			name:  "a stopped node",
			spoil: func(_ *testing.T, c *picotest.Cluster) { <-c.Node("i4").Stop() },
			code:  exitWarnings, want: []string{"WARNING  replicas      i4: the instance is Offline", "note     reachability  i4@"},
		},
		{
			name:  "two instances of one address",
			spoil: func(_ *testing.T, c *picotest.Cluster) { c.Node("i4").Advertise(c.Node("i3").Addr()) },
			dsn:   func(c *picotest.Cluster) string { return c.Node("i1").DSN() },
			code:  exitWarnings, want: []string{"WARNING  node set      i4: not used: "},
		},
		{
			name: "mixed versions",
			spoil: func(t *testing.T, c *picotest.Cluster) {
				if err := c.Node("i2").SetVersion("25.6"); err != nil {
					t.Error(err)
				}
			},
			code: exitWarnings, want: []string{"WARNING  versions      several versions at once: 25.6.", " on i2; 26.2.", "DDL is restricted to DROP"},
		},
		{
			name: "settings of newer servers", config: picotest.Config{Version: "25.5"},
			dsn:  func(c *picotest.Cluster) string { return with(c.DSN(), "read_preference=any&forward=ro_to_rw") },
			code: exitWarnings, want: []string{"read_preference=any has no effect on 25.5.", "forward=ro_to_rw has no effect on 25.5."},
		},
		{
			name: "no replica to read from", config: picotest.Config{Tiers: []picotest.Tier{{Replicasets: 2, ReplicationFactor: 1}}},
			dsn:  func(c *picotest.Cluster) string { return with(c.DSN(), "read_preference=replica") },
			code: exitFaults, want: []string{"FAULT    replicas      default_1: read_preference=replica and no replica is Online", "→ read_preference=any"},
		},
		{
			name: "a role without a read preference",
			dsn:  func(c *picotest.Cluster) string { return with(c.DSN(), "instance_role=replica") },
			code: exitWarnings, want: []string{"WARNING  settings      instance_role=replica without read_preference", "no leader is in the node set"},
		},
		{
			name: "rules for nobody",
			dsn: func(c *picotest.Cluster) string {
				return with(c.DSN(), "node_weights=i9=3,i1=0&allowed_tiers=default,hot&max_conns=2&min_idle_conns_per_instance=1&prefer_zones=DC=m1")
			},
			code: exitWarnings, want: []string{`node_weights: the rule for "i9" selects no instance`, `the cluster has no tier "hot"`, "max_conns: 2 is less than the 4 nodes", "4 nodes with 1 each want 4 connections", "no instance is in DC=m1"},
		},
		{
			name: "overflow nodes alone", dsn: func(c *picotest.Cluster) string { return with(c.DSN(), "node_weights=tier:default=0&overflow=off") },
			code: exitFaults, want: []string{"FAULT    settings      node_weights: every node has weight 0, and overflow=off"},
		},
		{
			name: "a clock that is ahead", config: picotest.Config{Clock: picotest.NewManualClock(time.Now().Add(time.Hour))},
			code: exitWarnings, want: []string{"WARNING  clock         this machine's clock is ", "let NTP set the clocks"},
		},
		{
			name: "TLS asked for in vain", dsn: func(c *picotest.Cluster) string {
				return strings.Replace(c.DSN(), "sslmode=disable", "sslmode=require", 1)
			},
			code: exitFaults, want: []string{"FAULT    reachability  127.0.0.1:", "the server does no TLS, and sslmode=require asks for it"},
		},
		{
			name: "a certificate for another name", config: picotest.Config{TLS: picotest.TLSOn},
			spoil: func(t *testing.T, c *picotest.Cluster) {
				if err := c.Node("i2").SetCertificate("other.example"); err != nil {
					t.Error(err)
				}
			},
			dsn: func(c *picotest.Cluster) string {
				return withTLS(c.DSN(), "sslmode=verify-full&sslrootcert="+c.CAFile())
			},
			code: exitFaults, want: []string{"FAULT    tls           i2@", "the certificate isn't for 127.0.0.1, only for other.example"},
		},
		{
			name: "an authority nobody named", config: picotest.Config{TLS: picotest.TLSOn},
			dsn:  func(c *picotest.Cluster) string { return withTLS(c.DSN(), "sslmode=verify-ca") },
			code: exitFaults, want: []string{"FAULT    tls           127.0.0.1:", "isn't among the authorities of sslrootcert"},
		},
		{
			name: "TLS refused", config: picotest.Config{TLS: picotest.TLSOn},
			dsn:  func(c *picotest.Cluster) string { return withTLS(c.DSN(), "sslmode=disable") },
			code: exitFaults, want: []string{"the server does TLS and lets nobody in without"},
		},
		{
			name: "TLS unverified", config: picotest.Config{TLS: picotest.TLSOn},
			dsn:  func(c *picotest.Cluster) string { return withTLS(c.DSN(), "sslmode=require") },
			code: exitDone, want: []string{"note     tls           the servers do TLS, and sslmode=require believes whoever answers"},
		},
		{
			name: "a wrong password", dsn: func(c *picotest.Cluster) string { return strings.Replace(c.DSN(), "Passw0rd", "hunter2", 1) },
			code: exitFaults, want: []string{"FAULT    login", "WITH LOGIN"},
		},
		{
			name: "no topology",
			dsn:  func(c *picotest.Cluster) string { return with(c.DSN(), "mode=bootstrap&topology=off&routing=off") },
			code: exitDone, want: []string{"note     cluster       the topology isn't read: 4 addresses", "4 addresses answered"},
		},
		{
			name: "one host", dsn: func(c *picotest.Cluster) string { return c.Node("i1").DSN() },
			code: exitDone, want: []string{"the DSN names one node"},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := picotest.Start(t, x.config)
			s := newSession(c)
			if x.spoil != nil {
				x.spoil(t, c)
			}
			if x.dsn != nil {
				s.env[dsnVariable] = x.dsn(c)
			}
			limit := "20s" // a busy machine must not look like a silent one
			if x.silent {
				limit = "1s"
			}
			out, diag, code := s.run(t, "check", "--timeout", "1m", "--probe-timeout", limit)
			if code != x.code {
				t.Errorf("exit code %d, want %d; %s\n%s", code, x.code, diag, out)
			}
			wants(t, out, x.want...)
			if n := c.Counters().LoginFailures; x.name == "a wrong password" && n != 1 {
				t.Errorf("%d logins were refused: a check must not lock the user on every instance", n)
			}
		})
	}
}

// withTLS replaces the TLS settings of a DSN.
func withTLS(dsn, settings string) string {
	before, after, _ := strings.Cut(dsn, "?")
	var rest []string
	for part := range strings.SplitSeq(after, "&") {
		if !strings.HasPrefix(part, "ssl") {
			rest = append(rest, part)
		}
	}
	return before + "?" + strings.Join(append(rest, settings), "&")
}

// TestCheckKeepsOut: nothing is dialled that allowed_networks shuts out.
func TestCheckKeepsOut(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.Node("i1").DSN(), "allowed_networks=10.0.0.0/8")
	out, _, code := s.run(t, "check")
	if code != exitWarnings {
		t.Errorf("exit code %d", code)
	}
	wants(t, out, "WARNING  node set      i2: not used: ")
	for _, name := range []string{"i2", "i3", "i4"} {
		if n := c.Node(name).Counters().Ever; n != 0 {
			t.Errorf("%s was dialled %d times", name, n)
		}
	}
}

func TestClocks(t *testing.T) {
	for want, ahead := range map[string][]time.Duration{
		"ok all clocks agree":             {time.Millisecond, -2 * time.Millisecond},
		"warning b is 1.5s ahead of a":    {0, 1500 * time.Millisecond},
		"warning this machine's clock is": {3 * time.Second, 3 * time.Second},
	} {
		d := &doctor{now: time.Now}
		for i, a := range ahead {
			d.probes = append(d.probes, &probe{Address: string(rune('a' + i)), Ahead: a, HasClock: true})
		}
		d.clocks()
		if got := fmt.Sprint(d.found[0].Severity, " ", d.found[0].What); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s, want %s", ahead, got, want)
		}
	}
	d := &doctor{now: time.Now, probes: []*probe{{}}}
	if d.clocks(); len(d.found) != 0 {
		t.Errorf("no clock was read: %+v", d.found)
	}
}

// TestCertificateDates: the end of a certificate is seen before it comes.
func TestCertificateDates(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	leaf := func(from, to time.Duration) *x509.Certificate {
		return &x509.Certificate{DNSNames: []string{"h"}, Subject: pkix.Name{CommonName: "h"}, NotBefore: now.Add(from), NotAfter: now.Add(to)}
	}
	const day = 24 * time.Hour
	for want, c := range map[string]*x509.Certificate{
		"":                                      leaf(-day, 90*day),
		"the certificate ends on 2026-03-11":    leaf(-day, 10*day),
		"the certificate ended on 2026-02-28":   leaf(-9*day, -day),
		"the certificate begins on 2026-03-02":  leaf(day, 90*day),
		"the certificate isn't for h, only for": {NotBefore: now.Add(-day), NotAfter: now.Add(90 * day)},
	} {
		d := &doctor{cfg: options.New(), now: func() time.Time { return now }}
		d.judge(&probe{Host: options.Host{Name: "h", Port: 1}, TLS: certificate{Leaf: c, Chain: []*x509.Certificate{c}}}, nil)
		var got string
		if len(d.found) > 0 {
			got = d.found[0].What
		}
		if len(d.found) > 1 || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%+v, want %q", d.found, want)
		}
	}
}
