package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
)

// instanceRow is an instance as pico topology shows it.
type instanceRow struct {
	Tier       string `json:"tier"`
	Replicaset string `json:"replicaset"`
	Instance   string `json:"instance"`
	UUID       string `json:"uuid,omitempty"`
	Role       string `json:"role"`
	State      string `json:"state"`
	Address    string `json:"address"`
	Advertised string `json:"advertised,omitempty"` // where it differs
	Version    string `json:"version"`
	// LatencyMS is that of the best of three pings in milliseconds; 0 = it didn't answer, or wasn't asked.
	LatencyMS   float64 `json:"latency_ms"`
	Connections int     `json:"connections"` // of this process
	InUse       int     `json:"in_use"`
	Cap         int     `json:"cap"`                  // of this process's connections; 0 = none
	Leases      uint64  `json:"leases"`               // of connections, since this process began
	Rate        float64 `json:"per_second,omitempty"` // leases since the picture before; --watch
	Ejections   uint64  `json:"ejections"`            // since this process began
	Used        bool    `json:"used"`                 // in the node set
	Ejected     bool    `json:"ejected"`
	Note        string  `json:"note,omitempty"` // why it isn't used, ejected or silent
}

// picture is what pico topology shows at one time.
type picture struct {
	At        time.Time     `json:"at"`
	Version   uint64        `json:"version"` // of the driver's snapshot
	ReadFrom  string        `json:"read_from"`
	Age       float64       `json:"age_seconds"`
	Instances []instanceRow `json:"instances"`
	Grants    []string      `json:"grants,omitempty"` // what would show more
	Trouble   string        `json:"trouble,omitempty"`
	Alerts    []string      `json:"alerts,omitempty"`  // what stalls part of the cluster now
	Changes   []string      `json:"changes,omitempty"` // since the picture before; --watch
}

// newTopology is pico topology.
func (t *tool) newTopology() *cobra.Command {
	var (
		g     target
		w     watch
		probe time.Duration
	)
	cmd := &cobra.Command{
		Use:   "topology [DSN]",
		Short: "Show the cluster's instances as the driver sees them",
		Long: `Show the cluster's instances as the driver sees them: tier, replicaset, role, state,
address, version, the latency of a ping, this process's connections, and in the last column
why an instance isn't used, or was ejected after its connections failed.

With --watch the table is drawn again when the topology changes and every --interval; where
the output is no terminal, only if something changed. What did is marked: + new, * changed,
- gone. On a terminal keys sort, pause, scroll and quit; ? lists them.`,
		Example: `  pico topology 'picodata://app@node-a,node-b/'
  pico topology --watch
  pico topology --json | jq -r '.instances[] | select(.role == "leader") | .address'`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := t.chooseOnly(&g, args)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), g.wait)
			defer cancel()
			c, err := t.open(cfg)
			if err != nil {
				return err
			}
			// If no node may be used, the table says why: only a cluster that nothing is known of is an error.
			unusable := c.db.PingContext(ctx)
			if c.Topology() == nil {
				return errors.Join(unusable, c.Close())
			}
			if w.on {
				return errors.Join(t.watchTopology(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), c, &w, probe), c.Close())
			}
			p := look(ctx, c, probe)
			if unusable != nil {
				p.Trouble = brief(unusable.Error())
			}
			return errors.Join(showPicture(cmd.OutOrStdout(), p, w.asJSON), c.Close())
		},
	}
	g.flags(cmd, 10*time.Second, "how long to wait for the cluster")
	f := cmd.Flags()
	f.BoolVarP(&w.on, "watch", "w", false, "go on until interrupted")
	f.DurationVar(&w.interval, "interval", 2*time.Second, "with --watch, look at least this often; 0: when the topology changes only")
	f.BoolVar(&w.asJSON, "json", false, "print JSON; with --watch a line for each change")
	f.DurationVar(&probe, "probe-timeout", 2*time.Second, "how long to wait for one instance's answer")
	return cmd
}

