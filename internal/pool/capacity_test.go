package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// lifo-idle-skew: connections that lie idle on one node don't draw the statements there.
func TestNoSkewByIdleConnections(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet("A", "B", "C")
				g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0))
				releaseAll(holdAll(t, g, 9))
				for _, n := range f.nodes {
					n.served = 0
				}
				run(t, g, workers, 1200, Request{}, time.Millisecond)
				for name, n := range f.nodes {
					if s := n.get(servedOf); s < 396 || s > 404 {
						t.Errorf("%s served %d of 1200", name, s)
					}
					if d := n.get(dialsOf); d > 3+workers {
						t.Errorf("%s was dialled %d times", name, d)
					}
				}
				quiesce(t, g, f)
			})
		})
	}
}

// Statements on a busy node don't hold up others: least_busy leaves it alone (NS7).
func TestLeastBusyAvoidsHeldNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet()
		o := options.New()
		o.BalanceStrategy = options.LeastBusy
		var specs []NodeSpec
		for i := range 5 {
			specs = append(specs, spec(fmt.Sprintf("n%d", i), 10, 0))
		}
		g := testGate(t, f, o, specs...)
		var held []Lease
		for range 10 {
			held = append(held, mustLease(t, g, Request{Node: "n0", Strict: true}), mustLease(t, g, Request{Node: "n3", Strict: true}))
		}
		run(t, g, 4, 1000, Request{}, time.Millisecond)
		if on := f.node("n0").get(servedOf) + f.node("n3").get(servedOf); on > 20 {
			t.Errorf("%d of 1000 went to the nodes that hold ten slow statements each", on)
		}
		releaseAll(held)
		quiesce(t, g, f)
	})
}

// slowClose makes closing take its time, so that a cap that forgets closing connections is exceeded.
type slowClose struct {
	*fakeConn
	d time.Duration
}

func (c slowClose) Close() error {
	time.Sleep(c.d)
	return c.fakeConn.Close()
}

// cap-exceeded-by-idle: idle, busy, dialling and closing connections all count, whatever goes on.
func TestCapHoldsAtEveryMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		f := newNet()
		f.delay = 3 * time.Millisecond
		o := options.New()
		o.MaxConnLifetime = time.Second
		o.MaxConnIdleTime = 20 * time.Millisecond
		o.DrainTimeout = 50 * time.Millisecond
		g := New(Config{Options: o, Classify: classify, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			c, err := f.dial(ctx, n)
			if err != nil {
				return nil, err
			}
			return slowClose{c.(*fakeConn), 7 * time.Millisecond}, nil
		}})
		all := []NodeSpec{spec("n0", 10, 5), spec("n1", 10, 5), spec("n2", 10, 5), spec("n3", 0, 5)}
		g.Apply(all)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		callers := 500
		if testing.Short() {
			callers = 100
		}
		var wg sync.WaitGroup
		for i := range callers {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() {
				for ctx.Err() == nil {
					short, done := context.WithTimeout(ctx, time.Duration(1+rnd.IntN(200))*time.Millisecond)
					l, err := g.Lease(short, Request{})
					if err == nil {
						time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
						switch rnd.IntN(20) {
						case 0:
							l.Discard(Given) // as a statement cache that doesn't match would
						case 1:
							c := l.Conn().(slowClose)
							f.mu.Lock()
							c.broken = true
							f.mu.Unlock()
							l.Release()
						default:
							l.Release()
						}
					}
					done()
				}
			})
		}
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1<<20))
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
				g.Apply(all[rnd.IntN(2) : 2+rnd.IntN(3)])
				if err := g.check(); err != nil {
					t.Errorf("law broken: %v", err)
				}
			}
		})
		wg.Wait()
		for name, n := range f.nodes {
			if most := n.get(mostOf); most > 5 {
				t.Errorf("%s had %d connections, its cap is 5", name, most)
			}
		}
		time.Sleep(time.Second)
		if s := g.Stats().Total; s.InUse+s.Dialing+s.Draining+s.Waiters != 0 {
			t.Errorf("afterwards: %+v", s)
		}
		mustHold(t, g)
		_ = g.Close()
		synctest.Wait()
	})
}

