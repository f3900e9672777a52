package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// lifo-idle-skew: Every node gets its part whatever lies idle and however many workers there are. Between two statements a
// worker waits for a moment of virtual time, which passes only when nothing else can go on: so a dial that is needed
// isn't overtaken by hundreds of statements elsewhere because this machine is busy.
func TestNoSkewByWarmConnections(t *testing.T) {
	inBubble(t, three, nil, func(t *testing.T, c *picotest.Cluster, db *sql.DB, _ *picodata.Connector) {
		holdStatements(t, c, db, 9)()
		for _, workers := range []int{1, 2, 4, 8} {
			c.ResetCounters()
			inParallel(workers, 1200, func(int) {
				one(t, db)
				time.Sleep(time.Millisecond)
			})
			got := userStatements(c, statement)
			for _, n := range c.Nodes() {
				if ran := got[n.Name()]; ran < 380 || ran > 420 {
					t.Errorf("%d workers: %s ran %d of 1200", workers, n.Name(), ran)
				}
			}
		}
	})
}

// cap-exceeded-by-idle, OV10: At no moment has a server more of the pool's connections than the cap, whatever callers
// give up. The nodes are found by discovery and inherit the cap; the topology's connection is outside it.
func TestServerNeverSeesMoreThanTheCap(t *testing.T) {
	opts := []options.Option{
		options.WithMaxConnsPerInstance(5), options.WithMaxConnLifetime(2 * time.Second), options.WithMaxConnIdleTime(300 * time.Millisecond),
		options.WithDrainTimeout(100 * time.Millisecond), options.WithAcquireTimeout(10 * time.Second),
	}
	inBubble(t, three, opts, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		for _, n := range c.Nodes() {
			n.Delay(time.Millisecond)
		}
		callers := 500
		if testing.Short() {
			callers = 60
		}
		end := time.Now().Add(time.Second)
		var group sync.WaitGroup
		var ok atomic.Int64
		for i := range callers {
			group.Go(func() {
				for round := 0; time.Now().Before(end); round++ {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+(i*37+round*91)%400)*time.Millisecond)
					var n int
					err := db.QueryRowContext(ctx, fmt.Sprintf("%s + %d", statement, (i+round)%97)).Scan(&n)
					cancel()
					switch {
					case err == nil:
						ok.Add(1)
					case !errors.Is(err, context.DeadlineExceeded):
						t.Errorf("caller %d: %v", i, err)
					}
				}
			})
		}
		for time.Now().Before(end) {
			time.Sleep(1900 * time.Microsecond)
			for _, n := range c.Nodes() {
				if open := userConns(c, n.Name()); open > 5 {
					t.Errorf("%s has %d connections", n.Name(), open)
				}
			}
		}
		group.Wait()
		if ok.Load() == 0 {
			t.Error("no statement succeeded")
		}
		for _, n := range c.Nodes() {
			s := nodeStats(t, conn, n.Name())
			if s.Ejections+s.DialFailures+s.Lost != 0 || s.InUse+s.Dialing != 0 {
				t.Errorf("%s: %+v", n.Name(), s)
			}
		}
	})
}

// pool-self-deadlock: A query inside the rows of another on a node without room ends with an error that says who
// holds what; the topology goes on meanwhile; and when the rows are closed everything proceeds.
func TestSelfDeadlock(t *testing.T) {
	single := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 1}}}
	inBubble(t, single, []options.Option{options.WithMaxConnsPerInstance(2), options.WithAcquireTimeout(20 * time.Second)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		mustExec(t, db, "create table t (id int primary key) distributed by (id)")
		for i := range 5 {
			mustExec(t, db, "insert into t values ($1)", i)
		}
		var open []*sql.Rows
		for range 2 {
			rows, err := db.QueryContext(t.Context(), "select id from t")
			if err != nil {
				t.Fatal(err)
			}
			if !rows.Next() {
				t.Fatal(rows.Err())
			}
			open = append(open, rows)
		}
		before := conn.Stats().Topology.Refreshes
		begun := time.Now()
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				var n int
				err := db.QueryRowContext(context.Background(), statement).Scan(&n)
				var timeout *picodata.AcquireTimeoutError
				if !errors.As(err, &timeout) || time.Since(begun) != 20*time.Second {
					t.Errorf("got %v after %v", err, time.Since(begun))
					return
				}
				if n := timeout.Nodes[0]; n.Name != "i1" || n.Busy != 2 || n.Max != 2 || n.Longest < 20*time.Second {
					t.Errorf("%+v", n)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := db.QueryRowContext(ctx, statement).Scan(new(int)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("a caller with a deadline: %v after %v", err, time.Since(begun))
		}
		group.Wait()
		if after := conn.Stats().Topology.Refreshes; after <= before {
			t.Errorf("the topology wasn't read while the node was full: %d refreshes before, %d after", before, after)
		}
		for range 4 {
			group.Go(func() { one(t, db) })
		}
		synctest.Wait()
		for _, rows := range open {
			rows.Close()
		}
		group.Wait()
	})
}

