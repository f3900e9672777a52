package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata/picotest"
)

// newSim is pico sim.
func (t *tool) newSim() *cobra.Command {
	var (
		config picotest.Config
		tiers  []string
		tls    string
		trace  bool
		file   string
	)
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run a simulated cluster until interrupted",
		Long: `Run a simulated cluster on loopback until interrupted, and print a DSN for it on the
first line of standard output: psql, pgx, lib/pq, picopyn and every other client can connect.

Commands are read from standard input, one a line:

` + verbHelp() + `
With --scenario they come from a file, each at its time, together with the cluster itself:
nodes, versions, users and statements to begin with. Flags that are given count more than the
file.`,
		Example: `  pico sim
  pico sim --port 5400 &
  psql postgres://app:Passw0rd@127.0.0.1:5400/
  pico sim --tier default:2:2 --tier cold:1:1 --server-version 25.6
  pico sim --scenario outage.yaml --port 5400 &
  pico bench 'picodata://app:Passw0rd@127.0.0.1:5400/' --duration 30s --html outage.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("%d arguments, and none is known", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := new(scenario)
			if file != "" {
				var err error
				if s, err = readScenario(file); err != nil {
					return err
				}
			}
			flags := cmd.Flags()
			if err := overlay(&s.config, config, tiers, tls, flags.Changed); err != nil {
				return err
			}
			if trace {
				s.config.Trace = cmd.ErrOrStderr()
			}
			s.config.Clock = t.simClock
			outliveTheTerminal()
			prompt := ""
			if _, terminal := t.terminal(cmd.ErrOrStderr()); terminal && t.interactive(cmd.InOrStdin()) {
				prompt = "sim> "
			}
			return sim(cmd.Context(), s, prompt, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.Version, "server-version", "26.2", "the server's version: 25.2, 25.5, 25.6, 26.1, 26.2 or a whole build text")
	f.StringArrayVar(&tiers, "tier", nil, "a tier NAME:REPLICASETS:REPLICATION_FACTOR[:BUCKETS]; may be repeated (default default:2:2)")
	f.StringVar(&config.AdminPassword, "admin-password", "T0psecret", "password of the user admin")
	f.StringVar(&tls, "tls", "off", "off, on or mutual; certificates are made and thrown away")
	f.Float64Var(&config.Scale, "scale", 1, "factor for the server's own times, such as the 30 s until a killed node counts as Offline")
	f.IntVar(&config.BasePort, "port", 0, "port of the first node, the next ones follow (default any free ports)")
	f.BoolVar(&trace, "trace", false, "print every frame to standard error")
	f.StringVar(&file, "scenario", "", "a YAML or JSON file with the cluster and what happens to it")
	complete(cmd, "server-version", "25.2", "25.5", "25.6", "26.1", "26.2")
	complete(cmd, "tls", "off", "on", "mutual")
	return cmd
}

// complete gives a flag's values to the shell's completion.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that isn't there, which the test of all completions would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// tlsModes are the words for picotest's modes.
var tlsModes = map[string]picotest.TLSMode{"": picotest.TLSOff, "off": picotest.TLSOff, "on": picotest.TLSOn, "mutual": picotest.TLSMutual}

// overlay puts the flags that were given over a scenario's cluster; their defaults count where it says nothing.
func overlay(c *picotest.Config, flags picotest.Config, tiers []string, tls string, given func(string) bool) error {
	if given("server-version") || c.Version == "" {
		c.Version = flags.Version
	}
	if given("admin-password") || c.AdminPassword == "" {
		c.AdminPassword = flags.AdminPassword
	}
	if given("scale") || c.Scale == 0 {
		c.Scale = flags.Scale
	}
	if given("port") || c.BasePort == 0 {
		c.BasePort = flags.BasePort
	}
	if given("tls") {
		mode, known := tlsModes[tls]
		if !known {
			return &usageError{fmt.Errorf("--tls %q: want off, on or mutual", tls)}
		}
		c.TLS = mode
	}
	if given("tier") {
		list, err := parseTiers(tiers)
		if err != nil {
			return &usageError{err}
		}
		c.Tiers = list
	}
	return nil
}

// parseTiers reads NAME:REPLICASETS:FACTOR[:BUCKETS].
func parseTiers(texts []string) ([]picotest.Tier, error) {
	var list []picotest.Tier
	for _, text := range texts {
		parts := strings.Split(text, ":")
		bad := func() ([]picotest.Tier, error) {
			return nil, fmt.Errorf("--tier %q: want NAME:REPLICASETS:REPLICATION_FACTOR[:BUCKETS], such as default:2:2", text)
		}
		if len(parts) < 3 || len(parts) > 4 || parts[0] == "" {
			return bad()
		}
		t := picotest.Tier{Name: parts[0]}
		var numbers []int
		for _, p := range parts[1:] {
			n, err := strconv.Atoi(p)
			if err != nil || n < 1 {
				return bad()
			}
			numbers = append(numbers, n)
		}
		t.Replicasets, t.ReplicationFactor = numbers[0], numbers[1]
		if len(numbers) == 3 {
			t.Buckets = uint64(numbers[2])
		}
		list = append(list, t)
	}
	return list, nil
}

// sim starts a cluster, says where it is and serves until ctx is done or the scenario ends it. prompt asks for a command, "" where
// nobody sits at a terminal.
func sim(ctx context.Context, s *scenario, prompt string, in io.Reader, out, diag io.Writer) error {
	c, err := picotest.New(s.config)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.prepare(c); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, c.DSN()); err != nil {
		return err
	}
	fmt.Fprintf(diag, "admin: %s\n", c.AdminDSN())
	showNodes(diag, c)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	steps := s.play(c.Clock())
	defer steps.stop()
	fmt.Fprintln(diag, "Serving until interrupted; commands are read from standard input; help lists them.")
	commands := make(chan string)
	// The reader can't be woken from a read of standard input; it ends with the process.
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			select {
			case commands <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		var err error
		fmt.Fprint(diag, prompt)
		select {
		case <-ctx.Done():
			return nil
		case line := <-commands:
			if err = command(c, line, diag); err != nil && !errors.Is(err, errEnd) {
				fmt.Fprintln(diag, err)
				err = nil
			}
		case step := <-steps.due:
			if prompt != "" {
				fmt.Fprintln(diag)
			}
			fmt.Fprintf(diag, "%8.3f s  %s\n", step.At.Seconds(), step.Do)
			if err = command(c, step.Do, diag); err != nil && !errors.Is(err, errEnd) {
				err = fmt.Errorf("the scenario's step at %v: %w", step.At.Duration, err)
			}
			steps.next()
		}
		switch {
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			return err
		}
	}
}

// showNodes prints a line per node.
func showNodes(w io.Writer, c *picotest.Cluster) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tADDRESS\tTIER\tREPLICASET\tROLE\tSTATE\tCONNECTIONS\tSTATEMENTS\tHOPS")
	for _, n := range c.Nodes() {
		role := "replica"
		if n.IsLeader() {
			role = "leader"
		}
		k := n.Counters()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", n.Name(), n.Addr(), n.Tier(), n.Replicaset(), role, n.State(), k.Open, k.Statements, k.Hops)
	}
	_ = t.Flush()
}
