package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		for _, l := range leases {
			l.Release()
		}
		quiesce(t, g, f)
	})
}
