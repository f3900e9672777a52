package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// holdAll leases n connections at once and returns them.
func holdAll(t *testing.T, g *Gate, n int) []Lease {
	t.Helper()
	leases := make([]Lease, n)
	var wg sync.WaitGroup
	for i := range leases {
		wg.Go(func() {
			l, err := g.Lease(context.Background(), Request{})
			if err != nil {
				t.Errorf("lease %d: %v", i, err)
				return
			}
			serve(l)
			leases[i] = l
		})
	}
	wg.Wait()
	return leases
}

func releaseAll(leases []Lease) {
	for _, l := range leases {
		l.Release()
	}
}

// OV1 and OV2: overflow takes exactly what the others have no room for, and is left again.
func TestOverflowBurstAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.delay = time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 5), spec("B", 0, 100))
		leases := holdAll(t, g, 20)
		mustHold(t, g)
		if a, b := f.node("A").get(servedOf), f.node("B").get(servedOf); a != 5 || b != 15 {
			t.Fatalf("burst: A %d, B %d; want 5 and 15", a, b)
		}
		s := g.Stats()
		if s.Overflow["saturated"] != 15 {
			t.Errorf("overflow by reason: %v", s.Overflow)
		}
		for _, n := range s.Nodes {
			if want := map[string]int{"A": 10, "B": 0}[n.Name]; n.Weight != want {
				t.Errorf("weight of %s is %d, was configured as %d", n.Name, n.Weight, want)
			}
		}
		releaseAll(leases)
		for range 1000 {
			l := mustLease(t, g, Request{})
			serve(l)
			l.Release()
		}
		if a, b := f.node("A").get(servedOf), f.node("B").get(servedOf); a != 1005 || b != 15 {
			t.Errorf("afterwards: A %d, B %d; want 1005 and 15", a, b)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// OV3: beyond all caps callers queue in order, and one that gives up is forgotten.
func TestQueueOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.AcquireTimeout = 0
		g := testGate(t, f, o, spec("A", 10, 5), spec("B", 0, 7))
		leases := holdAll(t, g, 12)
		before := g.Stats()
		got := make(chan int, 8)
		var wg sync.WaitGroup
		for i := range 8 {
			ctx, cancel := context.Background(), context.CancelFunc(func() {})
			if i == 1 {
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			}
			wg.Go(func() {
				defer cancel()
				begun := time.Now()
				l, err := g.Lease(ctx, Request{})
				if i == 1 {
					if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Millisecond {
						t.Errorf("waiter with a deadline: %v after %v", err, time.Since(begun))
					}
					return
				}
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
					return
				}
				got <- i
				l.Release()
			})
			synctest.Wait()
		}
		if w := g.Stats().Total.Waiters; w != 8 {
			t.Errorf("%d waiting, want 8", w)
		}
		time.Sleep(150 * time.Millisecond) // virtual: the deadline of the second waiter passes
		synctest.Wait()
		if w := g.Stats().Total.Waiters; w != 7 {
			t.Errorf("%d waiting, want 7", w)
		}
		mustHold(t, g)
		for _, l := range leases {
			if l.Node().Name == "A" {
				l.Release()
				break
			}
		}
		wg.Wait()
		close(got)
		want := []int{0, 2, 3, 4, 5, 6, 7}
		for i := range got {
			if i != want[0] {
				t.Fatalf("waiter %d came before %d", i, want[0])
			}
			want = want[1:]
		}
		// All waited for A: seven of them for 150 ms; B has its share of the burst to show, as overflow.
		after := g.Stats()
		a, b := stat(t, after, "A"), stat(t, after, "B")
		waits, waited := a.Waits-stat(t, before, "A").Waits, a.WaitTime-stat(t, before, "A").WaitTime
		if waits != 7 || waited != 7*150*time.Millisecond || b.Waits != stat(t, before, "B").Waits {
			t.Errorf("A: %d waits, %v; B: %d waits", waits, waited, b.Waits)
		}
		if after.Total.Waits != a.Waits+b.Waits || after.Total.WaitTime != a.WaitTime+b.WaitTime {
			t.Errorf("in all %d waits, %v", after.Total.Waits, after.Total.WaitTime)
		}
		if a.Overflow != nil || b.Overflow["saturated"] != 7 || after.Total.Overflow["saturated"] != 7 {
			t.Errorf("overflow: A %v, B %v, in all %v", a.Overflow, b.Overflow, after.Total.Overflow)
		}
		for _, l := range leases {
			l.Release()
		}
		quiesce(t, g, f)
	})
}

