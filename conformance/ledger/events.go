package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
)

// event is one thing that happens to a cluster. do returns when the cause is over.
type event struct {
	name  string
	needs func(h *hooks) bool
	do    func(ctx context.Context, r *run) error
	// wide: it hurts more than one replicaset.
	wide bool
}

var events = []event{
	{"switchover", func(h *hooks) bool { return h.switchover != nil }, switchover, false},
	{"planned-stop", func(h *hooks) bool { return h.stop != nil && h.start != nil }, func(ctx context.Context, r *run) error { return r.stop(ctx, r.victim) }, false},
	{"drained-stop", func(h *hooks) bool { return h.stop != nil && h.start != nil && h.switchover != nil }, drainedStop, false},
	{"kill-replica", canKill, func(ctx context.Context, r *run) error { return r.kill(ctx, r.successor) }, false},
	{"kill-leader", canKill, func(ctx context.Context, r *run) error { return r.kill(ctx, r.victim) }, false},
	{"freeze-leader", func(h *hooks) bool { return h.freeze != nil && h.thaw != nil }, freeze, false},
	{"kill-raft-leader", canKill, killRaftLeader, true},
	{"rolling-restart", func(h *hooks) bool { return h.stop != nil && h.start != nil }, rollingRestart, true},
	{"ddl", func(*hooks) bool { return true }, ddl, true},
	{"outage", canKill, outage, true},
}

func canKill(h *hooks) bool { return h.kill != nil && h.start != nil }

// switchover moves the lead to a replica and back.
func switchover(ctx context.Context, r *run) error {
	return errors.Join(r.lead(ctx, r.successor), r.lead(ctx, r.victim))
}

// lead makes an instance lead its replicaset.
func (r *run) lead(ctx context.Context, in metadata.Instance) error {
	if err := r.hooks.switchover(ctx, in.ReplicasetName, in.Name); err != nil {
		return err
	}
	return r.until(ctx, in.Name+" leads "+in.ReplicasetName, func(t *metadata.Topology) bool { return leads(t, in) })
}

func leads(t *metadata.Topology, in metadata.Instance) bool {
	l, ok := t.Leader(in.ReplicasetUUID)
	return ok && l.UUID == in.UUID
}

// stop stops an instance as an operator does, and starts it again when the cluster has done without.
func (r *run) stop(ctx context.Context, in metadata.Instance) error {
	if err := r.hooks.stop(ctx, in.Name); err != nil {
		return err
	}
	if err := r.gone(ctx, in); err != nil {
		return err
	}
	return r.start(ctx, in)
}

// gone waits until the cluster knows that an instance is away and, if it led, another leads.
func (r *run) gone(ctx context.Context, in metadata.Instance) error {
	return r.until(ctx, in.Name+" is Offline and its replicaset is led", func(t *metadata.Topology) bool {
		now, known := t.Instance(in.UUID)
		l, led := t.Leader(in.ReplicasetUUID)
		return known && now.State != metadata.Online && (len(r.members(in)) == 1 || led && l.UUID != in.UUID)
	})
}

func (r *run) start(ctx context.Context, in metadata.Instance) error {
	if err := r.hooks.start(ctx, in.Name); err != nil {
		return err
	}
	return r.until(ctx, in.Name+" is Online again", func(t *metadata.Topology) bool {
		now, known := t.Instance(in.UUID)
		return known && now.State == metadata.Online
	})
}

// members are the instances of an instance's replicaset.
func (r *run) members(in metadata.Instance) (list []metadata.Instance) {
	for _, other := range r.control.Topology().Instances {
		if other.ReplicasetUUID == in.ReplicasetUUID && other.State != metadata.Expelled {
			list = append(list, other)
		}
	}
	return list
}

// drainedStop moves the lead away first: the runbook of docs/failure.md.
func drainedStop(ctx context.Context, r *run) error {
	if err := r.lead(ctx, r.successor); err != nil {
		return err
	}
	return r.stop(ctx, r.victim)
}

// kill kills an instance and starts it again when the cluster has noticed.
func (r *run) kill(ctx context.Context, in metadata.Instance) error {
	if err := r.strike(ctx, r.hooks.kill, in); err != nil {
		return err
	}
	if err := r.gone(ctx, in); err != nil {
		return err
	}
	time.Sleep(r.cfg.after)
	return r.start(ctx, in)
}

func killRaftLeader(ctx context.Context, r *run) error {
	var uuid string
	if err := r.admin.QueryRowContext(ctx, "SELECT pico_raft_leader_uuid()").Scan(&uuid); err != nil {
		return fmt.Errorf("who leads the raft group? %w", err)
	}
	in, known := r.control.Topology().Instance(uuid)
	if !known {
		return fmt.Errorf("the raft leader %s is no instance that is known", uuid)
	}
	return r.kill(ctx, *in)
}

func freeze(ctx context.Context, r *run) error {
	if err := r.strike(ctx, r.hooks.freeze, r.victim); err != nil {
		return err
	}
	err := r.gone(ctx, r.victim)
	return errors.Join(err, r.hooks.thaw(ctx, r.victim.Name))
}

// rollingRestart stops and starts all instances, leaders after they have handed over where that can be asked for.
func rollingRestart(ctx context.Context, r *run) error {
	for _, in := range r.instances {
		if others := r.members(in); leads(r.control.Topology(), in) && r.hooks.switchover != nil && len(others) > 1 {
			successor := others[slices.IndexFunc(others, func(o metadata.Instance) bool { return o.UUID != in.UUID })]
			if err := r.lead(ctx, successor); err != nil {
				return err
			}
		}
		if err := r.stop(ctx, in); err != nil {
			return err
		}
		if err := r.healthy(ctx); err != nil {
			return err
		}
	}
	return nil
}

// outage kills all instances and starts them again, all at once: none is Online before most of them run.
func outage(ctx context.Context, r *run) error {
	for _, in := range r.instances {
		if err := r.strike(ctx, r.hooks.kill, in); err != nil {
			return err
		}
	}
	time.Sleep(r.cfg.after)
	errs := make([]error, len(r.instances))
	var group sync.WaitGroup
	for i, in := range r.instances {
		group.Go(func() { errs[i] = r.hooks.start(ctx, in.Name) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// ddl makes and drops an index of the table in use, and changes another table beside it.
func ddl(ctx context.Context, r *run) error {
	for _, text := range []string{
		"CREATE INDEX ledger_v ON ledger_rows (v)", "DROP INDEX ledger_v",
		"CREATE TABLE ledger_other (id INT PRIMARY KEY)", "ALTER TABLE ledger_other ADD COLUMN v TEXT", "DROP TABLE ledger_other",
	} {
		if _, err := r.admin.ExecContext(picodata.NoRetry(ctx), text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