// max_conns bounds the cluster, and a request that only an idle connection elsewhere keeps from its node has it closed.
func TestClusterCapStealsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.MaxConns = 6
		o.AcquireTimeout = time.Second
		g := testGate(t, f, o, spec("A", 10, 0), spec("B", 10, 0))
		a, b := Request{Node: "A", Strict: true}, Request{Node: "B", Strict: true}
		var onA, onB []Lease
		for range 3 {
			onA, onB = append(onA, mustLease(t, g, a)), append(onB, mustLease(t, g, b))
		}
		var timeout *AcquireTimeoutError
		if _, err := g.Lease(context.Background(), b); !errors.As(err, &timeout) || timeout.Max != 6 || timeout.Open != 6 {
			t.Fatalf("all six are in use, and: %v", err)
		}
		mustHold(t, g)
		releaseAll(onA) // idle, at A's share
		onB = append(onB, mustLease(t, g, b))
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 2 || b != 4 {
			t.Errorf("A %d, B %d; want 2 and 4", a, b)
		}
		// Two at once take two, not more.
		more := make(chan Lease, 2)
		for range 2 {
			go func() {
				l, err := g.Lease(context.Background(), b)
				if err != nil {
					t.Errorf("lease: %v", err)
				}
				more <- l
			}()
		}
		onB = append(onB, <-more, <-more)
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 0 || b != 6 {
			t.Errorf("A %d, B %d; want 0 and 6", a, b)
		}
		mustHold(t, g)
		releaseAll(onB)
		quiesce(t, g, f)
	})
}

// One waiter has one connection closed for it, however long closing takes and whatever happens meanwhile.
func TestClusterCapStealsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.MaxConns = 6
		g := New(Config{Options: o, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			c, err := f.dial(ctx, n)
			if err != nil {
				return nil, err
			}
			return slowClose{c.(*fakeConn), 100 * time.Millisecond}, nil
		}})
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		a, b := Request{Node: "A", Strict: true}, Request{Node: "B", Strict: true}
		var onA, onB []Lease
		for range 3 {
			onA, onB = append(onA, mustLease(t, g, a)), append(onB, mustLease(t, g, b))
		}
		releaseAll(onA)
		got := make(chan Lease)
		go func() { got <- mustLease(t, g, b) }()
		for range 9 {
			time.Sleep(10 * time.Millisecond)
			g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)}) // has the waiters looked at again
		}
		onB = append(onB, <-got)
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 2 || b != 4 {
			t.Errorf("A %d, B %d; want 2 and 4", a, b)
		}
		mustHold(t, g)
		releaseAll(onB)
		_ = g.Close()
		synctest.Wait()
	})
}

// When a node joins and the policy would send it statements, it gets its share of the connections, as its slow start
// goes on, and the cap holds all the time.
func TestClusterCapSharesAnew(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet()
				f.delay = time.Millisecond
				o := options.New()
				o.MaxConns = 12
				specs := []NodeSpec{spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0)}
				g := testGate(t, f, o, specs[:2]...)
				workers := 4
				if busy {
					workers = 30
				}
				releaseAll(holdAll(t, g, 12))
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							l, err := g.Lease(context.Background(), Request{})
							if err != nil {
								t.Errorf("lease: %v", err)
								return
							}
							serve(l)
							time.Sleep(5 * time.Millisecond)
							l.Release()
						}
					})
				}
				time.Sleep(100 * time.Millisecond)
				g.Apply(specs)
				for range 1300 {
					time.Sleep(10 * time.Millisecond)
					mustHold(t, g)
				}
				close(stop)
				wg.Wait()
				total := 0
				for name, n := range f.nodes {
					open := n.get(openOf)
					total += open
					if busy && (open < 3 || open > 5) || open < 2 {
						t.Errorf("%s has %d connections of %d", name, open, g.total)
					}
				}
				if total > 12 {
					t.Errorf("%d connections, max_conns is 12", total)
				}
				if s := g.Stats().Total; s.ClosedBy["rebalance"] > 6 {
					t.Errorf("%d connections moved, 4 were needed", s.ClosedBy["rebalance"])
				}
				quiesce(t, g, f)
			})
		})
	}
}

