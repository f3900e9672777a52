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
		synctest.Wait() // another goroutine may be the one that tells
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
