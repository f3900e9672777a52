package exec

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/internal/bulk"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Load is one table that rows are loaded into.
type Load struct {
	x       *Executor
	table   string
	columns []string
	forward bool // all servers know the option that forbids them to forward a statement
}

// Columns are the names of a table's columns in their order, those that an INSERT without a list fills; nil: not known.
func (x *Executor) Columns(table string) (names []string) {
	known := x.routing.known.Load()
	if known == nil {
		return nil
	}
	t, ok := (*known)[table]
	if !ok {
		return nil
	}
	for _, c := range t.InsertColumns() {
		names = append(names, c.Name)
	}
	return names
}

// LoadInto prepares a load. It waits until the cluster is known.
func (x *Executor) LoadInto(ctx context.Context, table string, columns []string) (*Load, error) {
	if err := x.Cluster.Start(ctx); err != nil {
		return nil, x.waitFailed(err)
	}
	// A table that was made a moment ago is read about at the first miss.
	x.Cluster.Hint(schema.HintRows)
	for n := 0; !x.routing.view.Load().KnowsTable(table) && n < tablePauses; n++ {
		x.Cluster.Hint(schema.HintTables)
		if err := x.sleep(ctx, tablePause); err != nil {
			return nil, err
		}
	}
	// Once: the texts are made by it, and a text without the option proves nothing, whatever servers know by then.
	v := x.Cluster.Topology().MinVersion()
	return &Load{x: x, table: table, columns: columns, forward: v.Known() && v.HasForward()}, nil
}

// How long a load waits to hear of its table. Without the right to read about tables it is lost, but once.
const (
	tablePause  = 20 * time.Millisecond
	tablePauses = 25
)

// ForwardOff reports whether all servers knew, as the load began, the option that forbids them to forward a statement.
func (l *Load) ForwardOff() bool { return l.forward }

// Owner implements bulk.Target.
func (l *Load) Owner(row []driver.Value) string {
	owner, global := l.x.routing.view.Load().Owner(l.table, l.columns, row)
	if global {
		return bulk.Global
	}
	return owner
}

// Name is an owner's name for people.
func (l *Load) Name(owner string) string {
	switch owner {
	case "":
		return "any node"
	case bulk.Global:
		return "global"
	}
	if t := l.x.Cluster.Topology(); t != nil {
		for i := range t.Replicasets {
			if t.Replicasets[i].UUID == owner {
				return t.Replicasets[i].Name
			}
		}
	}
	return owner
}

// The pauses while rows wait for a leader, or for buckets that are on their way. A new snapshot ends them.
const (
	loadBackoff    = 20 * time.Millisecond
	loadBackoffMax = 250 * time.Millisecond
)

// Pause waits before rows are sorted anew: as long as a statement would wait for a leader.
func (l *Load) Pause(ctx context.Context, m bulk.Moved) error {
	x := l.x
	changed := x.changed.wait()
	why := l.leaderless(m.Owner)
	limit := x.Options.DeadLeaderTimeout
	if x.Options.DeadLeader == options.DeadLeaderFail {
		if why != nil {
			return x.Faults.Leaderless(why)
		}
		limit = x.Options.SwitchoverTimeout
	}
	if m.Waited < limit {
		return x.pause(ctx, min(backoff(m.Attempts-1, loadBackoff, loadBackoffMax), limit-m.Waited), changed)
	}
	if why != nil {
		why.Waited = m.Waited
		return x.Faults.Leaderless(why)
	}
	return fmt.Errorf("picodata: rows of %s have found no owner for %v and %d attempts: their buckets keep moving; nothing of them was sent", l.table, m.Waited.Round(time.Millisecond), m.Attempts)
}

// leaderless describes an owner that nobody leads; nil: it is led.
func (l *Load) leaderless(owner string) *Leaderless {
	t := l.x.Cluster.Topology()
	r, ok := t.Replicaset(owner)
	if !ok {
		return nil
	}
	if leader, ok := t.Leader(owner); ok && leader.State == metadata.Online {
		return nil
	}
	return &Leaderless{Replicaset: r.Name, Tier: r.Tier}
}

// Exec implements bulk.Target. Rows of an owner go to its leader only.
func (l *Load) Exec(ctx context.Context, owner, sql string, args []driver.Value) (int64, error) {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	c := l.x.NewCheckout()
	defer c.Forget()
	owned := owner != "" && owner != bulk.Global
	if owned {
		p := l.x.routing.plan(c.Text(sql), named, nil)
		if p.Kind != route.Leader || p.ReplicasetUUID != owner {
			return 0, bulk.ErrMoved
		}
	}
	r := run{c: c, x: l.x, op: opExec, ctx: ctx, args: named, text: c.Text(sql), local: owned && l.ForwardOff()}
	err := r.perform()
	if report, _ := servererr.Of(err); owned && report.Kind == servererr.Forward {
		return 0, bulk.ErrMoved
	}
	return r.affected, err
}
