package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// config says against what, and for how long.
type config struct {
	dsn, adminDSN string
	options       []options.Option // of every connector, beside what the DSN says
	hooks         hooks
	workers       int
	limit         time.Duration // of one statement
	pause         time.Duration // between two statements of a worker
	before, after time.Duration // of load, around each event
	patience      time.Duration // until a cluster must be healthy again
	log           io.Writer     // what is being done
	// exec, if set, stands between the workers' writes and the driver.
	exec func(db *sql.DB) func(ctx context.Context, query string, args ...any) (sql.Result, error)
	// tamper, if set, changes what the cluster holds before it is read.
	tamper func(ctx context.Context, admin *sql.DB) error
}

// run is one cluster under load.
type run struct {
	cfg     config
	hooks   *hooks
	admin   *sql.DB // looks at the cluster and makes tables; what is measured goes another way
	control *picodata.Connector

	instances         []metadata.Instance
	victim, successor metadata.Instance // a leader, and a replica of the same replicaset
	homes             []map[string]bool // two halves of the replicasets; the victim's is in the second
	book              *book             // of the event
	busy              atomic.Int64      // statements under way
	inFlight          int64             // the most that were when something was struck
}

// result is what one event came to.
type result struct {
	event    string
	lines    []*line
	notes    []string
	inFlight int64
}

// open looks at the cluster. close ends what it began.
func open(ctx context.Context, cfg config) (_ *run, err error) {
	r := &run{cfg: cfg, hooks: &cfg.hooks}
	dsn := cfg.adminDSN
	if dsn == "" {
		dsn = cfg.dsn
	}
	r.admin, r.control, err = r.connect(dsn, options.WithTopologyUpdateInterval(500*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.admin.PingContext(ctx); err != nil {
		return nil, err
	}
	t := r.control.Topology()
	if t.Static || !t.RolesKnown {
		return nil, errors.New("the user may not read who leads: give -admin-dsn")
	}
	for _, in := range t.Instances {
		if in.State != metadata.Online {
			return nil, fmt.Errorf("%s is %s: nothing is measured on a cluster that isn't healthy", in.Name, in.State)
		}
		r.instances = append(r.instances, in)
		if l, led := t.Leader(in.ReplicasetUUID); led && l.UUID != in.UUID {
			r.victim, r.successor = *l, in // the last replicaset of two or more: the first instance usually leads the raft group
		}
	}
	if r.victim.UUID == "" {
		return nil, errors.New("no replicaset has a replica: no event can be survived")
	}
	var names []string
	for _, rs := range t.Replicasets {
		if rs.Tier == r.victim.Tier && rs.UUID != r.victim.ReplicasetUUID {
			names = append(names, rs.Name)
		}
	}
	// With one replicaset alone there is no elsewhere.
	if len(names) > 0 {
		near, far := map[string]bool{}, map[string]bool{r.victim.ReplicasetName: true}
		for i, name := range names {
			if i > len(names)/2 {
				far[name] = true
			} else {
				near[name] = true
			}
		}
		r.homes = []map[string]bool{near, far}
	}
	if r.hooks.switchover == nil {
		r.hooks.switchover = r.askForLead
	}
	return r, nil
}

// askForLead is how a switchover is asked for in SQL.
func (r *run) askForLead(ctx context.Context, replicaset, instance string) error {
	_, err := r.admin.ExecContext(ctx, "UPDATE _pico_replicaset SET target_master_name = $1 WHERE name = $2", instance, replicaset)
	return err
}

func (r *run) close() error { return r.admin.Close() }

func (r *run) connect(dsn string, opts ...options.Option) (*sql.DB, *picodata.Connector, error) {
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return nil, nil, err
	}
	conn, err := picodata.NewConnector(cfg, slices.Concat(r.cfg.options, opts)...)
	if err != nil {
		return nil, nil, err
	}
	return sql.OpenDB(conn), conn, nil
}

// lookEvery is how often a cluster is asked whether it is as it should be: other processes change it.
const lookEvery = 250 * time.Millisecond

// until waits for something of the topology.
func (r *run) until(ctx context.Context, what string, holds func(*metadata.Topology) bool) error {
	return r.await(ctx, what, func() error {
		if !holds(r.control.Topology()) {
			return errors.New("not yet")
		}
		return nil
	})
}

func (r *run) await(ctx context.Context, what string, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.patience)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v until %s: %w", r.cfg.patience, what, err)
		case <-time.After(lookEvery):
		}
	}
}