func stat(t *testing.T, s Stats, name string) NodeStats {
	t.Helper()
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no statistics of %s", name)
	return NodeStats{}
}

// run has workers run statements until n have been leased in all.
func run(t *testing.T, g *Gate, workers, n int, req Request, during time.Duration) {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				l, err := g.Lease(context.Background(), req)
				if err != nil {
					t.Errorf("lease: %v", err)
					return
				}
				serve(l)
				if during > 0 {
					time.Sleep(during)
				}
				l.Release()
			}
		})
	}
	wg.Wait()
}

// The burst as a steady load: overflow connections are kept while they are needed, so hardly anything is dialled.
func TestOverflowSustainedDialsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.delay = 5 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 5), spec("B", 0, 100))
		run(t, g, 20, 1000, Request{}, 20*time.Millisecond)
		if d := f.node("A").get(dialsOf) + f.node("B").get(dialsOf); d > 25 {
			t.Errorf("%d dials, want at most 25", d)
		}
		if most := f.node("A").get(mostOf); most != 5 {
			t.Errorf("A had %d connections, its cap is 5", most)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Overflow connections end after overflow_idle_time, others stay.
func TestOverflowIdlesShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 5), spec("B", 0, 100))
		releaseAll(holdAll(t, g, 20))
		time.Sleep(4900 * time.Millisecond)
		synctest.Wait()
		if n := f.node("B").get(openOf); n != 15 {
			t.Errorf("B has %d connections before its idle time, want 15", n)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 5 || b != 0 {
			t.Errorf("A has %d and B %d connections, want 5 and 0", a, b)
		}
		quiesce(t, g, f)
	})
}

// OV5: weights share out what fits, and overflow sees nothing of it.
func TestOverflowStaysOutWhileOthersSuffice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		g := testGate(t, f, nil, spec("A", 10, 100), spec("B", 0, 100), spec("C", 5, 100))
		run(t, g, 8, 15_000, Request{}, time.Millisecond)
		a, b, c := f.node("A").get(servedOf), f.node("B").get(servedOf), f.node("C").get(servedOf)
		if a < 9_990 || a > 10_010 || c < 4_990 || c > 5_010 || b != 0 {
			t.Errorf("A %d, B %d, C %d; want 10000, 0, 5000", a, b, c)
		}
		quiesce(t, g, f)
	})
}

// OV7: what overflow does when the others can't be reached.
func TestOverflowWhenOthersAreDown(t *testing.T) {
	for _, overflow := range []options.Overflow{options.OverflowAny, options.OverflowSaturated, options.OverflowOff} {
		t.Run(overflow.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet("A", "B")
				f.node("A").err = errRefused
				o := options.New()
				o.Overflow = overflow
				g := testGate(t, f, o, spec("A", 10, 5), spec("B", 0, 100))
				for i := range 10 {
					l, err := g.Lease(context.Background(), Request{})
					if overflow == options.OverflowAny {
						if err != nil || l.Node().Name != "B" {
							t.Fatalf("request %d: %v, %v; want B", i, l.Node(), err)
						}
						l.Release()
						continue
					}
					var dial *DialError
					if !errors.As(err, &dial) || len(dial.Nodes) != 1 || dial.Nodes[0].Node != "A" || !errors.Is(err, errRefused) {
						t.Fatalf("request %d: %v; want a DialError that names A", i, err)
					}
				}
				s := g.Stats()
				if overflow == options.OverflowAny && s.Overflow["unavailable"] != 10 {
					t.Errorf("overflow by reason: %v", s.Overflow)
				}
				if n := f.node("B").get(dialsOf); (n > 0) != (overflow == options.OverflowAny) {
					t.Errorf("B was dialled %d times", n)
				}
				if d := f.node("A").get(dialsOf); overflow == options.OverflowAny && d != 3 {
					t.Errorf("A was dialled %d times, want 3 and then none until its ejection ends", d)
				}
				mustHold(t, g)
				quiesce(t, g, f)
			})
		})
	}
}

