package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/picotest"
)

// cluster is what the program runs against.
type cluster struct {
	what string
	dsn  string
	// disturb does in the middle of the work what an operator might do, and says what it was.
	disturb func(context.Context, *sql.DB, *metadata.Topology) string
	close   func()
}

// open takes the cluster of the DSN, or starts a simulated one in this process.
func open(dsn string) (*cluster, error) {
	if dsn != "" {
		return &cluster{what: picodata.RedactDSN(dsn), dsn: dsn, disturb: switchOver, close: func() {}}, nil
	}
	sim, err := picotest.New(picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 2},
		{Name: "cold", Replicasets: 1, ReplicationFactor: 1},
	}})
	if err != nil {
		return nil, err
	}
	return &cluster{
		what: "a simulated cluster in this process",
		dsn:  sim.AdminDSN(),
		disturb: func(context.Context, *sql.DB, *metadata.Topology) string {
			leader := sim.Leader("default_1")
			leader.Stop()
			return fmt.Sprintf("Halfway: stopped %s, the leader of default_1, as an operator would.", leader.Name())
		},
		close: sim.Close,
	}, nil
}

// switchOver moves the lead of one replicaset to another of its instances, if the user may do that.
func switchOver(ctx context.Context, db *sql.DB, topo *metadata.Topology) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for i := range topo.Instances {
		in := &topo.Instances[i]
		if in.Role != metadata.RoleReplica || in.State != metadata.Online {
			continue
		}
		if _, err := db.ExecContext(ctx, `UPDATE _pico_replicaset SET target_master_name = $1 WHERE name = $2`, in.Name, in.ReplicasetName); err != nil {
			return fmt.Sprintf("Halfway: no switchover (%v).", err)
		}
		return fmt.Sprintf("Halfway: moved the lead of %s to %s.", in.ReplicasetName, in.Name)
	}
	return "Halfway: no replica is known that could take over; nothing was switched."
}