// cancel-is-not-failover: Contexts that end, wherever that finds the statement, are nobody's fault.
func TestCancelIsNotFailover(t *testing.T) {
	inBubble(t, two, []options.Option{options.WithMaxConnsPerInstance(4)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		mustExec(t, db, "create table t (id int primary key) distributed by (id)")
		for i := range 20 {
			mustExec(t, db, "insert into t values ($1)", i)
		}
		for _, n := range c.Nodes() {
			n.Delay(10 * time.Millisecond)
		}
		refreshes := conn.Stats().Topology.Refreshes
		begun := time.Now()
		var others sync.WaitGroup
		done := make(chan struct{})
		for range 2 {
			others.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						one(t, db)
					}
				}
			})
		}
		inParallel(20, 2000, func(i int) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*7%90)*time.Millisecond)
			defer cancel()
			rows, err := db.QueryContext(ctx, "select id from t where id >= $1", i%5)
			if err == nil {
				for rows.Next() {
					if i%3 == 0 {
						<-ctx.Done()
					}
				}
				err = rows.Err()
				rows.Close()
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: %v", i, err)
			}
		})
		close(done)
		others.Wait()
		for _, n := range conn.Stats().Nodes {
			if n.Ejections+n.DialFailures+n.Lost != 0 {
				t.Errorf("%s is blamed: %+v", n.Name, n)
			}
		}
		normal := uint64(time.Since(begun)/(4*time.Second)) + 2
		if n := conn.Stats().Topology.Refreshes - refreshes; n > normal {
			t.Errorf("%d refreshes in %v", n, time.Since(begun))
		}
	})
}

// ban-refused-not-counted: A closed port is out of rotation after three dials, no statement sees it, and it comes
// back after a probe alone.
func TestRefusedNodeIsEjected(t *testing.T) {
	inBubble(t, two, []options.Option{options.WithEjectionMaxDuration(30 * time.Second)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		one(t, db)
		dead := c.Node("i2")
		dead.Refuse()
		dead.DropConnections()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, n := range c.Nodes() {
			n.Delay(100 * time.Millisecond)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				for ctx.Err() == nil {
					one(t, db)
				}
			})
		}
		group.Wait()
		s := nodeStats(t, conn, "i2")
		// Three or four refused dials, then a probe after 1, 2, 4, 5, 5… seconds.
		if s.DialFailures < 3 || s.DialFailures > 4+3+60/4 || s.Ejections == 0 || !s.Ejected {
			t.Errorf("%+v", s)
		}
		dead.Accept()
		time.Sleep(35 * time.Second)
		if s := nodeStats(t, conn, "i2"); s.Ejected {
			t.Errorf("not back: %+v", s)
		}
		c.ResetCounters()
		for range 100 {
			one(t, db)
		}
		if got := userStatements(c, statement); got["i2"] != 50 {
			t.Errorf("ran %v, want half on i2", got)
		}
	})
}