// overflow=saturated uses weight 0 while the others live and are full, and not when they are ejected.
func TestOverflowSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.Overflow = options.OverflowSaturated
		g := testGate(t, f, o, spec("A", 10, 2), spec("B", 0, 100))
		leases := holdAll(t, g, 5)
		if b := f.node("B").get(openOf); b != 3 {
			t.Errorf("B has %d connections, want 3", b)
		}
		releaseAll(leases)
		quiesce(t, g, f)
	})
}

// OV8: a node that flaps costs no statement, and is used again soon after each return.
func TestOverflowWhileAFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 20), spec("B", 0, 100))
		a := f.node("A")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
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
					time.Sleep(10 * time.Millisecond)
					c := l.Conn().(*fakeConn)
					if broken := c.node.get(func(n *fakeNode) int {
						if n.err != nil {
							return 1
						}
						return 0
					}); broken == 1 {
						l.Discard(Lost)
						continue
					}
					serve(l)
					l.Release()
				}
			})
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			a.set(func(n *fakeNode) { n.err = errRefused })
			time.Sleep(2 * time.Second)
			a.set(func(n *fakeNode) { n.err = nil })
			was := a.get(servedOf)
			// The longest ejection that has come about by then, and the probe.
			end := time.Now().Add(30 * time.Second)
			for a.get(servedOf) == was && time.Now().Before(end) {
				time.Sleep(100 * time.Millisecond)
			}
			if s := a.get(servedOf); s == was {
				t.Error("A isn't used again after it came back")
			}
			for _, n := range g.Stats().Nodes {
				if want := map[string]int{"A": 10, "B": 0}[n.Name]; n.Weight != want {
					t.Errorf("weight of %s is %d", n.Name, n.Weight)
				}
			}
		}
		close(stop)
		wg.Wait()
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// OV11: a role that only the overflow node has is served by it.
func TestOverflowOnlyMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		b := spec("B", 0, 100)
		b.Role = metadata.RoleReplica
		g := testGate(t, f, nil, spec("A", 10, 5), b)
		run(t, g, 2, 100, Request{Role: options.RoleReplica, Strict: true}, 0)
		if n := f.node("B").get(servedOf); n != 100 {
			t.Errorf("B served %d of 100", n)
		}
		quiesce(t, g, f)
	})
}

