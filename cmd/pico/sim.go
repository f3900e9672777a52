package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata/picotest"
)

// newSim is pico sim.
func newSim() *cobra.Command {
	var (
		config picotest.Config
		tiers  []string
		tls    string
		trace  bool
	)
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run a simulated cluster until interrupted",
		Long: `Run a simulated cluster on loopback until interrupted, and print a DSN for it on the
first line of standard output: psql, pgx, lib/pq, picopyn and every other client can connect.

Commands are read from standard input, one a line:

  nodes                       who there is, and what they did
  stop|kill|start NODE        as an operator, as kill -9, again
  freeze|thaw NODE            as SIGSTOP and SIGCONT
  switch REPLICASET NODE      make a node the leader
  delay NODE DURATION         wait before each answer; 0 ends it
  refuse|accept NODE          refuse new connections, accept them again`,
		Example: `  pico sim
  psql "$(head -1 <(pico sim))"
  pico sim --tier default:2:2 --tier cold:1:1 --server-version 25.6`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if config.Tiers, err = parseTiers(tiers); err != nil {
				return err
			}
			modes := map[string]picotest.TLSMode{"off": picotest.TLSOff, "on": picotest.TLSOn, "mutual": picotest.TLSMutual}
			mode, known := modes[tls]
			if !known {
				return fmt.Errorf("--tls %q: want off, on or mutual", tls)
			}
			config.TLS = mode
			if trace {
				config.Trace = cmd.ErrOrStderr()
			}
			return sim(cmd.Context(), config, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
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
	return cmd
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

// sim starts a cluster, says where it is and serves until ctx is done.
func sim(ctx context.Context, config picotest.Config, in io.Reader, out, diag io.Writer) error {
	c, err := picotest.New(config)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(out, c.DSN()); err != nil {
		return err
	}
	fmt.Fprintf(diag, "admin: %s\n", c.AdminDSN())
	showNodes(diag, c)
	fmt.Fprintln(diag, "Serving until interrupted; commands are read from standard input (pico sim --help).")
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
		select {
		case <-ctx.Done():
			return nil
		case line := <-commands:
			if err := command(c, strings.Fields(line), diag); err != nil {
				fmt.Fprintln(diag, err)
			}
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
