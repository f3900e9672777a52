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

// Every attempt is in the error, with its cause; connect_timeout is one.
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
		for _, want := range []string{"A: connection refused", "B: connection refused", "C: no connection within connect_timeout 5s"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is missing in %q", want, err)
			}
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// ban-refused-not-counted: a closed port is out of rotation after three dials, no statement sees it, and it comes
// back only after a probe.
func TestRefusedDialsEject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		a := f.node("A")
		a.err = errRefused
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		for i := range 1000 {
			l := mustLease(t, g, Request{})
			if l.Node().Name != "B" {
				t.Fatalf("lease %d is on A", i)
			}
			l.Release()
		}
		s := g.Stats()
		if d := a.get(dialsOf); d != 3 || s.Nodes[0].DialFailures != 3 || s.Nodes[0].Ejections != 1 || !s.Nodes[0].Ejected {
			t.Errorf("%d dials; stats %+v; want 3 and one ejection", d, s.Nodes[0])
		}
		// Probes, and nothing else, go there while it stays closed: after 1, 2, 4, 8, 16 and 30 s, ±10 %.
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
					}
					l, err := g.Lease(context.Background(), Request{})
					if err != nil {
						t.Errorf("lease: %v", err)
						return
					}
					l.Release()
				}
			})
		}
		time.Sleep(time.Minute)
		if d := a.get(dialsOf) - 3; d < 5 || d > 6 {
			t.Errorf("%d probes in a minute, want 5 or 6", d)
		}
		a.set(func(n *fakeNode) { n.err = nil })
		time.Sleep(33 * time.Second)
		close(stop)
		wg.Wait()
		if n := g.Stats().Nodes[0]; n.Ejected || n.Leases == 0 {
			t.Errorf("after it came back: %+v", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// With twenty workers at once no statement pays more than one failed dial.
func TestRefusedDialCostsAStatementOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("A").err = errRefused
		f.delay = 10 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				begun := time.Now()
				l, err := g.Lease(context.Background(), Request{})
				if err != nil {
					t.Errorf("lease: %v", err)
				}
				// One failed dial, and then B's, two at a time for up to twenty callers.
				if took := time.Since(begun); took > 10*10*time.Millisecond+2*10*time.Millisecond {
					t.Errorf("took %v", took)
				}
				l.Release()
			})
		}
		wg.Wait()
		if d := f.node("A").get(dialsOf); d > 4 {
			t.Errorf("%d dials of A, want at most 4: two were under way when the third failed", d)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// If all are ejected they are used anyway, and come back at once.
func TestAllEjectedAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("A").err, f.node("B").err = errRefused, errRefused
		var panics []bool
		g := New(Config{Dial: f.dial, Classify: classify, Options: options.New(), OnEvent: func(e Event) {
			if e.Kind == AllEjected {
				panics = append(panics, e.On)
			}
		}})
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		for range 5 {
			var dial *DialError
			if _, err := g.Lease(context.Background(), Request{}); !errors.As(err, &dial) {
				t.Fatalf("got %v", err)
			}
		}
		s := g.Stats()
		if !s.Nodes[0].Ejected || !s.Nodes[1].Ejected {
			t.Fatalf("not both ejected: %+v", s.Nodes)
		}
		f.node("B").set(func(n *fakeNode) { n.err = nil })
		for range 3 {
			l := mustLease(t, g, Request{})
			if l.Node().Name != "B" {
				t.Fatalf("lease on %s", l.Node().Name)
			}
			l.Release()
		}
		if s := g.Stats(); s.Nodes[1].Ejected {
			t.Error("B serves and counts as ejected")
		}
		if len(panics) != 2 || !panics[0] || panics[1] {
			t.Errorf("reported %v, want on and off", panics)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A hint doesn't look past its node's ejection while others are healthy.
func TestHintToAnEjectedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("A").err = errRefused
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		for range 10 {
			mustLease(t, g, Request{}).Release()
		}
		var none *NoNodeError
		if _, err := g.Lease(context.Background(), Request{Node: "A", Strict: true}); !errors.As(err, &none) || none.Ejected != 1 || none.RetryIn <= 0 {
			t.Errorf("got %v", err)
		}
		if l := mustLease(t, g, Request{Node: "A"}); l.Node().Name != "B" {
			t.Errorf("a preference for A gave %s", l.Node().Name)
		} else {
			l.Release()
		}
		quiesce(t, g, f)
	})
}

