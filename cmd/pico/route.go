package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// routeHints are the flags of pico route that stand for the hints of a program's context.
type routeHints struct {
	instance, replicaset, tier string
	bucket                     uint64
	key                        []string
	leader, replica            bool
}

func (h *routeHints) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&h.instance, "instance", "", "as if the context asked for that instance")
	f.StringVar(&h.replicaset, "replicaset", "", "as if the context asked for that replicaset")
	f.StringVar(&h.tier, "tier", "", "as if the context asked for that tier")
	f.Uint64Var(&h.bucket, "bucket", 0, "as if the context asked for that bucket of --tier")
	f.StringArrayVar(&h.key, "shard-key", nil, "as if the context gave that value of the sharding key in --tier; once per column, typed as the column is (int:1)")
	f.BoolVar(&h.leader, "leader", false, "as if the context asked for a leader")
	f.BoolVar(&h.replica, "replica", false, "as if the context asked for a replica")
	cmd.MarkFlagsMutuallyExclusive("leader", "replica")
	cmd.MarkFlagsMutuallyExclusive("bucket", "shard-key")
}

// context adds the hints that were given.
func (h *routeHints) context(ctx context.Context) (context.Context, error) {
	switch {
	case h.leader:
		ctx = picodata.ToLeader(ctx)
	case h.replica:
		ctx = picodata.ToReplica(ctx)
	}
	if h.instance != "" {
		ctx = picodata.ToInstance(ctx, h.instance)
	}
	if h.replicaset != "" {
		ctx = picodata.ToReplicaset(ctx, h.replicaset)
	}
	switch {
	case len(h.key) > 0:
		values, err := parseArgs("--shard-key", h.key)
		if err != nil {
			return nil, err
		}
		ctx = picodata.ShardKey(ctx, h.tier, values...)
	case h.bucket > 0:
		ctx = picodata.ToBucket(ctx, h.tier, h.bucket)
	case h.tier != "":
		ctx = picodata.ToTier(ctx, h.tier)
	}
	return ctx, nil
}

// routeAnswer is a plan with what it was asked for, as pico route --json prints it.
type routeAnswer struct {
	picodata.Plan
	Meaning string `json:",omitempty"` // of the reason
}

// newRoute is pico route.
func (t *tool) newRoute() *cobra.Command {
	var (
		g     target
		hints routeHints
		json  bool
	)
	cmd := &cobra.Command{
		Use:   "route [DSN] STATEMENT [ARGUMENT…]",
		Short: "Say where the driver would send a statement, and why, without running it",
		Long: `Say where the driver would send a statement, and why, without running it.

` + argumentTypes + `

The cluster is asked for its topology and its buckets, and a node has to understand the
statement (EXPLAIN). The DSN's settings count, and so do the flags that stand for a context's hints.
Flags come before the DSN and the statement: what follows is the statement's own.`,
		Example: `  pico route 'picodata://app@node-a/' 'INSERT INTO orders VALUES ($1, $2)' 1 tea
  pico route --dsn "$DSN&routing=keys" 'SELECT * FROM orders WHERE id = $1' int:1
  pico route --json --replica --shard-key int:1 'SELECT * FROM orders'`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, args, err := t.choose(&g, args)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return &usageError{errors.New("no statement")}
			}
			if err := strayFlag(cmd, args); err != nil {
				return err
			}
			ctx, err := hints.context(cmd.Context())
			if err != nil {
				return err
			}
			values, err := parseArgs("argument", args[1:])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, g.wait)
			defer cancel()
			c, err := t.open(cfg)
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }() // it only reads; a failed close loses nothing
			if err := parses(ctx, c, args[0], values); err != nil {
				return err
			}
			plan, err := c.Explain(ctx, args[0], values...)
			if err != nil {
				return err
			}
			return showPlan(cmd.OutOrStdout(), plan, json)
		},
	}
	// What follows the statement are its arguments, even if they begin with a minus.
	cmd.Flags().SetInterspersed(false)
	g.flags(cmd, 10*time.Second, "how long to wait for the cluster")
	hints.flags(cmd)
	cmd.Flags().BoolVar(&json, "json", false, "print the plan as JSON")
	return cmd
}

// parses has a server read the statement, which the driver itself does only where it can't route without. A statement that no server
// understands goes nowhere, whatever the driver would do with it. EXPLAIN runs nothing; it knows queries and DML, so that other
// statements are taken as they are. What isn't the statement's own fault, such as a right that is missing, isn't told here.
func parses(ctx context.Context, c *client, query string, values []any) error {
	info := sqltext.Analyze(query)
	switch info.Class {
	case sqltext.DDL, sqltext.Block, sqltext.Tx, sqltext.Other:
		return nil
	case sqltext.Empty:
		return &usageError{errors.New("the statement is empty")}
	}
	for len(values) < info.Params {
		values = append(values, nil)
	}
	if words := strings.Fields(query); !strings.EqualFold(words[0], "EXPLAIN") {
		query = "EXPLAIN " + query
	}
	rows, err := c.db.QueryContext(picodata.NoRetry(ctx), query, values...)
	if err == nil {
		err = rows.Close()
	}
	var server *picodata.Error
	if errors.As(err, &server) && server.Kind == picodata.KindQuery {
		return fmt.Errorf("the server doesn't understand the statement: %w", server)
	}
	return nil
}

// strayFlag finds a flag of cmd behind the DSN or the statement, where it would count as text without a word.
func strayFlag(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		name, long := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if long && name != "" && cmd.Flags().Lookup(name) != nil {
			return &usageError{fmt.Errorf("--%s stands too late: flags come before the DSN and the statement; for an argument that looks like this write text:--%s", name, name)}
		}
	}
	return nil
}

// meanings are the reasons of docs/routing.md in short.
var meanings = map[string]string{
	"routed":         "straight to the leader that owns the bucket",
	"hint":           "the context's hint says so",
	"balance":        "any node of the node set, by the balancing policy",
	"meta_miss":      "nobody has told the statement's sharding key yet; on servers before 26.1 READ on _pico_table tells it",
	"not_routable":   "the text gives no sharding key as parameters",
	"no_topology":    "nothing is known of buckets: a server before 25.5.1, or no right to read _pico_replicaset",
	"unknown_tier":   "the statement's tier has no known buckets",
	"no_bucket":      "the bucket of these values isn't certain, or nobody owns it at present",
	"no_leader":      "no leader of the replicaset is known: it is switching, down, or _pico_replicaset can't be read",
	"role_excluded":  "instance_role, the tiers, the mode or the address leave the leader out",
	"leader_ejected": "the leader's connections failed lately",
	"leader_busy":    "the leader has no free connection",
	"stale_read":     "the leader doesn't answer, and a replica that may be behind does",
}

func showPlan(out io.Writer, plan picodata.Plan, json bool) error {
	if json {
		text, err := asJSON(routeAnswer{plan, meanings[plan.Reason]})
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return err
	}
	if _, err := fmt.Fprintln(out, plan); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	row("node", plan.Node.String())
	row("replicaset", plan.Replicaset)
	row("tier", plan.Tier)
	if plan.Bucket > 0 {
		row("bucket", fmt.Sprint(plan.Bucket))
	}
	row("reason", plan.Reason)
	row("meaning", meanings[plan.Reason])
	return w.Flush()
}
