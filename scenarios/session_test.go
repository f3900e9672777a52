package scenarios_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"
	"go.uber.org/goleak"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Statements are shared out over the nodes exactly, whatever the number of workers.
func TestRoundRobinUnderDatabaseSQL(t *testing.T) {
	c, db, _ := startDB(t, three)
	warm(t, c, db, 30)
	for _, workers := range []int{1, 2, 4, 8, 30} {
		c.ResetCounters()
		mark := fmt.Sprintf("select %d", 1000+workers)
		inParallel(workers, 3000, func(int) {
			var n int
			if err := db.QueryRowContext(t.Context(), mark).Scan(&n); err != nil {
				t.Error(err)
			}
		})
		got := userStatements(c, mark)
		t.Logf("%2d workers: %v", workers, got)
		for _, node := range c.Nodes() {
			if n := got[node.Name()]; n < 990 || n > 1010 {
				t.Errorf("%d workers: %s ran %d of 3000, want 1000 ± 1 %%", workers, node.Name(), n)
			}
		}
	}
}

// multiHost is lib/pq with one pool over all nodes, each connection to the next node in turn: the best that a
// driver can do which is asked for a node only when database/sql dials.
type multiHost struct {
	next  atomic.Int64
	nodes []driver.Connector
}

func (m *multiHost) Connect(ctx context.Context) (driver.Conn, error) {
	return m.nodes[int(m.next.Add(1)-1)%len(m.nodes)].Connect(ctx)
}
func (m *multiHost) Driver() driver.Driver { return &pq.Driver{} }

func libpqPool(t *testing.T, c *picotest.Cluster) *sql.DB {
	m := &multiHost{}
	for _, n := range c.Nodes() {
		nc, err := pq.NewConnector(n.AdminDSN())
		if err != nil {
			t.Fatal(err)
		}
		m.nodes = append(m.nodes, nc)
	}
	db := sql.OpenDB(m)
	t.Cleanup(func() { db.Close() })
	return db
}

// The figures that the design rests on: what one pool over the same nodes gives.
func TestOnePoolOverAllNodesSkews(t *testing.T) {
	c, err := picotest.New(three)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	db := libpqPool(t, c)
	db.SetMaxIdleConns(30)
	// Thirty warm connections, ten to a node.
	var warm []*sql.Conn
	for range 30 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		warm = append(warm, conn)
	}
	for _, conn := range warm {
		conn.Close()
	}
	for range 3000 {
		var n int
		if err := db.QueryRow("select 4711").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	got := userStatements(c, "select 4711")
	t.Logf("lib/pq, one worker: %v", got)
	if len(got) != 1 {
		t.Errorf("one pool over three nodes used %d of them; the design says one", len(got))
	}
}

// Bursts at the two idle connections that database/sql keeps dial nothing new; one pool over all nodes dials hundreds of times.
func TestBurstsAtTwoIdleConnections(t *testing.T) {
	burst := func(t *testing.T, c *picotest.Cluster, db *sql.DB) {
		hold := c.Hold(picotest.SQL("select 4712"))
		defer hold.ReleaseAll()
		for range 100 {
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					var n int
					if err := db.QueryRowContext(t.Context(), "select 4712").Scan(&n); err != nil {
						t.Error(err)
					}
				})
			}
			if err := hold.Wait(t.Context(), 10); err != nil {
				t.Error(err)
			}
			hold.Release(10)
			group.Wait()
		}
	}
	t.Run("picodata", func(t *testing.T) {
		c, db, conn := startDB(t, three)
		burst(t, c, db)
		if dials := conn.Stats().Total.Dials; dials > 12 {
			t.Errorf("%d dials for 100 bursts of 10, want at most 12", dials)
		} else {
			t.Logf("%d dials", dials)
		}
	})
	t.Run("lib/pq", func(t *testing.T) {
		c, err := picotest.New(three)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		burst(t, c, libpqPool(t, c))
		logins := c.Counters().Logins
		t.Logf("%d dials", logins)
		if logins < 500 {
			t.Errorf("%d dials: the comparison in the documents is wrong", logins)
		}
	})
}