// max_conns below the number of nodes means one each, said once.
func TestClusterCapBelowNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet()
		o := options.New()
		o.MaxConns = 2
		var specs []NodeSpec
		for i := range 5 {
			specs = append(specs, spec(fmt.Sprintf("n%d", i), 10, 0))
		}
		raised := 0
		g := New(Config{Dial: f.dial, Options: o, OnEvent: func(e Event) {
			if e.Kind == CapRaised {
				raised++
				if e.Max != 5 {
					t.Errorf("raised to %d, want 5", e.Max)
				}
			}
		}})
		g.Apply(specs)
		g.Apply(specs)
		leases := holdAll(t, g, 5)
		for name, n := range f.nodes {
			if open := n.get(openOf); open != 1 {
				t.Errorf("%s has %d connections, want 1", name, open)
			}
		}
		if raised != 1 || g.Stats().Total.Max != 5 {
			t.Errorf("said %d times, cap %d", raised, g.Stats().Total.Max)
		}
		releaseAll(leases)
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Before the first Apply callers wait for the nodes.
func TestLeaseBeforeTheFirstApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := New(Config{Dial: f.dial, Options: options.New()})
		time.AfterFunc(time.Second, func() { g.Apply([]NodeSpec{spec("A", 10, 0)}) })
		begun := time.Now()
		mustLease(t, g, Request{}).Release()
		if time.Since(begun) != time.Second {
			t.Errorf("after %v", time.Since(begun))
		}
		quiesce(t, g, f)
	})
}

// A retry prefers a node that wasn't tried, and takes that one if there is no other.
func TestAvoid(t *testing.T) {
	for _, strategy := range []options.BalanceStrategy{options.RoundRobin, options.LeastBusy} {
		synctest.Test(t, func(t *testing.T) {
			f := newNet("A", "B")
			o := options.New()
			o.BalanceStrategy = strategy
			g := testGate(t, f, o, spec("A", 1000, 0), spec("B", 1, 0))
			for range 50 {
				l := mustLease(t, g, Request{Avoid: [4]string{"A"}})
				if l.Node().Name != "B" {
					t.Fatalf("%v: got %s", strategy, l.Node().Name)
				}
				l.Release()
			}
			mustLease(t, g, Request{Avoid: [4]string{"A", "B"}}).Release()
			mustHold(t, g)
			quiesce(t, g, f)
		})
	}
}

// prefer_zones: the near ones first, the far ones when those can't.
func TestPreferZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.PreferZones = []string{"DC=m1"}
		a, b := spec("A", 10, 0), spec("B", 10, 3)
		b.Zone = map[string]string{"DC": "M1"}
		g := testGate(t, f, o, a, b)
		leases := holdAll(t, g, 5)
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 2 || b != 3 {
			t.Errorf("A %d, B %d; want 2 and 3", a, b)
		}
		releaseAll(leases)
		quiesce(t, g, f)
	})
}

// userBalancer does what it is told.
type userBalancer func([]options.Candidate) int

func (u userBalancer) Pick(c []options.Candidate, _ uint64) int { return u(c) }

// A strategy of the user's sees true numbers, and one that misbehaves takes nothing down.
func TestUserBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		mode := 0
		o.Balancer = userBalancer(func(c []options.Candidate) int {
			switch mode {
			case 1:
				panic("no")
			case 2:
				return 99
			}
			for i := range c {
				if c[i].Name == "B" {
					if c[i].Weight != 7 || c[i].InFlight != 2 || c[i].Idle != 1 || !c[i].Leader || c[i].Tier != "default" || c[i].Address != "B" {
						t.Errorf("candidate %+v", c[i])
					}
					return i
				}
			}
			return 0
		})
		failed := 0
		g := New(Config{Dial: f.dial, Options: o, OnEvent: func(e Event) {
			if e.Kind == BalancerFailed {
				failed++
			}
		}})
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 7, 0)})
		b := Request{Node: "B", Strict: true}
		mode = 2 // a single candidate: whatever it says
		one, two, three := mustLease(t, g, b), mustLease(t, g, b), mustLease(t, g, b)
		three.Release()
		failed, mode = 0, 0
		mustLease(t, g, Request{}).Release()
		for mode = 1; mode <= 2; mode++ {
			mustLease(t, g, Request{}).Release()
		}
		if failed != 2 {
			t.Errorf("%d failures reported, want 2", failed)
		}
		one.Release()
		two.Release()
		quiesce(t, g, f)
	})
}