// look makes a picture. Every node of the set is pinged at the same time.
func look(ctx context.Context, c *client, probe time.Duration) picture {
	topo := c.Topology()
	views := metadata.Select(c.Config(), topo)
	latency := make([]time.Duration, len(views))
	failed := make([]error, len(views))
	var wait sync.WaitGroup
	for i := range views {
		if views[i].Excluded == metadata.Included && views[i].Instance != nil {
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, probe)
				defer cancel()
				latency[i], failed[i] = ping(picodata.ToInstance(ctx, views[i].ID), c)
			})
		}
	}
	wait.Wait()
	stats := c.Stats()
	p := picture{At: time.Now(), Version: topo.Version, ReadFrom: topo.ReadFrom, Age: stats.Topology.Age.Seconds(), Grants: stats.Topology.DegradedGrants}
	if s := stats.Topology; s.LastError != "" && s.LastErrorAt.After(topo.ReadAt) && s.Age > 2*c.Config().TopologyUpdateInterval {
		p.Trouble = "the topology can't be read any more: " + strings.TrimPrefix(s.LastError, "picodata: ")
	}
	nodes := make(map[string]*picodata.NodeStats, len(stats.Nodes))
	for i := range stats.Nodes {
		nodes[stats.Nodes[i].ID] = &stats.Nodes[i]
	}
	for i := range views {
		p.Instances = append(p.Instances, rowOf(c, &views[i], nodes[views[i].ID], latency[i], failed[i], probe))
	}
	p.Alerts = alerts(topo, p.Instances)
	return p
}

func rowOf(c *client, v *metadata.NodeView, n *picodata.NodeStats, latency time.Duration, failed error, probe time.Duration) instanceRow {
	r := instanceRow{Instance: v.Name(), Address: v.Address, Role: metadata.RoleUnknown.String(), Used: v.Excluded == metadata.Included}
	r.LatencyMS = float64(latency.Microseconds()) / 1000
	if in := v.Instance; in != nil {
		r.UUID, r.Tier, r.Replicaset, r.Role, r.Version = in.UUID, in.Tier, in.ReplicasetName, in.Role.String(), in.Version
		r.State = string(in.State)
		if in.TargetState != "" && in.TargetState != in.State {
			r.State += ", target " + string(in.TargetState)
		}
		if in.Advertised != v.Address {
			r.Advertised = in.Advertised
		}
	}
	if n != nil {
		r.Connections, r.InUse, r.Ejected = n.Open, n.InUse, n.Ejected
		r.Cap, r.Leases, r.Ejections = n.Max, n.Leases, n.Ejections
		if v.Instance == nil {
			r.LatencyMS = float64(n.Latency.Microseconds()) / 1000 // a hint can't name it, so that it can't be pinged apart
		}
	}
	switch {
	case r.Ejected:
		r.Note = "ejected"
		if e, ok := c.log.why(v.Address); ok && e.Err != "" {
			r.Note += ": " + brief(e.Err)
		}
	case !r.Used:
		r.Note = "not used: " + v.Excluded.String()
	case errors.Is(failed, context.DeadlineExceeded):
		r.Note = fmt.Sprintf("no answer within %v", probe)
	case errors.As(failed, new(*picodata.NoNodeError)):
		r.Note = "the driver doesn't use it yet, or no longer: look again"
	case failed != nil:
		r.Note = brief(failed.Error())
	case r.Advertised != "":
		r.Note = "advertises " + r.Advertised
	}
	return r
}

// brief is an error's text without what the row says anyway.
func brief(text string) string {
	if _, cause, ok := strings.Cut(text, ": dial: "); ok {
		text = cause
	}
	return strings.TrimPrefix(text, "picodata: ")
}

// ping connects to the node that ctx asks for and returns the best of three round trips.
func ping(ctx context.Context, c *client) (best time.Duration, err error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // it gives the connection back, whatever it says
	if err := conn.PingContext(ctx); err != nil {
		return 0, err
	}
	for range 3 {
		began := time.Now()
		if err := conn.PingContext(ctx); err != nil {
			return 0, err
		}
		if d := time.Since(began); best == 0 || d < best {
			best = d
		}
	}
	return best, nil
}

// asJSON prints a value as indented JSON.
func asJSON(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text) + "\n", err
}
