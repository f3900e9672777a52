package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// OV1, OV2, overflow-after-burst: A burst goes over exactly as far as it must, and then everything is as before.
func TestOverflowAfterBurst(t *testing.T) {
	inBubble(t, two, capped(100), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		free := holdStatements(t, c, db, 20)
		if a, b := userConns(c, "i1"), userConns(c, "i2"); a != 5 || b != 15 {
			t.Errorf("burst: i1 %d, i2 %d; want 5 and 15", a, b)
		}
		s := conn.Stats()
		if s.Total.InUse != 20 || s.Total.Waiters != 0 || s.Overflow["saturated"] != 15 {
			t.Errorf("burst: %d in use, %d waiting, overflow %v", s.Total.InUse, s.Total.Waiters, s.Overflow)
		}
		for name, want := range map[string]int{"i1": 10, "i2": 0} {
			if w := nodeStats(t, conn, name).Weight; w != want {
				t.Errorf("weight of %s is %d, was configured as %d", name, w, want)
			}
		}
		free()
		if got := userStatements(c, statement); got["i1"] != 5 || got["i2"] != 15 {
			t.Errorf("burst: ran %v", got)
		}
		c.ResetCounters()
		for range 1000 {
			one(t, db)
		}
		if got := userStatements(c, statement); got["i1"] != 1000 || got["i2"] != 0 {
			t.Errorf("afterwards: ran %v, want all on i1", got)
		}
	})
}

// overflow-after-burst: Under a steady load hardly anything is dialled.
func TestOverflowSustained(t *testing.T) {
	inBubble(t, two, capped(100), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		for _, n := range c.Nodes() {
			n.Delay(time.Millisecond)
		}
		inParallel(20, 1000, func(int) { one(t, db) })
		s := conn.Stats().Total
		t.Logf("%d dials, ran %v", s.Dials, userStatements(c, statement))
		if s.Dials > 25 {
			t.Errorf("%d dials for 1000 statements, want at most 25", s.Dials)
		}
		c.ResetCounters()
		for range 1000 {
			one(t, db)
		}
		if got := userStatements(c, statement); got["i1"] != 1000 {
			t.Errorf("afterwards: ran %v, want all on i1", got)
		}
	})
}

