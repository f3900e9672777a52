package pool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// A node that leaves drains: idle connections go now, those in use when they come back, and nothing new begins.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0))
		leases := holdAll(t, g, 8)
		var onA []Lease
		for _, l := range leases {
			if l.Node().Name == "A" && len(onA) < 2 {
				onA = append(onA, l)
				continue
			}
			l.Release()
		}
		g.Apply([]NodeSpec{spec("B", 10, 0)})
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 2 {
			t.Errorf("A has %d connections, want the 2 in use", n)
		}
		s := g.Stats()
		if len(s.Nodes) != 2 || !s.Nodes[0].Leaving || s.Nodes[0].Draining != 2 || s.Nodes[0].InUse != 0 {
			t.Errorf("%+v", s.Nodes)
		}
		for range 10 {
			if l := mustLease(t, g, Request{}); l.Node().Name != "B" {
				t.Error("a lease on a leaving node")
			} else {
				l.Release()
			}
		}
		onA[0].Release()
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 1 {
			t.Errorf("A has %d connections after a release, want 1", n)
		}
		// The other one by force.
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 0 {
			t.Errorf("A has %d connections after drain_timeout", n)
		}
		onA[1].Release()
		onA[1].Discard(Lost)
		s = g.Stats()
		if len(s.Nodes) != 1 || s.Total.ClosedBy["stale"] != 4 {
			t.Errorf("afterwards: %+v", s)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A node that comes back before its drain is over keeps the connections in use, and its counters.
func TestDrainAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		a, b := spec("A", 10, 2), spec("B", 10, 0)
		g := testGate(t, f, nil, a, b)
		l := mustLease(t, g, Request{Node: "A", Strict: true})
		g.Apply([]NodeSpec{b})
		g.Apply([]NodeSpec{a, b})
		time.Sleep(time.Minute) // no force any more
		l.Release()
		if n := g.Stats().Nodes[0]; n.Idle != 1 || n.Leaving || f.node("A").get(dialsOf) != 1 {
			t.Errorf("%+v", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Another address is another node; the same cap holds for each server.
func TestAddressChangeIsANewNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "A2")
		a := spec("A", 10, 2)
		g := testGate(t, f, nil, a)
		l := mustLease(t, g, Request{})
		mustLease(t, g, Request{}).Release()
		a.Address = "A2"
		g.Apply([]NodeSpec{a})
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 1 {
			t.Errorf("the old address has %d connections, want the one in use", n)
		}
		m := mustLease(t, g, Request{Node: "A", Strict: true})
		if m.Node().Address != "A2" {
			t.Errorf("leased at %s", m.Node().Address)
		}
		l.Release()
		m.Release()
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 0 {
			t.Errorf("the old address keeps %d connections", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A seed keeps its connections when its identity becomes known.
func TestSeedGetsItsIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		seed := NodeSpec{ID: "seed:A", Name: "A", Address: "A", Weight: 10, Eligible: true}
		g := testGate(t, f, nil, seed)
		l := mustLease(t, g, Request{})
		a := spec("A", 10, 0)
		a.ID = "uuid-1"
		b := spec("B", 10, 0)
		g.Apply([]NodeSpec{a, b})
		l.Release()
		l = mustLease(t, g, Request{Node: "uuid-1", Strict: true})
		if l.Node().Replicaset != "rs-A" || f.node("A").get(dialsOf) != 1 {
			t.Errorf("%+v after %d dials", l.Node(), f.node("A").get(dialsOf))
		}
		l.Release()
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A change of role regroups the node and keeps its connections.
func TestRoleChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		a, b := spec("A", 10, 0), spec("B", 10, 0)
		b.Role = metadata.RoleReplica
		g := testGate(t, f, nil, a, b)
		leader := Request{Role: options.RoleLeader, Strict: true}
		mustLease(t, g, leader).Release()
		mustLease(t, g, Request{Role: options.RoleReplica, Strict: true}).Release()
		a.Role, b.Role = b.Role, a.Role
		g.Apply([]NodeSpec{a, b})
		if l := mustLease(t, g, leader); l.Node().Name != "B" || f.node("B").get(dialsOf) != 1 {
			t.Errorf("the leader is %s after %d dials", l.Node().Name, f.node("B").get(dialsOf))
		} else {
			l.Release()
		}
		b.Eligible = false
		g.Apply([]NodeSpec{a, b})
		synctest.Wait()
		if n := f.node("B").get(openOf); n != 0 {
			t.Errorf("an excluded node keeps %d connections", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A cap that is lowered takes idle connections at once and others when they come back.
func TestLowerCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 0))
		leases := holdAll(t, g, 10)
		releaseAll(leases[:4])
		g.Apply([]NodeSpec{spec("A", 10, 3)})
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 6 {
			t.Errorf("%d connections, want the 6 in use", n)
		}
		releaseAll(leases[4:])
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 3 {
			t.Errorf("%d connections, want 3", n)
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// A node that joins a running gate gets a growing part of its share; nobody changes the configured weight.
func TestSlowStart(t *testing.T) {
	for _, strategy := range []options.BalanceStrategy{options.RoundRobin, options.LeastBusy} {
		synctest.Test(t, func(t *testing.T) {
			f := newNet("A", "B")
			o := options.New()
			o.BalanceStrategy = strategy
			g := testGate(t, f, o, spec("A", 10, 0))
			mustLease(t, g, Request{}).Release()
			g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
			time.Sleep(rampStep / 2)
			last := 0
			for step := 1; step <= 10; step++ {
				before := f.node("B").get(servedOf)
				run(t, g, 1, 1100, Request{}, 0)
				got := f.node("B").get(servedOf) - before
				want := 1100 * step / (10 + step)
				slack := 4
				if strategy == options.LeastBusy {
					slack = 110
				}
				if got < want-slack || got > want+slack {
					t.Errorf("%v, second %d: B served %d of 1100, want %d", strategy, step, got, want)
				}
				last = got
				time.Sleep(rampStep)
				if w := g.Stats().Nodes[1].Weight; w != 10 {
					t.Errorf("its weight is said to be %d", w)
				}
			}
			if strategy == options.RoundRobin && last < 540 {
				t.Errorf("B served %d of 1100 in the end", last)
			}
			mustHold(t, g)
			quiesce(t, g, f)
		})
	}
}

// Close ends waiting, closes what is idle at once and what is in use when it comes back, or by force.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 3))
		leases := holdAll(t, g, 3)
		leases[0].Release()
		hold := make(chan struct{})
		f.node("A").set(func(n *fakeNode) { n.hold = hold })
		got := make(chan error)
		mustHold(t, g)
		held := mustLease(t, g, Request{})
		go func() {
			_, err := g.Lease(context.Background(), Request{})
			got <- err
		}()
		synctest.Wait()
		begun := time.Now()
		if err := g.Close(); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := <-got; err != ErrClosed {
			t.Errorf("a waiter got %v", err)
		}
		if _, err := g.Lease(context.Background(), Request{}); err != ErrClosed {
			t.Errorf("a later caller got %v", err)
		}
		leases[1].Release()
		held.Release()
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 1 {
			t.Errorf("%d connections, want the one in use", n)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := f.node("A").get(openOf); n != 0 {
			t.Errorf("%d connections after drain_timeout", n)
		}
		leases[2].Release()
		if g.Close() != nil {
			t.Error("a second Close failed")
		}
		g.Apply([]NodeSpec{spec("B", 10, 0)})
		quiesce(t, g, f)
	})
}

// Close ends dials under way, and waits no longer than a second for a socket that doesn't close.
func TestCloseDoesntHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("B").hold = make(chan struct{})
		g := New(Config{Options: options.New(), Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			c, err := f.dial(ctx, n)
			if err != nil {
				return nil, err
			}
			return slowClose{c.(*fakeConn), time.Minute}, nil
		}})
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		mustLease(t, g, Request{Node: "A", Strict: true}).Release()
		go func() { _, _ = g.Lease(context.Background(), Request{Node: "B", Strict: true}) }()
		synctest.Wait()
		begun := time.Now()
		_ = g.Close()
		if d := time.Since(begun); d != time.Second {
			t.Errorf("Close took %v", d)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// A lease may be given back twice, or not at all.
func TestDoubleRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A")
		g := testGate(t, f, nil, spec("A", 10, 1))
		l := mustLease(t, g, Request{})
		l.Release()
		again := mustLease(t, g, Request{})
		l.Release()
		l.Discard(Lost)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := g.Lease(ctx, Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an old lease gave away a connection in use: %v", err)
		}
		again.Release()
		Lease{}.Release()
		Lease{}.Discard(Given)
		if (Lease{}).Valid() || (Lease{}).Conn() != nil || (Lease{}).Node() != nil {
			t.Error("the zero Lease holds something")
		}
		mustHold(t, g)
		quiesce(t, g, f)
	})
}

