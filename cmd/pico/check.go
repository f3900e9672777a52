package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// severity is how bad a finding is.
type severity int

const (
	sevOK severity = iota
	sevNote
	sevWarning
	sevFault
)

var severityNames = [...]string{"ok", "note", "warning", "fault"}

func (s severity) String() string { return severityNames[s] }

// MarshalText is String for JSON.
func (s severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// finding is one answer of pico check.
type finding struct {
	Severity severity `json:"severity"`
	Check    string   `json:"check"`
	Where    string   `json:"where,omitempty"`
	What     string   `json:"what"`
	Do       string   `json:"do,omitempty"`
}

// diagnosis is what pico check prints.
type diagnosis struct {
	Verdict  severity  `json:"verdict"` // the worst finding's
	DSN      string    `json:"dsn"`     // without secrets
	Findings []finding `json:"findings"`
}

// doctor gathers findings.
type doctor struct {
	t      *tool
	cfg    *options.Config
	topo   *metadata.Topology
	views  []metadata.NodeView
	probes []*probe
	found  []finding
	now    func() time.Time
	limit  time.Duration // of one address
}

func (d *doctor) say(s severity, check, where, what, do string) {
	d.found = append(d.found, finding{s, check, where, what, do})
}

func (d *doctor) sayf(s severity, check, where, do, format string, args ...any) {
	d.say(s, check, where, fmt.Sprintf(format, args...), do)
}

// quiet says that a check is over: ok, if it found nothing since began.
func (d *doctor) quiet(began int, check, what string) {
	if len(d.found) == began {
		d.say(sevOK, check, "", what, "")
	}
}

// newCheck is pico check.
func (t *tool) newCheck() *cobra.Command {
	var (
		g     target
		json  bool
		probe time.Duration
		file  string
	)
	cmd := &cobra.Command{
		Use:   "check [DSN]",
		Short: "Find out what is wrong with a cluster, a DSN or a user's rights, and what to do",
		Long: `Find out what is wrong with a cluster, a DSN or a user's rights, and what to do.

Every address that the DSN names or an instance advertises is dialled and logged in to, its
certificate is read, its version, identity and clock are asked for; then rights, settings,
roles and replicas are compared with what the DSN asks for. Nothing is written.

With --statements the statements of a file are looked at instead, and no server is asked: which of
them a server would stop or crash at.

Exit codes: 0 nothing to do; 1 the cluster can't be asked at all; 2 wrong usage or a wrong
DSN; 3 warnings; 4 faults.`,
		Example: `  pico check 'picodata://app@node-a,node-b/?sslmode=verify-full&sslrootcert=ca.crt'
  pico check --statements queries.sql
  pico check --json | jq -r '.findings[] | select(.severity != "ok") | .do'`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				d := &doctor{t: t}
				if err := d.statements(file, cmd.InOrStdin()); err != nil {
					return err
				}
				return d.report(cmd.OutOrStdout(), json)
			}
			cfg, err := t.chooseOnly(&g, args)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), g.wait)
			defer cancel()
			d := &doctor{t: t, cfg: cfg, now: time.Now, limit: probe}
			if err := d.examine(ctx); err != nil {
				return err
			}
			return d.report(cmd.OutOrStdout(), json)
		},
	}
	g.flags(cmd, 30*time.Second, "how long all of it may take")
	f := cmd.Flags()
	f.BoolVar(&json, "json", false, "print the findings as JSON")
	f.DurationVar(&probe, "probe-timeout", 3*time.Second, "how long to wait for one address")
	f.StringVar(&file, "statements", "", "a file of statements, or - for the standard input: find those that stop or crash a server")
	return cmd
}

// examine runs every check. An error is what makes all of them impossible.
func (d *doctor) examine(ctx context.Context) error {
	if err := d.cfg.Normalize(); err != nil {
		return err
	}
	// The nodes of the DSN one after the other, until one lets us in: a wrong password must not be tried on
	// every instance, for four refusals lock the user there.
	in, err := d.enter(ctx)
	if !in {
		d.certificates()
		d.settings()
		return err
	}
	c, err := d.t.open(d.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it only reads; a failed close loses nothing
	if err := c.db.PingContext(ctx); err != nil {
		d.say(sevFault, "cluster", "", brief(err.Error()), advice(err))
	}
	if d.topo = c.Topology(); d.topo != nil {
		d.views = metadata.Select(d.cfg, d.topo)
		if d.topo.Static {
			d.sayf(sevNote, "cluster", "", "mode and topology in the DSN, and the right to read _pico_instance, decide whether it is read",
				"the topology isn't read: %s, and nothing is known of roles, replicasets and versions", plural(len(d.views), "address", "addresses"))
		} else {
			d.sayf(sevOK, "cluster", "", "", "%s in %s of %s, told by %s", plural(len(d.views), "instance", "instances"),
				plural(len(d.topo.Replicasets), "replicaset", "replicasets"), plural(len(d.topo.Tiers), "tier", "tiers"), d.topo.ReadFrom)
		}
	}
	d.probeAll(ctx)
	d.reachability()
	d.certificates()
	d.clocks()
	if d.topo != nil {
		d.rights(ctx, c)
		d.nodeSet()
	}
	if d.topo != nil && !d.topo.Static {
		d.versions()
		d.replicas()
		d.hosts(c.Stats().Topology)
	}
	d.settings()
	return nil
}

// worst is the verdict.
func (d *doctor) worst() severity {
	w := sevOK
	for _, f := range d.found {
		w = max(w, f.Severity)
	}
	return w
}

// report prints the findings and turns the worst into an exit code.
func (d *doctor) report(out io.Writer, json bool) error {
	v := d.worst()
	text := d.text()
	if json {
		var err error
		dsn := "" // of statements alone
		if d.cfg != nil {
			dsn = d.cfg.RedactedDSN()
		}
		if text, err = asJSON(diagnosis{v, dsn, d.found}); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	switch v {
	case sevFault:
		return verdict(exitFaults)
	case sevWarning:
		return verdict(exitWarnings)
	case sevOK, sevNote:
	}
	return nil
}

// text is a line for each finding, and one for what to do.
func (d *doctor) text() string {
	var b strings.Builder
	count := map[severity]int{}
	for _, f := range d.found {
		count[f.Severity]++
		label := f.Severity.String()
		if f.Severity >= sevWarning {
			label = strings.ToUpper(label)
		}
		fmt.Fprintf(&b, "%-8s %-13s ", label, f.Check)
		if f.Where != "" {
			b.WriteString(f.Where + ": ")
		}
		b.WriteString(f.What + "\n")
		if f.Do != "" {
			fmt.Fprintf(&b, "%22s → %s\n", "", f.Do)
		}
	}
	fmt.Fprintf(&b, "\n%s, %s, %s\n", plural(count[sevFault], "fault", "faults"), plural(count[sevWarning], "warning", "warnings"), plural(count[sevNote], "note", "notes"))
	return b.String()
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}