// OV3: Beyond all caps there is one queue; the oldest is served first, and who gives up is forgotten.
func TestQueueBeyondAllCaps(t *testing.T) {
	inBubble(t, two, capped(7, options.WithAcquireTimeout(0)), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		hold := c.Hold(picotest.SQL(statement))
		var group sync.WaitGroup
		ask := func(ctx context.Context, i int) {
			group.Go(func() {
				var n int
				begun := time.Now()
				err := db.QueryRowContext(ctx, fmt.Sprintf("%s + %d", statement, i)).Scan(&n)
				if i == 13 {
					if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Millisecond {
						t.Errorf("the waiter with a deadline: %v after %v", err, time.Since(begun))
					}
					return
				}
				if err != nil {
					t.Errorf("statement %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		for i := range 20 {
			ctx := t.Context()
			if i == 13 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			ask(ctx, i)
		}
		if a, b, w := userConns(c, "i1"), userConns(c, "i2"), conn.Stats().Total.Waiters; a != 5 || b != 7 || w != 8 {
			t.Errorf("i1 %d, i2 %d, %d waiting; want 5, 7, 8", a, b, w)
		}
		time.Sleep(200 * time.Millisecond) // virtual: the deadline of the second waiter passes
		synctest.Wait()
		if w := conn.Stats().Total.Waiters; w != 7 {
			t.Errorf("%d waiting after one gave up, want 7", w)
		}
		for admitted := 13; admitted <= 15; admitted++ {
			hold.Release(1)
			synctest.Wait()
			if ever := hold.Ever(); ever != admitted {
				t.Errorf("%d statements have reached a server, want %d", ever, admitted)
			}
		}
		hold.ReleaseAll()
		group.Wait()
		ran := map[int]bool{}
		for _, s := range c.Statements(picotest.SQL(statement)) {
			var i int
			if _, err := fmt.Sscanf(s.SQL, statement+" + %d", &i); err == nil {
				ran[i] = true
			}
		}
		if len(ran) != 19 || ran[13] {
			t.Errorf("ran %v, want all but the one that gave up", ran)
		}
	})
}

// OV5: Weights share out exactly, and overflow sees nothing of it.
func TestWeightsShareExactly(t *testing.T) {
	opts := []options.Option{options.WithNodeWeights(
		options.NodeRule{Selector: "i1", Value: 10}, options.NodeRule{Selector: "i2", Value: 0}, options.NodeRule{Selector: "i3", Value: 5})}
	inBubble(t, three, opts, func(t *testing.T, c *picotest.Cluster, db *sql.DB, _ *picodata.Connector) {
		n := 6_000
		if testing.Short() {
			n = 3_000
		}
		inParallel(8, n, func(int) { one(t, db) })
		got := map[string]int{}
		for _, node := range c.Nodes() {
			got[node.Name()] = node.Counters().Received["P"] + node.Counters().Received["Q"]
		}
		if a, b := got["i1"], got["i3"]; a < n*2/3-300 || a > n*2/3+300 || b < n/3-300 || b > n/3+300 {
			t.Errorf("ran %v of %d, want two thirds and one third", got, n)
		}
		if ran := userStatements(c, statement)["i2"]; ran != 0 {
			t.Errorf("i2 of weight 0 ran %d", ran)
		}
	})
}

// OV7: What overflow does when the others refuse connections.
func TestOverflowWhenOthersRefuse(t *testing.T) {
	for _, overflow := range []options.Overflow{options.OverflowAny, options.OverflowSaturated, options.OverflowOff} {
		t.Run(overflow.String(), func(t *testing.T) {
			inBubble(t, two, capped(100, options.WithOverflow(overflow), options.WithAcquireTimeout(time.Second)), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
				c.Node("i1").Refuse()
				for range 20 {
					var n int
					err := db.QueryRowContext(t.Context(), statement).Scan(&n)
					if overflow == options.OverflowAny {
						if err != nil {
							t.Error(err)
						}
						continue
					}
					var dial *picodata.DialError
					if !errors.As(err, &dial) || !strings.Contains(err.Error(), "i1") || strings.Contains(err.Error(), "i2") {
						t.Errorf("got %v, want a DialError that names i1 alone", err)
					}
				}
				s := conn.Stats()
				if overflow == options.OverflowAny && s.Overflow["unavailable"] != 20 {
					t.Errorf("overflow by reason: %v", s.Overflow)
				}
				if overflow != options.OverflowAny && userConns(c, "i2") != 0 {
					t.Error("i2 was used")
				}
			})
		})
	}
}

// OV8: A node that flaps costs no statement, and gets its share again soon after each return.
func TestOverflowWhileANodeFlaps(t *testing.T) {
	inBubble(t, two, capped(100), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		for _, n := range c.Nodes() {
			n.Delay(25 * time.Millisecond)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for ctx.Err() == nil {
					one(t, db)
				}
			})
		}
		a := c.Node("i1")
		for flap := range 5 {
			time.Sleep(2 * time.Second)
			if got := userStatements(c, statement); flap > 0 && got["i2"] > got["i1"]/20 {
				t.Errorf("flap %d: i1 is back and has room, but of the statements %v ran", flap, got)
			}
			a.Refuse()
			a.DropConnections()
			time.Sleep(2 * time.Second)
			a.Accept()
			back := time.Now()
			limit := min(2*time.Second<<flap, 6*time.Second) // the ejection doubles while the node keeps failing, to 5 s ± 10 %
			for was := len(c.Statements(picotest.SQL(statement), onNode("i1"))); len(c.Statements(picotest.SQL(statement), onNode("i1"))) == was; {
				if time.Since(back) > limit {
					t.Errorf("flap %d: not used again %v after it came back", flap, limit)
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			for name, want := range map[string]int{"i1": 10, "i2": 0} {
				if w := nodeStats(t, conn, name).Weight; w != want {
					t.Errorf("weight of %s is %d", name, w)
				}
			}
			c.ResetCounters()
		}
		cancel()
		group.Wait()
	})
}

// onNode matches what a node ran.
func onNode(name string) picotest.Match {
	return func(s *picotest.Statement) bool { return s.Node == name }
}

// OV11: A role that only the node of weight 0 has is served by it.
func TestOverflowNodeIsTheOnlyMatch(t *testing.T) {
	cfg := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 2}}}
	inBubble(t, cfg, capped(100, options.WithInstanceRole(options.RoleReplica), options.WithReadPreference(options.ReadPreferenceAny)),
		func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
			if !c.Node("i1").IsLeader() {
				t.Fatal("i1 doesn't lead")
			}
			for range 50 {
				one(t, db)
			}
			if got := userStatements(c, statement); got["i2"] != 50 {
				t.Errorf("ran %v, want all on i2", got)
			}
		})
}

// OV13, capacity-error-is-not-death: A server that has no room for more isn't dead.
func TestCapacityErrorIsNotDeath(t *testing.T) {
	inBubble(t, two, capped(100), func(t *testing.T, c *picotest.Cluster, db *sql.DB, conn *picodata.Connector) {
		one(t, db)
		time.Sleep(2 * time.Second) // connections that only asked who is there are closed by now
		synctest.Wait()
		a := c.Node("i1")
		a.LimitConnections(len(a.Conns()) + 1) // two of the user's
		free := holdStatements(t, c, db, 20)
		if x, y := userConns(c, "i1"), userConns(c, "i2"); x != 2 || y != 18 {
			t.Errorf("i1 %d, i2 %d; want 2 and 18", x, y)
		}
		s := nodeStats(t, conn, "i1")
		if s.Ejected || s.Ejections+s.DialFailures != 0 || conn.Stats().Overflow["saturated"] != 18 {
			t.Errorf("a full node isn't a dead one: %+v, overflow %v", s, conn.Stats().Overflow)
		}
		if refused := a.Counters().Refused; refused > 2 {
			t.Errorf("%d connections were refused while it was full", refused)
		}
		free()
		c.ResetCounters()
		for range 100 {
			one(t, db)
		}
		if got := userStatements(c, statement); got["i1"] != 100 {
			t.Errorf("afterwards: ran %v, want all on i1", got)
		}
		a.LimitConnections(-1)
		time.Sleep(15 * time.Second)
		free = holdStatements(t, c, db, 20)
		if x := userConns(c, "i1"); x != 5 {
			t.Errorf("i1 has %d connections when there is room again, want 5", x)
		}
		free()
	})
}