// What runs in one sql.Conn runs on one connection, which is given back when it ends.
func TestCheckoutStaysOnOneConnection(t *testing.T) {
	c, db, conn := startDB(t, three)
	sc, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var n int
		if err := sc.QueryRowContext(t.Context(), "select 4713 + $1", 1).Scan(&n); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "select 1") // others move the round robin on
	}
	conns := map[string]bool{}
	for _, s := range c.Statements(picotest.SQL("select 4713")) {
		conns[fmt.Sprint(s.Node, s.Conn)] = true
	}
	if len(conns) != 1 {
		t.Errorf("a sql.Conn used %d connections", len(conns))
	}
	var node picodata.Node
	if err := sc.Raw(func(dc any) error {
		node = dc.(picodata.Conn).Node()
		return nil
	}); err != nil || node.Name == "" {
		t.Errorf("Raw: node %v, %v", node, err)
	}
	if n := conn.Stats().Total.InUse; n != 1 {
		t.Errorf("%d leases while a sql.Conn is open, want 1", n)
	}
	sc.Close()
	if n := conn.Stats().Total.InUse; n != 0 {
		t.Errorf("%d leases after Close, want 0", n)
	}
}

// Open rows keep their connection until they are closed.
func TestOpenRowsKeepTheirConnection(t *testing.T) {
	c, db, conn := startDB(t, three)
	mustExec(t, db, "create table t (id int primary key) distributed by (id)")
	for i := range 10 {
		mustExec(t, db, "insert into t values ($1)", i)
	}
	sc, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	rows, err := sc.QueryContext(t.Context(), "select id from t")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for rows.Next() {
		var id, other int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		// The same checkout, while its rows are open.
		if err := sc.QueryRowContext(t.Context(), "select id + 4714 from t where id = $1", id).Scan(&other); err != nil || other != id+4714 {
			t.Fatalf("%d: %d, %v", id, other, err)
		}
		seen++
	}
	if err := rows.Err(); err != nil || seen != 10 {
		t.Errorf("%d rows, %v", seen, err)
	}
	rows.Close()
	if n := conn.Stats().Total.InUse; n != 1 {
		t.Errorf("%d leases while the sql.Conn is open, want 1", n)
	}
	_ = c
}

// Opening, using and closing twenty times leaves no goroutine and no descriptor.
func TestNothingLeaks(t *testing.T) {
	const rounds = 20
	before := descriptors(t)
	for range rounds {
		func() {
			leaks := goleak.IgnoreCurrent()
			c, err := picotest.New(three)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("picodata", c.AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			inParallel(8, 50, func(i int) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				rows, err := db.QueryContext(ctx, "select $1 + 1", i)
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 != 0 {
					rows.Close() // the others are left open, until their context ends
				}
			})
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			for _, n := range c.Nodes() {
				if err := c.WaitConnections(t.Context(), n.Name(), 0); err != nil {
					t.Error(err)
				}
			}
			c.Close()
			goleak.VerifyNone(t, leaks)
		}()
	}
	// The simulated servers close theirs in their own time; one left per round would be a leak of the driver's.
	if after := descriptors(t); after-before >= rounds {
		t.Errorf("%d descriptors before, %d after %d rounds", before, after, rounds)
	}
}

// hiding is a wrapper that forwards everything but driver.Validator, as some loggers do.
type hiding struct{ driver.Connector }

func (h hiding) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return hidden{c}, nil
}

type hidden struct{ driver.Conn }

func (h hidden) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return h.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}
func (h hidden) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return h.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}
func (h hidden) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return h.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
}
func (h hidden) ResetSession(ctx context.Context) error {
	return h.Conn.(driver.SessionResetter).ResetSession(ctx)
}
func (h hidden) Raw() driver.Conn { return h.Conn }

// Under a wrapper that hides driver.Validator a lease ends with its operation.
func TestMiddlewareThatHidesValidator(t *testing.T) {
	c, err := picotest.New(three)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cfg, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(hiding{conn})
	defer conn.Close() // the wrapper hides io.Closer too
	defer db.Close()
	db.SetMaxIdleConns(10)
	// Ten sessions at once, each left with a lease that nobody gives back.
	hold := c.Hold(picotest.SQL("select 4715"))
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			var n int
			if err := db.QueryRowContext(t.Context(), "select 4715").Scan(&n); err != nil {
				t.Error(err)
			}
		})
	}
	if err := hold.Wait(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	hold.ReleaseAll()
	group.Wait()
	if n := conn.Stats().Total.InUse; n != 10 {
		t.Fatalf("%d leases; the test's premise is that the wrapper leaves 10", n)
	}
	for i := range 100 {
		var n int
		if err := db.QueryRowContext(t.Context(), "select 4716").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if s := conn.Stats(); i > 0 && (s.Total.InUse != 0 || !s.Eager) {
			t.Fatalf("statement %d: %d leases left, eager %v", i, s.Total.InUse, s.Eager)
		}
	}
	if got := userStatements(c, "select 4716"); len(got) != 3 {
		t.Errorf("the spread is %v", got)
	}
	if u, err := picodata.Unwrap(db); err != nil || u != conn {
		t.Errorf("Unwrap through the wrapper: %v, %v", u, err)
	}
}

