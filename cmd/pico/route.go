package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
)

// routeHints are the flags of pico route that stand for the hints of a program's context.
type routeHints struct {
	instance, replicaset, tier string
	bucket                     uint64
	leader, replica            bool
}

// context adds the hints that were given.
func (h *routeHints) context(ctx context.Context) (context.Context, error) {
	switch {
	case h.leader && h.replica:
		return nil, errors.New("--leader and --replica exclude each other")
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
	case h.bucket > 0:
		ctx = picodata.ToBucket(ctx, h.tier, h.bucket)
	case h.tier != "":
		ctx = picodata.ToTier(ctx, h.tier)
	}
	return ctx, nil
}

// newRoute is pico route.
func newRoute() *cobra.Command {
	var (
		dsn    string
		hints  routeHints
		asJSON bool
		wait   time.Duration
	)
	cmd := &cobra.Command{
		Use:   "route STATEMENT [ARGUMENT…]",
		Short: "Say where the driver would send a statement, and why, without running it",
		Long: `Say where the driver would send a statement, and why, without running it.

Arguments are handed over as text, as the driver does; \N stands for NULL. The cluster
is asked for its topology and its buckets, and a node may be asked to parse the statement.
The DSN is that of --dsn or of the environment variable PICODATA_DSN; its settings count.`,
		Example: `  pico route --dsn "$DSN" 'INSERT INTO orders VALUES ($1, $2)' 1 tea
  pico route --dsn "$DSN&routing=keys" 'SELECT * FROM orders WHERE id = $1' 1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dsn == "" {
				dsn = os.Getenv("PICODATA_DSN")
			}
			if dsn == "" {
				return errors.New("no cluster: give --dsn or set PICODATA_DSN")
			}
			ctx, err := hints.context(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			plan, err := explain(ctx, dsn, args[0], args[1:])
			if err != nil {
				return err
			}
			return showPlan(cmd.OutOrStdout(), plan, asJSON)
		},
	}
	// What follows the statement are its arguments, even if they begin with a minus.
	cmd.Flags().SetInterspersed(false)
	f := cmd.Flags()
	f.StringVar(&dsn, "dsn", "", "the cluster; default $PICODATA_DSN")
	f.StringVar(&hints.instance, "instance", "", "as if the context asked for that instance")
	f.StringVar(&hints.replicaset, "replicaset", "", "as if the context asked for that replicaset")
	f.StringVar(&hints.tier, "tier", "", "as if the context asked for that tier")
	f.Uint64Var(&hints.bucket, "bucket", 0, "as if the context asked for that bucket of --tier")
	f.BoolVar(&hints.leader, "leader", false, "as if the context asked for a leader")
	f.BoolVar(&hints.replica, "replica", false, "as if the context asked for a replica")
	f.BoolVar(&asJSON, "json", false, "print the plan as JSON")
	f.DurationVar(&wait, "timeout", 10*time.Second, "how long to wait for the cluster")
	return cmd
}

// explain asks the driver.
func explain(ctx context.Context, dsn, statement string, texts []string) (picodata.Plan, error) {
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return picodata.Plan{}, err
	}
	c, err := picodata.NewConnector(cfg)
	if err != nil {
		return picodata.Plan{}, err
	}
	args := make([]any, len(texts))
	for i, text := range texts {
		if text != `\N` {
			args[i] = text
		}
	}
	plan, err := c.Explain(ctx, statement, args...)
	return plan, errors.Join(err, c.Close())
}

func showPlan(out io.Writer, plan picodata.Plan, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(plan)
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
	return w.Flush()
}
