package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// pool-self-deadlock: callers without a deadline get a typed error that says who holds what; when rows are
// closed everything goes on in order.
func TestSelfDeadlockIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		o := options.New()
		o.AcquireTimeout = 3 * time.Second
		g := testGate(t, f, o, spec("A", 10, 2))
		held := holdAll(t, g, 2)
		time.Sleep(time.Second)
		begun := time.Now()
		for _, err := range errsOf(g, 2, Request{}) {
			var timeout *AcquireTimeoutError
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Fatalf("got %v", err)
			}
			n := timeout.Nodes[0]
			if timeout.Waited != 3*time.Second || len(timeout.Nodes) != 1 || n.Busy != 2 || n.Idle != 0 || n.Max != 2 || n.Longest != 4*time.Second {
				t.Errorf("%+v", timeout)
			}
			for _, want := range []string{"acquire_timeout 3s", "A: 2 busy, 0 idle", "cap 2", "oldest lease 4s"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in %q", want, err)
				}
			}
		}
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("reported after %v", d)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := g.Lease(ctx, Request{}); err != context.DeadlineExceeded {
			t.Errorf("a caller with a deadline got %v", err)
		}
		if s := g.Stats(); s.Timeouts != 2 {
			t.Errorf("%d timeouts counted, want 2", s.Timeouts)
		}
		order := make(chan int, 4)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				l, err := g.Lease(context.Background(), Request{})
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				order <- i
				time.Sleep(time.Millisecond)
				l.Release()
			})
			synctest.Wait()
		}
		releaseAll(held)
		wg.Wait()
		for i := range 4 {
			if got := <-order; got/2 != i/2 {
				t.Errorf("waiter %d came in place %d", got, i)
			}
		}
		if s := g.Stats(); s.Waits < 4 || s.WaitTime <= 0 {
			t.Errorf("waits %d, time %v", s.Waits, s.WaitTime)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Waiters with filters: a freed connection goes to the oldest that may use it, not to the oldest.
func TestFilteredWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 1), spec("B", 10, 1))
		a := mustLease(t, g, Request{Node: "A", Strict: true})
		b := mustLease(t, g, Request{Node: "B", Strict: true})
		got := make(chan string, 3)
		for _, who := range []struct {
			name string
			req  Request
		}{{"wants A", Request{Node: "A", Strict: true}}, {"wants any", Request{}}, {"wants B", Request{Node: "B", Strict: true}}} {
			go func() {
				l, err := g.Lease(context.Background(), who.req)
				if err != nil {
					t.Errorf("%s: %v", who.name, err)
					return
				}
				got <- who.name + " on " + l.Node().Name
				l.Release()
			}()
			synctest.Wait()
		}
		b.Release()
		for _, want := range []string{"wants any on B", "wants B on B"} {
			if s := <-got; s != want {
				t.Errorf("%s, want %s", s, want)
			}
		}
		a.Release()
		if s := <-got; s != "wants A on A" {
			t.Errorf("%s, want A's waiter on A", s)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A preference is waited for as long as the request says, then any node does.
func TestPreferenceWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 1), spec("B", 10, 0))
		a := mustLease(t, g, Request{Node: "A", Strict: true})
		for _, wait := range []time.Duration{0, 500 * time.Millisecond} {
			begun := time.Now()
			l := mustLease(t, g, Request{Node: "A", Wait: wait})
			if l.Node().Name != "B" || time.Since(begun) != wait {
				t.Errorf("wait %v: %s after %v", wait, l.Node().Name, time.Since(begun))
			}
			l.Release()
		}
		time.AfterFunc(100*time.Millisecond, a.Release)
		begun := time.Now()
		l := mustLease(t, g, Request{Node: "A", Wait: 500 * time.Millisecond})
		if l.Node().Name != "A" || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("%s after %v; want A when it is free", l.Node().Name, time.Since(begun))
		}
		l.Release()
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A preference whose dial takes long isn't waited for.
func TestPreferenceThatDialsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		hold := make(chan struct{})
		f.node("A").hold = hold
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		begun := time.Now()
		l := mustLease(t, g, Request{Node: "A"})
		if l.Node().Name != "B" || time.Since(begun) != staggerDelay {
			t.Errorf("%s after %v; want B after %v", l.Node().Name, time.Since(begun), staggerDelay)
		}
		l.Release()
		close(hold)
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 1 {
			t.Errorf("the dial of A was wasted")
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// The error counts what left no node, in words for one and for several.
func TestNoNodeInWords(t *testing.T) {
	for want, e := range map[string]NoNodeError{
		"of 3 known nodes 3 are others": {Nodes: 3, Unmatched: 3},
		"of 3 known nodes 1 is another, 2 are ejected after connection failures; the next one is tried again in 1.5s": {Nodes: 3, Unmatched: 1, Ejected: 2, RetryIn: 1500 * time.Millisecond},
		"the one that is known has weight 0, which overflow doesn't allow now":                                        {Nodes: 1, Overflow: 1},
		"none of the cluster is known; waited 2s":                                                                     {Waited: 2 * time.Second},
	} {
		e.Filter = "instance i4"
		if got := e.Error(); got != "picodata: no node for the statement, which asks for instance i4: "+want {
			t.Errorf("%s", got)
		}
	}
}

// Without a node of the role asked for: at once if that is certain, else after acquire_timeout.
func TestNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		o.AcquireTimeout = 2 * time.Second
		fresh := true
		g := New(Config{Dial: f.dial, Options: o, Fresh: func() bool { return fresh }})
		out := spec("C", 10, 0)
		out.Eligible = false
		b := spec("B", 10, 0)
		g.Apply([]NodeSpec{spec("A", 10, 0), b, out})
		ask := func(want time.Duration, req Request) *NoNodeError {
			t.Helper()
			begun := time.Now()
			_, err := g.Lease(context.Background(), req)
			var none *NoNodeError
			if !errors.As(err, &none) || time.Since(begun) != want {
				t.Fatalf("got %v after %v, want a NoNodeError after %v", err, time.Since(begun), want)
			}
			return none
		}
		replica := Request{Role: options.RoleReplica, Strict: true}
		if e := ask(0, replica); e.Nodes != 3 || e.Ineligible != 1 || e.Unmatched != 2 || !strings.Contains(e.Error(), "no node for the statement, which asks for role replica: of 3 known nodes 1 is excluded by instance_role or the allowed tiers, 2 are others") {
			t.Errorf("%+v: %v", e, e)
		}
		fresh = false
		ask(2*time.Second, replica)
		fresh = true
		// The replicaset is switching: its leader will be known soon.
		b.Role = 0
		g.Apply([]NodeSpec{spec("A", 10, 0), b, out})
		leader := Request{Replicaset: "rs-B", Role: options.RoleLeader, Strict: true}
		if e := ask(2*time.Second, leader); e.Roleless != 1 || e.Waited != 2*time.Second {
			t.Errorf("%+v", e)
		}
		time.AfterFunc(time.Second, func() { g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0), out}) })
		begun := time.Now()
		l := mustLease(t, g, leader)
		if l.Node().Name != "B" || time.Since(begun) != time.Second {
			t.Errorf("%s after %v", l.Node().Name, time.Since(begun))
		}
		l.Release()
		if e := ask(0, Request{Node: "C", Strict: true}); e.Ineligible != 1 {
			t.Errorf("%+v", e)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Whoever gives up and whatever is released: connections go to the waiters in the order in which these came.
func TestOrderOfArrival(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, uint64(round)))
			f := newNet("A", "B")
			o := options.New()
			o.AcquireTimeout = 0
			g := testGate(t, f, o, spec("A", 10, 2), spec("B", 5, 1))
			var mu sync.Mutex
			var held []Lease
			var waiting []int // still asking, in order
			gone := map[int]bool{}
			cancels := map[int]context.CancelFunc{}
			next := 0
			arrive := func() {
				id := next
				next++
				ctx, cancel := context.WithCancel(context.Background())
				cancels[id] = cancel
				waiting = append(waiting, id)
				go func() {
					l, err := g.Lease(ctx, Request{})
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						if !gone[id] {
							t.Errorf("caller %d: %v", id, err)
						}
						return
					}
					held = append(held, l)
					if len(waiting) == 0 || waiting[0] != id {
						t.Errorf("caller %d was served before %v", id, waiting)
						return
					}
					waiting = waiting[1:]
				}()
			}
			for range 200 {
				mu.Lock()
				switch k := rnd.IntN(5); {
				case k < 2:
					arrive()
				case k == 2 && len(waiting) > 0:
					i := rnd.IntN(len(waiting))
					id := waiting[i]
					waiting = append(waiting[:i:i], waiting[i+1:]...)
					gone[id] = true
					cancels[id]()
				case len(held) > 0:
					i := rnd.IntN(len(held))
					l := held[i]
					held = append(held[:i:i], held[i+1:]...)
					if rnd.IntN(4) == 0 {
						l.Discard(Given)
					} else {
						l.Release()
					}
				}
				mu.Unlock()
				synctest.Wait()
				mustHold(t, g)
			}
			for len(held)+len(waiting) > 0 {
				mu.Lock()
				list := held
				held = nil
				mu.Unlock()
				releaseAll(list[:min(1, len(list))])
				mu.Lock()
				held = append(held, list[min(1, len(list)):]...)
				mu.Unlock()
				synctest.Wait()
			}
			for _, cancel := range cancels {
				cancel()
			}
			quiesce(t, g, f)
		})
	}
}