// dial-budget-multi-target: A node that swallows everything doesn't eat the caller's budget.
func TestBlackHoleDoesntEatTheBudget(t *testing.T) {
	inBubble(t, three, nil, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		one(t, db) // the topology is known
		for _, name := range []string{"i1", "i2"} {
			c.Node(name).DropConnections()
			c.Node(name).LoseDials()
		}
		for range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			begun := time.Now()
			var n int
			if err := db.QueryRowContext(ctx, statement).Scan(&n); err != nil || time.Since(begun) > time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
			cancel()
		}
		for _, name := range []string{"i1", "i2"} {
			if s := nodeStats(t, conn, name); s.Dials > 3 {
				t.Errorf("%s was dialled %d times", name, s.Dials)
			}
		}
	})
}

// NS7: least_busy keeps away from nodes that slow statements hold.
func TestLeastBusyKeepsAway(t *testing.T) {
	five := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 5, ReplicationFactor: 1}}}
	inBubble(t, five, []options.Option{options.WithBalanceStrategy(options.LeastBusy)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, _ *picodata.Connector) {
		hold := c.Hold(picotest.SQL("select 4712"))
		var group sync.WaitGroup
		for _, name := range []string{"i2", "i4"} {
			for range 10 {
				group.Go(func() {
					var n int
					if err := db.QueryRowContext(picodata.ToInstance(t.Context(), name), "select 4712").Scan(&n); err != nil {
						t.Error(err)
					}
				})
			}
		}
		synctest.Wait()
		if held := hold.Held(); held != 20 {
			t.Fatalf("%d held, want 20", held)
		}
		inParallel(4, 1000, func(int) { one(t, db) })
		if got := userStatements(c, statement); got["i2"]+got["i4"] > 20 {
			t.Errorf("ran %v", got)
		}
		hold.ReleaseAll()
		group.Wait()
	})
}

// max_conns for the whole cluster: the servers together never have more.
func TestClusterCap(t *testing.T) {
	inBubble(t, three, []options.Option{options.WithMaxConns(7)}, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		for _, n := range c.Nodes() {
			n.Delay(time.Millisecond)
		}
		for round := range 20 {
			inParallel(30, 300, func(int) { one(t, db) })
			open := 0
			for _, n := range c.Nodes() {
				open += userConns(c, n.Name())
			}
			if open > 7 {
				t.Errorf("round %d: %d connections, max_conns is 7", round, open)
			}
		}
		if s := conn.Stats().Total; s.Max != 7 || s.Open > 7 {
			t.Errorf("%+v", s)
		}
	})
}

// A refused password is tried once and then not for a while, whatever the number of callers; another one that
// the program's function gives is tried at once. Connections that are there go on serving.
func TestRefusedPasswordIsNotSprayed(t *testing.T) {
	var password atomic.Pointer[string]
	set := func(p string) { password.Store(&p) }
	set("First-1-password")
	cfg := two
	cfg.Users = []picotest.User{{Name: "carol", Password: "First-1-password"}}
	opts := []options.Option{options.WithUser("carol"), options.WithPasswordFunc(func(context.Context) (string, error) { return *password.Load(), nil })}
	inBubble(t, cfg, opts, func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		one(t, db)
		if err := c.Exec("alter user carol password 'Second-2-password' using md5"); err != nil {
			t.Fatal(err)
		}
		refused := func() (refused, served int) {
			hold := c.Hold(picotest.SQL(statement))
			var group sync.WaitGroup
			var bad, good atomic.Int64
			for range 20 {
				group.Go(func() {
					var n int
					err := db.QueryRowContext(t.Context(), statement).Scan(&n)
					var auth *picodata.AuthError
					switch {
					case err == nil:
						good.Add(1)
					case errors.As(err, &auth):
						bad.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			hold.ReleaseAll()
			group.Wait()
			return int(bad.Load()), int(good.Load())
		}
		if bad, good := refused(); bad == 0 || good == 0 {
			t.Errorf("%d refused and %d served; connections that are there serve, new ones are refused", bad, good)
		}
		for _, n := range c.Nodes() {
			// Two dials may be under way when the first is refused.
			if failures := n.Counters().LoginFailures; failures > 2 {
				t.Errorf("%s refused %d logins: a server locks the user after four", n.Name(), failures)
			}
		}
		set("Second-2-password")
		if bad, good := refused(); bad != 0 || good != 20 {
			t.Errorf("with the new password %d refused and %d served", bad, good)
		}
	})
}
