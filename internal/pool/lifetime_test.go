package pool

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// herd-lifetime: connections born together end apart, and nobody waits for their successors.
func TestLifetimesDontHerd(t *testing.T) {
	for _, full := range []bool{false, true} {
		name := "room"
		if full {
			name = "full"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet("A")
				f.delay = 5 * time.Millisecond
				o := options.New()
				o.MaxConnLifetime = 10 * time.Second
				var mu sync.Mutex
				closed := map[int]int{} // by second
				begun := time.Now()
				g := New(Config{Dial: f.dial, Options: o, OnEvent: func(e Event) {
					if e.Kind == ConnClosed && e.Reason == "lifetime" {
						mu.Lock()
						closed[int(time.Since(begun)/time.Second)]++
						mu.Unlock()
					}
				}})
				limit := 0
				if full {
					limit = 60
				}
				g.Apply([]NodeSpec{spec("A", 10, limit)})
				workers := 60
				if full {
					workers = 55
				}
				releaseAll(holdAll(t, g, 60))
				stop := make(chan struct{})
				var wg sync.WaitGroup
				slow := 0
				for range workers {
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							asked := time.Now()
							l, err := g.Lease(context.Background(), Request{})
							if err != nil {
								t.Errorf("lease: %v", err)
								return
							}
							if time.Since(asked) > 0 {
								mu.Lock()
								slow++
								mu.Unlock()
							}
							time.Sleep(20 * time.Millisecond)
							l.Release()
						}
					})
				}
				time.Sleep(time.Minute)
				close(stop)
				wg.Wait()
				total := 0
				for second, n := range closed {
					total += n
					if second < 8 {
						t.Errorf("%d ended in second %d", n, second)
					}
					if n > 15 {
						t.Errorf("%d of 60 ended in second %d", n, second)
					}
				}
				if total < 150 || total > 400 {
					t.Errorf("%d connections ended in six lifetimes of sixty connections", total)
				}
				if slow > 300 { // of 180,000
					t.Errorf("%d leases waited", slow)
				}
				if most := f.node("A").get(mostOf); full && most > 60 {
					t.Errorf("%d connections, the cap is 60", most)
				}
				mustHold(t, g)
				quiesce(t, g, f)
			})
		})
	}
}

// The end of a lifetime is drawn once, at birth, within ±10 %.
func TestLifetimeIsDrawnAtBirth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		o := options.New()
		o.MaxConnLifetime = time.Hour
		g := testGate(t, f, o, spec("A", 10, 0))
		leases := holdAll(t, g, 200)
		low, high := int64(1<<62), int64(0)
		for _, l := range leases {
			low, high = min(low, l.pc.expires), max(high, l.pc.expires)
		}
		if low < int64(54*time.Minute) || high > int64(66*time.Minute)+int64(time.Second) || high-low < int64(6*time.Minute) {
			t.Errorf("lifetimes end after %v to %v", time.Duration(low), time.Duration(high))
		}
		releaseAll(leases)
		quiesce(t, g, f)
	})
}

// Idle connections end after max_conn_idle_time, those that are used don't.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		o := options.New()
		o.MaxConnIdleTime = time.Minute
		g := testGate(t, f, o, spec("A", 10, 0))
		releaseAll(holdAll(t, g, 10))
		for range 10 {
			time.Sleep(30 * time.Second)
			mustLease(t, g, Request{}).Release()
		}
		synctest.Wait()
		n := g.Stats().Nodes[0]
		if n.Open != 1 || n.ClosedBy["idle"] != 9 {
			t.Errorf("%+v", n)
		}
		quiesce(t, g, f)
	})
}

// min_idle_conns_per_instance: every node gets its connections at start, and keeps them; one that can't be reached
// fails nothing and is tried again.
func TestMinIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		f.delay = time.Millisecond
		f.node("C").err = errRefused
		o := options.New()
		o.MinIdleConnsPerInstance = 3
		o.MaxConnIdleTime = time.Minute
		o.MaxConnLifetime = 5 * time.Minute
		g := testGate(t, f, o, spec("A", 10, 0), spec("B", 0, 0), spec("C", 10, 0))
		time.Sleep(100 * time.Millisecond)
		for _, name := range []string{"A", "B"} {
			if n := f.node(name).get(openOf); n != 3 {
				t.Errorf("%s has %d connections, want 3", name, n)
			}
		}
		run(t, g, 3, 100, Request{}, time.Millisecond)
		for range 30 {
			time.Sleep(time.Minute)
			mustHold(t, g)
			for _, n := range g.Stats().Nodes[:2] {
				if n.Open < 2 || n.Open > 4 {
					t.Errorf("%s keeps %d connections, want 3", n.Name, n.Open)
				}
			}
		}
		s := g.Stats()
		if !s.Nodes[2].Ejected || s.Nodes[2].DialFailures > 100 {
			t.Errorf("C: %+v", s.Nodes[2])
		}
		if s.Nodes[0].ClosedBy["lifetime"] < 9 {
			t.Errorf("A's connections live for ever: %v", s.Nodes[0].ClosedBy)
		}
		f.node("C").set(func(n *fakeNode) { n.err = nil })
		time.Sleep(time.Minute)
		if n := f.node("C").get(openOf); n != 3 {
			t.Errorf("C has %d connections after it came back, want 3", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Many nodes are warmed up by so many dials at a time, and a caller doesn't wait for them.
func TestMinIdleOfManyNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet()
		f.delay = 10 * time.Millisecond
		o := options.New()
		o.MinIdleConnsPerInstance = 2
		var specs []NodeSpec
		for i := range 200 {
			specs = append(specs, spec(fmt.Sprintf("n%d", i), 10, 0))
		}
		last := spec("last", 10, 0)
		most := 0
		active := func() (n int) {
			for _, node := range f.nodes {
				n += node.active
			}
			return n
		}
		g := New(Config{Options: o, Classify: classify, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			f.mu.Lock()
			most = max(most, active()+1)
			f.mu.Unlock()
			return f.dial(ctx, n)
		}})
		g.Apply(append(specs, last))
		time.Sleep(25 * time.Millisecond)
		begun := time.Now()
		l := mustLease(t, g, Request{Node: "last", Strict: true})
		if d := time.Since(begun); d > 10*time.Millisecond {
			t.Errorf("a caller waited %v", d)
		}
		l.Release()
		time.Sleep(10 * time.Second)
		f.mu.Lock()
		if most < spareDials/2 || most > spareDials+2 {
			t.Errorf("%d dials at once, want %d", most, spareDials)
		}
		f.mu.Unlock()
		if open := g.Stats().Total.Open; open != 402 && open != 403 {
			t.Errorf("%d connections, want 402", open)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// The minimum gives way to a cap.
func TestMinIdleWithinTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		o := options.New()
		o.MinIdleConnsPerInstance = 5
		g := testGate(t, f, o, spec("A", 10, 3))
		time.Sleep(time.Second)
		if n := f.node("A").get(openOf); n != 3 {
			t.Errorf("%d connections, want 3", n)
		}
		leases := holdAll(t, g, 3)
		releaseAll(leases)
		mustHold(t, g)
		quiesce(t, g, f)
	})
}