// Events come in order and outside all locks: a listener may use the gate.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		f.node("B").err = errRefused
		var kinds []EventKind
		var g *Gate
		o := options.New()
		g = New(Config{Dial: f.dial, Classify: classify, Options: o, OnEvent: func(e Event) {
			kinds = append(kinds, e.Kind)
			_ = g.Stats()
			g.makeFull("nobody", 0)
		}})
		b := spec("B", 10, 0)
		g.Apply([]NodeSpec{b})
		for range 3 {
			_, _ = g.Lease(context.Background(), Request{})
		}
		f.node("B").set(func(n *fakeNode) { n.err = nil })
		time.Sleep(2 * time.Second)
		b.Weight = 5
		g.Apply([]NodeSpec{b})
		g.Apply(nil)
		synctest.Wait()
		want := []EventKind{NodeJoined, DialFailed, DialFailed, DialFailed, NodeEjected, AllEjected, ConnOpened, NodeReadmitted, AllEjected, NodeChanged, NodeDraining, ConnClosed, NodeGone}
		if len(kinds) != len(want) {
			t.Fatalf("got %v, want %v", kinds, want)
		}
		for i := range want {
			if kinds[i] != want[i] {
				t.Errorf("event %d is %q, want %q", i, kinds[i], want[i])
			}
		}
		quiesce(t, g, f)
	})
}
