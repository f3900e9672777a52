package pool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// errsOf runs n requests at once and returns their errors; leases are released.
func errsOf(g *Gate, n int, req Request) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			l, err := g.Lease(context.Background(), req)
			errs[i] = err
			l.Release()
		})
	}
	wg.Wait()
	return errs
}

// A caller that gives up while its connection is being made doesn't waste it.
func TestDialOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		f.delay = 100 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 0))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := g.Lease(ctx, Request{}); err != context.DeadlineExceeded {
			t.Fatalf("got %v", err)
		}
		mustHold(t, g)
		// Ten more short-lived callers share that dial: no storm.
		for range 10 {
			short, done := context.WithTimeout(context.Background(), 5*time.Millisecond)
			if _, err := g.Lease(short, Request{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			done()
		}
		if d := f.node("A").get(dialsOf); d != 1 {
			t.Errorf("%d dials, want 1", d)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		begun := time.Now()
		l := mustLease(t, g, Request{})
		if time.Since(begun) != 0 || f.node("A").get(dialsOf) != 1 {
			t.Error("the connection was wasted")
		}
		l.Release()
		quiesce(t, g, f)
	})
}

// A waiter gets the dial of one that gave up.
func TestDialGoesToTheNextWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		f.delay = 100 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 1))
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _ = g.Lease(ctx, Request{}) }()
		synctest.Wait()
		got := make(chan error)
		go func() {
			l, err := g.Lease(context.Background(), Request{})
			l.Release()
			got <- err
		}()
		synctest.Wait()
		cancel()
		begun := time.Now()
		if err := <-got; err != nil || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		if d := f.node("A").get(dialsOf); d != 1 {
			t.Errorf("%d dials, want 1", d)
		}
		quiesce(t, g, f)
	})
}

// No node is dialled by more than two at a time.
func TestDialTwoPerNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.delay = 10 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		leases := holdAll(t, g, 60)
		for _, name := range []string{"A", "B"} {
			n := f.node(name)
			if most := n.get(func(n *fakeNode) int { return n.mostAct }); most != 2 {
				t.Errorf("%s had %d dials at once, want 2", name, most)
			}
			if open := n.get(openOf); open != 30 {
				t.Errorf("%s has %d of 60 connections, want 30", name, open)
			}
		}
		releaseAll(leases)
		quiesce(t, g, f)
	})
}

// A dial that nobody waits for any more isn't begun.
func TestDialNotBegunIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		hold := make(chan struct{})
		f.node("A").hold = hold
		g := testGate(t, f, nil, spec("A", 10, 0))
		ctx, cancel := context.WithCancel(context.Background())
		for range 20 {
			go func() { _, _ = g.Lease(ctx, Request{}) }()
		}
		synctest.Wait()
		if n := g.Stats().Total.Dialing; n != 20 {
			t.Errorf("%d slots taken, want 20", n)
		}
		cancel()
		synctest.Wait()
		if n := g.Stats().Total.Dialing; n != 1 { // one by one, until a login succeeds
			t.Errorf("%d slots taken after all gave up, want 1", n)
		}
		mustHold(t, g)
		close(hold)
		quiesce(t, g, f)
	})
}

// dial-budget-multi-target: a node that doesn't answer costs a quarter of a second, once, not the caller's budget.
func TestDialStaggers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("hole", "B")
		hole := f.node("hole")
		hole.hold = make(chan struct{})
		hole.err = errRefused
		first := spec("hole", 10, 0)
		first.Priority = 1 // so that it comes first
		o := options.New()
		g := testGate(t, f, o, first, spec("B", 10, 0))
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		begun := time.Now()
		l, err := g.Lease(ctx, Request{})
		if err != nil || l.Node().Name != "B" || time.Since(begun) != staggerDelay {
			t.Fatalf("got %v, %v after %v; want B after %v", l.Node(), err, time.Since(begun), staggerDelay)
		}
		l.Release()
		// Until that dial ends nobody else waits for the node.
		for range 100 {
			begun = time.Now()
			l = mustLease(t, g, Request{})
			if l.Node().Name != "B" || time.Since(begun) != 0 {
				t.Fatalf("%s after %v; want B at once", l.Node().Name, time.Since(begun))
			}
			l.Release()
		}
		if d := hole.get(dialsOf); d != 1 {
			t.Errorf("the node that doesn't answer was dialled %d times", d)
		}
		mustHold(t, g)
		close(hole.hold)
		synctest.Wait()
		quiesce(t, g, f)
	})
}

// The dial that took long wins after all if it comes first.
func TestDialSlowButFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.delay = 400 * time.Millisecond
		a := spec("A", 10, 0)
		a.Priority = 1
		g := testGate(t, f, nil, a, spec("B", 10, 0))
		begun := time.Now()
		l := mustLease(t, g, Request{})
		if l.Node().Name != "A" || time.Since(begun) != 400*time.Millisecond {
			t.Errorf("%s after %v; want A after 400 ms", l.Node().Name, time.Since(begun))
		}
		l.Release()
		time.Sleep(time.Second)
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Every attempt is in the error, with its cause; a dial that took too long is one.
func TestDialErrorListsAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		f.node("A").err = errRefused
		f.node("B").err = errRefused
		f.node("C").hold = make(chan struct{})
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0))
		_, err := g.Lease(context.Background(), Request{})
		var dial *DialError
		if !errors.As(err, &dial) || len(dial.Nodes) != 3 {
			t.Fatalf("got %v", err)
		}
		if !errors.Is(err, errRefused) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("causes are missing in %v", err)
		}
		for _, want := range []string{"A: connection refused", "B: connection refused", "C: context deadline exceeded"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is missing in %q", want, err)
			}
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// idle-conn-dead: sockets that the peer has closed are found before a statement is sent, and the node isn't blamed.
func TestDeadIdleConnectionsAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 0))
		releaseAll(holdAll(t, g, 10))
		f.node("A").set(func(n *fakeNode) {
			for c := range n.conns {
				c.dead = true
			}
		})
		time.Sleep(2 * time.Second)
		l := mustLease(t, g, Request{})
		if l.Conn().(*fakeConn).dead {
			t.Error("got a dead connection")
		}
		l.Release()
		synctest.Wait()
		n := g.Stats().Nodes[0]
		if n.ClosedBy["dead"] != 10 || n.Ejections+n.Lost != 0 || n.Open != 1 {
			t.Errorf("%+v", n)
		}
		quiesce(t, g, f)
	})
}

// Who sends what must not be sent in vain has the socket looked at at once.
func TestLookOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 0))
		releaseAll(holdAll(t, g, 3))
		f.node("A").set(func(n *fakeNode) {
			for c := range n.conns {
				c.dead = true
			}
		})
		l := mustLease(t, g, Request{Look: true})
		if l.Conn().(*fakeConn).dead {
			t.Error("got a dead connection")
		}
		l.Release()
		synctest.Wait()
		if n := g.Stats().Nodes[0]; n.ClosedBy["dead"] != 3 || n.Lost != 0 {
			t.Errorf("%+v", n)
		}
		quiesce(t, g, f)
	})
}

// After one connection was lost the others of that node are looked at, however short they have been idle.
func TestLostConnectionMakesOthersSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 0))
		leases := holdAll(t, g, 3)
		leases[1].Release()
		leases[2].Release()
		f.node("A").set(func(n *fakeNode) {
			for c := range n.conns {
				c.dead = true
			}
		})
		leases[0].Discard(Lost)
		l := mustLease(t, g, Request{})
		if l.Conn().(*fakeConn).dead {
			t.Error("got a dead connection")
		}
		l.Release()
		quiesce(t, g, f)
	})
}