// A cluster that nobody answers for is an error that names every address, and nothing goes on in the background.
func TestUnreachableCluster(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	defer func() { goleak.VerifyNone(t, leaks) }()
	c, err := picotest.New(three)
	if err != nil {
		t.Fatal(err)
	}
	dsn := c.AdminDSN()
	addrs := []string{c.Nodes()[0].Addr(), c.Nodes()[1].Addr(), c.Nodes()[2].Addr()}
	c.Close()
	db, err := sql.Open("picodata", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = db.PingContext(ctx)
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v: hosts that refuse and never answered before aren't waited for", err)
	}
	for _, a := range addrs {
		if !strings.Contains(fmt.Sprint(err), a) {
			t.Errorf("the error doesn't name %s: %v", a, err)
		}
	}
	if !strings.Contains(fmt.Sprint(err), "refused") {
		t.Errorf("the error doesn't say why: %v", err)
	}
	// Without a deadline nobody waits for a cluster that refuses to talk.
	err = db.PingContext(context.WithoutCancel(t.Context()))
	if err == nil || !picodata.IsRetryable(err) {
		t.Errorf("without a deadline: %v", err)
	}
}

// A wrong password is tried once and is an *AuthError that names the node.
func TestWrongPasswordIsTriedOnce(t *testing.T) {
	c := picotest.Start(t, three)
	db, err := sql.Open("picodata", strings.Replace(c.AdminDSN(), "T0psecret", "Wr0ngsecret", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.PingContext(t.Context())
	var auth *picodata.AuthError
	if !errors.As(err, &auth) || auth.Address == "" {
		t.Fatalf("%v (%T) is no *AuthError that names the node", err, err)
	}
	var p *pq.Error
	if !errors.As(err, &p) || p.Code != "28P01" {
		t.Errorf("the server's error isn't within: %v", err)
	}
	if strings.Contains(err.Error(), "Wr0ng") {
		t.Errorf("the error shows the password: %v", err)
	}
	if n := c.Counters().LoginFailures; n != 1 {
		t.Errorf("%d failed logins, want 1: four of them lock the user", n)
	}
	for range 10 {
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("the wrong password was accepted")
		}
	}
	if n := c.Counters().LoginFailures; n != 1 {
		t.Errorf("%d failed logins after ten more statements, want 1", n)
	}
}

// A role that no node has is a *NoNodeError that names the setting.
func TestRoleThatNobodyHas(t *testing.T) {
	// Three replicasets of one instance: there is no replica.
	_, db, _ := startDB(t, three, options.WithInstanceRole(options.RoleReplica), options.WithAcquireTimeout(time.Second))
	err := db.PingContext(t.Context())
	var none *picodata.NoNodeError
	if !errors.As(err, &none) {
		t.Fatalf("%v (%T) is no *NoNodeError", err, err)
	}
	if !strings.Contains(err.Error(), "instance_role") {
		t.Errorf("the error doesn't say which setting left no node: %v", err)
	}
}

// A role that the user may not read of is an error that says which GRANT helps.
func TestRoleThatTheUserMayNotKnow(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.UserDSN("plain")+"&instance_role=leader&acquire_timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.PingContext(t.Context())
	if !strings.Contains(fmt.Sprint(err), "GRANT READ ON TABLE _pico_replicaset") {
		t.Errorf("the error doesn't say which GRANT helps: %v", err)
	}
}

// BeginTx fails with ErrTxUnsupported before anything is dialled.
func TestTransactionsAreRefused(t *testing.T) {
	_, db, conn := startDB(t, three)
	if _, err := db.BeginTx(t.Context(), nil); !errors.Is(err, picodata.ErrTxUnsupported) {
		t.Errorf("BeginTx: %v", err)
	}
	if s := conn.Stats().Total; s.Dials != 0 {
		t.Errorf("BeginTx dialled %d times", s.Dials)
	}
}