// OV13: a server without room isn't dead: what it has keeps serving, new connections go elsewhere for a while.
func TestCapacityErrorIsNotDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("A").limit = 3
		g := testGate(t, f, nil, spec("A", 10, 10), spec("B", 0, 100))
		leases := holdAll(t, g, 20)
		if a, b := f.node("A").get(openOf), f.node("B").get(openOf); a != 3 || b != 17 {
			t.Errorf("A %d, B %d; want 3 and 17", a, b)
		}
		s := g.Stats()
		if s.Total.Ejections != 0 || s.Nodes[0].Ejected || s.Overflow["saturated"] != 17 {
			t.Errorf("ejections %d, overflow %v; a full node is saturated, not dead", s.Total.Ejections, s.Overflow)
		}
		if d := f.node("A").get(dialsOf); d > 3+dialsPerNode {
			t.Errorf("A was dialled %d times while it was full", d)
		}
		releaseAll(leases)
		served := f.node("A").get(servedOf)
		run(t, g, 1, 50, Request{}, 0)
		if n := f.node("A").get(servedOf) - served; n != 50 {
			t.Errorf("A served %d of 50 after the burst", n)
		}
		// Once there is room again and the backoff is over, it gets new connections.
		f.node("A").set(func(n *fakeNode) { n.limit = 0 })
		time.Sleep(fullMax)
		leases = holdAll(t, g, 10)
		if a := f.node("A").get(openOf); a != 10 {
			t.Errorf("A has %d connections, want 10", a)
		}
		releaseAll(leases)
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// However often a server says that it has no room, it isn't ejected, and it isn't asked all the time.
func TestCapacityErrorsNeverEject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		f.node("A").limit = 1
		o := options.New()
		o.AcquireTimeout = 8 * time.Second
		g := testGate(t, f, o, spec("A", 10, 0))
		l := mustLease(t, g, Request{})
		for _, err := range errsOf(g, 10, Request{}) {
			var timeout *AcquireTimeoutError
			if !errors.As(err, &timeout) || timeout.Nodes[0].State != "full" {
				t.Errorf("got %v", err)
			}
		}
		n := g.Stats().Nodes[0]
		if n.Ejections+n.DialFailures != 0 {
			t.Errorf("blamed: %+v", n)
		}
		if d := f.node("A").get(dialsOf); d < 5 || d > 15 {
			t.Errorf("%d dials in 8 s, want one after 0.2, 0.4, 0.8, 1.6, 3.2 s, or two", d)
		}
		l.Release()
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// With weight 0 everywhere the nodes are one flat pool.
func TestOverflowAllZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 0, 0), spec("B", 0, 0))
		run(t, g, 1, 100, Request{}, 0)
		if a, b := f.node("A").get(servedOf), f.node("B").get(servedOf); a != 50 || b != 50 {
			t.Errorf("A %d, B %d; want 50 each", a, b)
		}
		quiesce(t, g, f)
	})
}

// Priorities are overflow in more steps: each is used when the higher ones are full.
func TestPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		a, b := spec("A", 10, 2), spec("B", 10, 3)
		a.Priority, b.Priority = 2, 1
		g := testGate(t, f, nil, spec("C", 0, 0), b, a)
		leases := holdAll(t, g, 9)
		for name, want := range map[string]int{"A": 2, "B": 3, "C": 4} {
			if n := f.node(name).get(openOf); n != want {
				t.Errorf("%s has %d, want %d", name, n, want)
			}
		}
		s := g.Stats()
		if s.Overflow["priority_saturated"] != 3 || s.Overflow["saturated"] != 4 {
			t.Errorf("overflow by reason: %v", s.Overflow)
		}
		releaseAll(leases)
		run(t, g, 1, 10, Request{}, 0)
		if n := f.node("A").get(servedOf); n != 12 {
			t.Errorf("A served %d, want 12", n)
		}
		quiesce(t, g, f)
	})
}

// A request for one replicaset looks past weights, and not past caps.
func TestRoutingLooksPastWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.AcquireTimeout = time.Second
		g := testGate(t, f, o, spec("A", 10, 5), spec("B", 0, 2))
		req := Request{Replicaset: "rs-B", Strict: true}
		one, two := mustLease(t, g, req), mustLease(t, g, req)
		var timeout *AcquireTimeoutError
		if _, err := g.Lease(context.Background(), req); !errors.As(err, &timeout) {
			t.Errorf("beyond the cap: %v", err)
		}
		// Not strict: another node does.
		req.Strict = false
		l := mustLease(t, g, req)
		if l.Node().Name != "A" {
			t.Errorf("a preference that can't be met gave %s", l.Node().Name)
		}
		for _, l := range []Lease{one, two, l} {
			l.Release()
		}
		quiesce(t, g, f)
	})
}