// Connections that are lost in use eject too, and take the idle ones of that node with them.
func TestLostConnectionsEject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		leases := holdAll(t, g, 16)
		lost := 0
		for _, l := range leases {
			if l.Node().Name == "A" && lost < 3 {
				lost++
				l.Discard(Lost)
				continue
			}
			l.Release()
		}
		synctest.Wait()
		s := g.Stats()
		if !s.Nodes[0].Ejected || s.Nodes[0].Open != 0 || f.node("A").get(openOf) != 0 {
			t.Errorf("after three lost connections: %+v", s.Nodes[0])
		}
		if s.Nodes[1].Idle != 8 {
			t.Errorf("B: %+v", s.Nodes[1])
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Connections of an older generation say nothing about the node now.
func TestOldGenerationIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		leases := holdAll(t, g, 20)
		var onA []Lease
		for _, l := range leases {
			if l.Node().Name == "A" {
				onA = append(onA, l)
			} else {
				l.Release()
			}
		}
		for _, l := range onA[:3] {
			l.Discard(Lost)
		}
		time.Sleep(1200 * time.Millisecond) // the probe brings it back
		if g.Stats().Nodes[0].Ejected {
			t.Fatal("not back")
		}
		for _, l := range onA[3:9] {
			l.Discard(Lost)
		}
		if g.Stats().Nodes[0].Ejected {
			t.Error("ejected by connections from before its first ejection")
		}
		onA[9].Release()
		synctest.Wait()
		if n := g.Stats().Nodes[0]; n.ClosedBy["evict"] != 1 || n.Open != 1 {
			t.Errorf("a connection of an old generation was kept: %+v", n)
		}
		quiesce(t, g, f)
	})
}

// cancel-is-not-failover: contexts that end are nobody's fault.
func TestCancelledContextsEjectNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.delay = 20 * time.Millisecond
		g := testGate(t, f, nil, spec("A", 10, 3), spec("B", 10, 3))
		var wg sync.WaitGroup
		for i := range 400 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%60)*time.Millisecond)
				defer cancel()
				l, err := g.Lease(ctx, Request{})
				if err != nil {
					if err != context.DeadlineExceeded {
						t.Errorf("got %v", err)
					}
					return
				}
				select {
				case <-time.After(5 * time.Millisecond):
					l.Release()
				case <-ctx.Done():
					l.Discard(Given)
				}
			})
		}
		wg.Wait()
		for _, n := range g.Stats().Nodes {
			if n.Ejections+n.DialFailures+n.Lost != 0 {
				t.Errorf("%+v", n)
			}
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A refused login is tried once, whatever the number of nodes and callers, and then not again for a while.
func TestLoginRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		f.delay = time.Millisecond
		for _, n := range f.nodes {
			n.err = errLogin
		}
		o := options.New()
		o.MinIdleConnsPerInstance = 2
		g := testGate(t, f, o, spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0))
		for round := range 3 {
			for _, err := range errsOf(g, 20, Request{}) {
				var login *LoginError
				if !errors.As(err, &login) || !errors.Is(err, errLogin) || login.CoolDown != 30*time.Second {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			time.Sleep(5 * time.Second)
		}
		dials := func() int {
			return f.node("A").get(dialsOf) + f.node("B").get(dialsOf) + f.node("C").get(dialsOf)
		}
		if d := dials(); d != 1 {
			t.Errorf("%d logins, want 1", d)
		}
		if e := g.Stats().Total; e.Ejections != 0 {
			t.Errorf("%d ejections", e.Ejections)
		}
		time.Sleep(20 * time.Second)
		errsOf(g, 20, Request{})
		if d := dials(); d != 2 {
			t.Errorf("%d logins after the cool-down, want 2", d)
		}
		for _, n := range f.nodes {
			n.set(func(n *fakeNode) { n.err = nil })
		}
		time.Sleep(61 * time.Second)
		for _, err := range errsOf(g, 20, Request{}) {
			if err != nil {
				t.Errorf("after the second cool-down: %v", err)
			}
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Another password lifts the cool-down; the same one doesn't reach a server.
func TestLoginAnotherPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		f.node("A").err = errLogin
		password := "old"
		g := New(Config{Dial: f.dial, Classify: classify, Options: options.New(), Credential: func(context.Context) string { return password }})
		g.Apply([]NodeSpec{spec("A", 10, 0)})
		for range 5 {
			var login *LoginError
			if _, err := g.Lease(context.Background(), Request{}); !errors.As(err, &login) {
				t.Fatalf("got %v", err)
			}
		}
		if d := f.node("A").get(dialsOf); d != 1 {
			t.Errorf("%d logins with the same password, want 1", d)
		}
		password = "new"
		f.node("A").set(func(n *fakeNode) { n.err = nil })
		mustLease(t, g, Request{}).Release()
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Connections that are there go on serving during a cool-down.
func TestLoginCoolDownSparesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 0))
		l := mustLease(t, g, Request{})
		f.node("A").set(func(n *fakeNode) { n.err = errLogin })
		var login *LoginError
		if _, err := g.Lease(context.Background(), Request{}); !errors.As(err, &login) {
			t.Fatalf("got %v", err)
		}
		l.Release()
		for range 3 {
			mustLease(t, g, Request{}).Release()
		}
		quiesce(t, g, f)
	})
}

// A fault of the configuration is returned at once; no other node is tried.
func TestFatalErrorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("A").err, f.node("B").err = errConfig, errConfig
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		if _, err := g.Lease(context.Background(), Request{}); err != errConfig {
			t.Errorf("got %v", err)
		}
		if d := f.node("A").get(dialsOf) + f.node("B").get(dialsOf); d != 1 {
			t.Errorf("%d dials, want 1", d)
		}
		if e := g.Stats().Total; e.Ejections+e.DialFailures != 0 {
			t.Errorf("%+v", e)
		}
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
