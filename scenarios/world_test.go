package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// answers collects how statements that were begun at once end.
type answers struct {
	group sync.WaitGroup
	mu    sync.Mutex
	done  int
	errs  []error
	last  time.Time
}

func (a *answers) begin(f func() error) {
	a.group.Go(func() {
		err := f()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.done++
		a.last = time.Now()
		if err != nil {
			a.errs = append(a.errs, err)
		}
	})
}

func (a *answers) count() (done int, errs []error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done, a.errs
}

// untilLeads waits until the driver's snapshot has this leader.
func (w *world) untilLeads(replicaset, instance string) {
	w.t.Helper()
	for range 100_000 {
		if w.leaders()[replicaset] == instance {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.t.Fatalf("the driver never learnt that %s leads %s", instance, replicaset)
}

// filled opens the database with a table t (id, v) of n rows that lie in both replicasets.
func (w *world) filled(n int, opts ...options.Option) {
	w.t.Helper()
	w.open(nil, opts...)
	w.must("create table t (id int primary key, v int)")
	for i := range n {
		w.must("insert into t values ($1, 0)", i)
	}
}

// hang waits until n statements hang.
func (w *world) hang(n int) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	return w.cluster.WaitHanging(ctx, n)
}

func (w *world) online(instance string) bool {
	in, ok := w.c.Topology().ByName(instance)
	return ok && in.State == metadata.Online
}

// way is one of the ways in which a program runs a statement that writes.
type way struct {
	name string
	exec func(ctx context.Context, w *world, query string, args ...any) error
}

var ways = []way{
	{"db.Exec", func(ctx context.Context, w *world, query string, args ...any) error {
		_, err := w.ExecContext(ctx, query, args...)
		return err
	}},
	{"db.Query", func(ctx context.Context, w *world, query string, args ...any) error {
		rows, err := w.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	}},
	{"db.Query, unread", func(ctx context.Context, w *world, query string, args ...any) error {
		rows, err := w.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return rows.Close()
	}},
	{"Stmt", func(ctx context.Context, w *world, query string, args ...any) error {
		s, err := w.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.ExecContext(ctx, args...)
		return err
	}},
	{"Conn", func(ctx context.Context, w *world, query string, args ...any) error {
		c, err := w.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.ExecContext(ctx, "select 1"); err != nil { // ties it to a node
			return err
		}
		_, err = c.ExecContext(ctx, query, args...)
		return err
	}},
	{"Tx", func(ctx context.Context, w *world, query string, args ...any) error {
		tx, err := w.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			_ = tx.Rollback() // says that nothing was undone, which is right
			return err
		}
		return tx.Commit()
	}},
}

// inBubble runs a scenario over a network in memory and in virtual time: what it says about times and counts is exact.
func inBubble(t *testing.T, cfg picotest.Config, opts []options.Option, f func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Network = picotest.Memory
		c, err := picotest.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		parsed, err := picodata.ParseDSN(c.AdminDSN())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := picodata.NewConnector(parsed, append([]options.Option{options.WithDialFunc(c.DialContext)}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(conn)
		db.SetMaxIdleConns(200)
		defer func() {
			if err := db.Close(); err != nil {
				t.Error("Close:", err)
			}
			time.Sleep(time.Second) // virtual: nodes may be slow to see that a client has gone
			if s := conn.Stats().Total; s.InUse+s.Idle+s.Dialing+s.Draining+s.Waiters != 0 {
				t.Errorf("after Close: %+v", s)
			}
			for _, n := range c.Nodes() {
				if open := n.Counters().Open; open != 0 {
					t.Errorf("after Close: %s has %d connections", n.Name(), open)
				}
			}
		}()
		f(t, c, db, conn)
	})
}

// samePicture compares the driver's snapshot with the cluster.
func (w *world) samePicture(t *testing.T) {
	t.Helper()
	topo := w.c.Topology()
	online := 0
	for _, in := range topo.Instances {
		if in.State == metadata.Online {
			online++
		}
	}
	if online != len(w.cluster.Nodes()) {
		t.Errorf("%d instances are Online for the driver, %d in the cluster", online, len(w.cluster.Nodes()))
	}
	leaders := w.leaders()
	for _, rs := range w.cluster.Replicasets() {
		if leader := w.cluster.Leader(rs); leader == nil || leaders[rs] != leader.Name() {
			t.Errorf("the leader of %s is %q for the driver", rs, leaders[rs])
		}
	}
	wrong := 0
	for b := uint64(1); b <= 3000; b++ {
		uuid, _ := w.c.Buckets().Lookup("default", b)
		if rs, ok := topo.Replicaset(uuid); !ok || rs.Name != w.cluster.BucketOwner("default", b) {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d buckets have another owner for the driver", wrong)
	}
}

// pairs is two replicasets of two.
func pairs() picotest.Config {
	return picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}}
}

