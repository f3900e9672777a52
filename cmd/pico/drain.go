package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// newDrain is pico drain.
func (t *tool) newDrain() *cobra.Command {
	var (
		g  target
		to string
	)
	cmd := &cobra.Command{
		Use:   "drain [DSN] INSTANCE",
		Short: "Move the leadership away from an instance, so that it can be stopped without losing a write",
		Long: `Move the leadership of its replicaset away from an instance, wait until every Online instance
sees the new leader, and then say that it may be stopped.

A planned stop of a leader moves the leadership too, but the leaving instance takes writes for a
moment while nothing is replicated any more: writes that were acknowledged are lost. After a
drain there are none to lose.

The user needs the right to write _pico_replicaset: give the DSN of admin. Nothing else is
changed, and the instance isn't stopped.`,
		Example: `  pico drain 'picodata://admin@node-a,node-b/' i2 && systemctl stop picodata@i2
  pico drain i2 --to i4`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, args, err := t.choose(&g, args)
			if err != nil {
				return err
			}
			if len(args) != 1 {
				return &usageError{errors.New("want the name of one instance")}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), g.wait)
			defer cancel()
			return t.drain(ctx, cfg, args[0], to, cmd.OutOrStdout())
		},
	}
	g.flags(cmd, time.Minute, "how long to wait for the switchover")
	cmd.Flags().StringVar(&to, "to", "", "the instance that leads from then on; default an Online replica of the same replicaset")
	return cmd
}

// lookEvery is how often the instances are asked whether they see the new leader.
const lookEvery = 200 * time.Millisecond

func (t *tool) drain(ctx context.Context, cfg *options.Config, name, to string, out io.Writer) (err error) {
	// Every instance is asked for its own view, whatever the DSN keeps an application from.
	cfg = cfg.Clone()
	cfg.Mode, cfg.InstanceRole, cfg.Routing = options.Discovery, options.RoleAny, options.RoutingOff
	cfg.ReadPreference, cfg.Forward = options.ReadPreferenceUnset, options.ForwardUnset
	cfg.AllowedTiers, cfg.ForbiddenTiers = nil, nil
	c, err := t.open(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.db.PingContext(ctx); err != nil {
		return err
	}
	topo := c.Topology()
	if !topo.RolesKnown {
		return errors.New("nobody tells who leads: the user may not read _pico_replicaset; give the DSN of admin")
	}
	in, known := topo.ByName(name)
	if !known {
		return fmt.Errorf("the cluster has no instance %q; it has %s", name, strings.Join(instanceNames(topo), ", "))
	}
	rs, known := topo.Replicaset(in.ReplicasetUUID)
	if !known {
		return fmt.Errorf("%s is in no replicaset yet: it leads nothing and may be stopped", name)
	}
	leader := rs.TargetMaster
	if leader == in.Name || rs.CurrentMaster == in.Name {
		successor, err := successorOf(topo, in, to)
		if err != nil {
			return err
		}
		leader = successor.Name
		if _, err := c.db.ExecContext(picodata.NoRetry(ctx), "UPDATE _pico_replicaset SET target_master_name = $1 WHERE name = $2", successor.Name, rs.Name); err != nil {
			return fmt.Errorf("moving the leadership of %s to %s: %w", rs.Name, successor.Name, err)
		}
		fmt.Fprintf(out, "%s: %s is to lead instead of %s\n", rs.Name, successor.Name, in.Name)
	}
	views, err := awaitLeader(ctx, c, rs.Name, leader)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s leads, as %s\n", rs.Name, leader, views)
	var raft string
	if err := c.db.QueryRowContext(ctx, "SELECT pico_raft_leader_uuid()").Scan(&raft); err == nil && raft == in.UUID {
		fmt.Fprintf(out, "note: %s is the raft leader too; while another is elected, DDL and writes to global tables wait for a few seconds\n", in.Name)
	}
	if in.State != metadata.Online {
		fmt.Fprintf(out, "note: %s is %s\n", in.Name, in.State)
	}
	fmt.Fprintf(out, "%s may be stopped\n", in.Name)
	return nil
}

// successorOf is who leads after an instance: the one that was asked for, or the first Online replica beside it.
func successorOf(topo *metadata.Topology, from *metadata.Instance, to string) (*metadata.Instance, error) {
	var others []string
	for i := range topo.Instances {
		in := &topo.Instances[i]
		if in.ReplicasetUUID != from.ReplicasetUUID || in.UUID == from.UUID || in.State != metadata.Online || in.TargetState != "" && in.TargetState != metadata.Online {
			continue
		}
		if to == "" || to == in.Name {
			return in, nil
		}
		others = append(others, in.Name)
	}
	if to != "" && len(others) > 0 {
		return nil, &usageError{fmt.Errorf("--to %s: want an Online replica of %s: %s", to, from.ReplicasetName, strings.Join(others, ", "))}
	}
	return nil, fmt.Errorf("%s has no other Online instance: its rows can't be written, nor read by leaders, while %s is stopped", from.ReplicasetName, from.Name)
}

// awaitLeader asks each Online instance for its own copy of _pico_replicaset until all of them name the leader.
func awaitLeader(ctx context.Context, c *client, replicaset, leader string) (string, error) {
	for {
		var behind []string
		seen := 0
		topo := c.Topology()
		for _, v := range metadata.Select(c.Config(), topo) {
			if v.Instance == nil || v.Instance.State != metadata.Online || v.Excluded != metadata.Included {
				continue
			}
			var current, target string
			ask, cancel := context.WithTimeout(picodata.ToInstance(ctx, v.ID), 3*time.Second)
			err := c.db.QueryRowContext(ask, "SELECT current_master_name, target_master_name FROM _pico_replicaset WHERE name = $1", replicaset).Scan(&current, &target)
			cancel()
			switch {
			case err != nil:
				behind = append(behind, fmt.Sprintf("%s doesn't answer (%s)", v.Name(), brief(err.Error())))
			case current != leader || target != leader:
				behind = append(behind, fmt.Sprintf("%s says %s", v.Name(), arrow(current, target)))
			default:
				seen++
			}
		}
		if len(behind) == 0 && seen > 0 {
			return fmt.Sprintf("all %s see", plural(seen, "instance", "instances")), nil
		}
		timer := time.NewTimer(lookEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			slices.Sort(behind)
			return "", fmt.Errorf("%s isn't led by %s for everybody: %s: don't stop the instance yet; %w", replicaset, leader, strings.Join(behind, "; "), ctx.Err())
		}
	}
}

func arrow(current, target string) string {
	if current == target {
		return current
	}
	return orNone(current) + " → " + orNone(target)
}

// instanceNames are the instances that are not expelled.
func instanceNames(topo *metadata.Topology) []string {
	var list []string
	for i := range topo.Instances {
		if topo.Instances[i].State != metadata.Expelled {
			list = append(list, topo.Instances[i].Name)
		}
	}
	return list
}