// healthy waits until every instance answers and is Online, every replicaset is led, and all of them count rows.
func (r *run) healthy(ctx context.Context) error {
	return r.await(ctx, "the cluster is healthy", func() error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		for _, in := range r.instances {
			var one int
			if err := r.admin.QueryRowContext(picodata.ToInstance(ctx, in.UUID), "SELECT 1").Scan(&one); err != nil {
				return fmt.Errorf("%s: %w", in.Name, err)
			}
		}
		t := r.control.Topology()
		for _, in := range r.instances {
			now, known := t.Instance(in.UUID)
			if !known || now.State != metadata.Online || now.TargetState != "" && now.TargetState != metadata.Online {
				return fmt.Errorf("%s isn't Online", in.Name)
			}
		}
		for _, rs := range t.Replicasets {
			if rs.Switching || rs.LeaderUUID == "" {
				return fmt.Errorf("%s has no leader", rs.Name)
			}
		}
		var n int
		return r.admin.QueryRowContext(ctx, "SELECT count(*) FROM ledger_rows").Scan(&n)
	})
}

// strike kills or freezes an instance, and notes how many statements were under way.
func (r *run) strike(ctx context.Context, how func(context.Context, string) error, in metadata.Instance) error {
	before := r.busy.Load()
	err := how(ctx, in.Name)
	r.book.strikes()
	r.inFlight = max(r.inFlight, before, r.busy.Load())
	return err
}

// tables are made anew for each event: name and columns.
var tables = [][2]string{
	{"ledger_rows", "(id INT PRIMARY KEY, v TEXT)"},
	{"ledger_counters", "(id INT PRIMARY KEY, n INT)"},
	{"ledger_globals", "(id INT PRIMARY KEY, v TEXT) DISTRIBUTED GLOBALLY"},
}

func (r *run) drop(ctx context.Context) error {
	var errs []error
	for _, t := range tables {
		_, err := r.admin.ExecContext(ctx, "DROP TABLE IF EXISTS "+t[0])
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// event runs one event under load, and compares the ledger with the tables.
func (r *run) event(ctx context.Context, e event) (res *result, err error) {
	fmt.Fprintf(r.cfg.log, "%s\n", e.name)
	if err := r.drop(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.drop(ctx)) }()
	for _, t := range tables {
		if _, err := r.admin.ExecContext(ctx, "CREATE TABLE "+t[0]+" "+t[1]); err != nil {
			return nil, err
		}
	}
	if !leads(r.control.Topology(), r.victim) {
		if err := r.lead(ctx, r.victim); err != nil {
			return nil, err
		}
	}
	if err := r.healthy(ctx); err != nil {
		return nil, err
	}
	r.inFlight = 0
	b := newBook()
	r.book = b
	eventErr, err := r.load(ctx, e, b)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(eventErr, r.healthy(ctx)); err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	if r.cfg.tamper != nil {
		if err := r.cfg.tamper(ctx, r.admin); err != nil {
			return nil, err
		}
	}
	c, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	b.settle(c)
	return &result{event: e.name, lines: b.lines, notes: b.notes, inFlight: r.inFlight}, nil
}

// load runs the workers around an event.
func (r *run) load(ctx context.Context, e event, b *book) (eventErr, err error) {
	db, conn, err := r.connect(r.cfg.dsn, options.WithTransactions(options.TransactionsAutocommit))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxIdleConns(r.cfg.workers)
	prepared, err := db.PrepareContext(ctx, insertRow)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	exec := db.ExecContext
	if r.cfg.exec != nil {
		exec = r.cfg.exec(db)
	}
	var workers []*worker
	for i := range r.cfg.workers {
		w := &worker{id: i + 1, kind: i % len(kinds), book: b, db: db, conn: conn, prepared: prepared, exec: exec}
		// Of a keyed kind that several workers run, each keeps to one half of the replicasets.
		if several := i+len(kinds) < r.cfg.workers || i >= len(kinds); several && r.homes != nil && w.kind < keyed {
			w.home = r.homes[i/len(kinds)%2]
			w.healthy = !e.wide && i/len(kinds)%2 == 0
		}
		if err := w.prepare(ctx, r.admin); err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	end := make(chan struct{})
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() { w.work(end, r.cfg.limit, r.cfg.pause, &r.busy) })
	}
	time.Sleep(r.cfg.before)
	eventErr = e.do(ctx, r)
	time.Sleep(r.cfg.after)
	close(end)
	group.Wait()
	return eventErr, nil
}

// read reads the tables.
func (r *run) read(ctx context.Context) (c contents, err error) {
	ctx = picodata.WithLimits(ctx, picodata.Limits{VdbeOpcodeMax: options.NoLimit, MotionRowMax: options.NoLimit})
	count := func(query string, add func(id, n int)) error {
		rows, err := r.admin.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, n int
			if err := rows.Scan(&id, &n); err != nil {
				return err
			}
			add(id, n)
		}
		return rows.Err()
	}
	c = contents{rows: map[int]int{}, globals: map[int]int{}, numbers: map[int]int{}}
	err = errors.Join(
		count("SELECT id, 0 FROM ledger_rows", func(id, _ int) { c.rows[id]++ }),
		count("SELECT id, 0 FROM ledger_globals", func(id, _ int) { c.globals[id]++ }),
		count("SELECT id, n FROM ledger_counters", func(id, n int) { c.numbers[id] = n }),
	)
	return c, err
}