// world is a cluster in a bubble and a database on it. Routes stand before the cluster's own addresses.
type world struct {
	*sql.DB
	t       *testing.T
	cluster *picotest.Cluster
	c       *picodata.Connector

	mu     sync.Mutex
	routes map[string]string // dialled address → address in the cluster, "black hole" or "refused"
	dials  map[string]int    // by dialled address
}

// bubble runs the scenario in virtual time. dsn makes the DSN's hosts of the cluster's; nil takes all.
func bubble(t *testing.T, cfg picotest.Config, scenario func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Network = picotest.Memory
		w := &world{t: t, cluster: picotest.Start(nil, cfg), routes: map[string]string{}, dials: map[string]int{}}
		defer w.cluster.Close()
		defer func() {
			if w.DB != nil {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
		scenario(t, w)
	})
}

// work runs f again and again by so many workers, with pauses, until the function that it returns is called.
func (w *world) work(workers int, pause time.Duration, f func()) (stop func()) {
	end := make(chan struct{})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(pause):
					f()
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(end)
		group.Wait()
	})
}

// open opens the database as admin, with these hosts in the DSN (none = all nodes).
func (w *world) open(hosts []string, opts ...options.Option) {
	w.t.Helper()
	w.openAs("admin", hosts, opts...)
}

// openVia is open with a dialer of the scenario's own.
func (w *world) openVia(dial func(ctx context.Context, network, address string) (net.Conn, error), opts ...options.Option) {
	w.t.Helper()
	w.openAs("admin", nil, append(opts, options.WithDialFunc(dial))...)
}

func (w *world) openAs(user string, hosts []string, opts ...options.Option) {
	w.t.Helper()
	cfg, err := picodata.ParseDSN(w.cluster.UserDSN(user))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(hosts) > 0 {
		cfg.Hosts = nil
		for _, h := range hosts {
			host, err := options.ParseAddress(h)
			if err != nil {
				w.t.Fatal(err)
			}
			cfg.Hosts = append(cfg.Hosts, host)
		}
	}
	cfg.DialFunc = w.dial
	if w.c, err = picodata.NewConnector(cfg, opts...); err != nil {
		w.t.Fatal(err)
	}
	w.DB = sql.OpenDB(w.c)
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dials[address]++
	to, routed := w.routes[address]
	w.mu.Unlock()
	switch {
	case to == "black hole":
		<-ctx.Done()
		return nil, ctx.Err()
	case to == "refused":
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	case routed:
		address = to
	}
	return w.cluster.DialContext(ctx, network, address)
}

// route sends dials of an address elsewhere from now on.
func (w *world) route(address, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes[address] = to
}

func (w *world) dialled(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials[address]
}

// ran counts by node the statements whose text holds part and that had no error.
func (w *world) ran(part string) map[string]int {
	n := map[string]int{}
	for _, s := range w.cluster.Statements(picotest.SQL(part)) {
		if s.ErrCode == "" {
			n[s.Node]++
		}
	}
	return n
}

// read runs n one-row selects and returns the errors.
func (w *world) read(text string, n int) (errs []error) {
	for range n {
		var got int
		if err := w.QueryRowContext(w.t.Context(), text).Scan(&got); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (w *world) must(text string, args ...any) {
	w.t.Helper()
	if _, err := w.ExecContext(w.t.Context(), text, args...); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

// leaders is the leader of each replicaset in the driver's snapshot, "" for none.
func (w *world) leaders() map[string]string {
	m := map[string]string{}
	topo := w.c.Topology()
	for _, r := range topo.Replicasets {
		m[r.Name] = ""
		if l, ok := topo.Leader(r.UUID); ok {
			m[r.Name] = l.Name
		}
	}
	return m
}

// threeNodes is a replicaset of one for each of three nodes.
func threeNodes() picotest.Config {
	return picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 3, ReplicationFactor: 1}}}
}
