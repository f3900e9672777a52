package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// One node that refuses the login costs nobody a statement, cold or warm, and is tried once in its cool-down.
func TestLoginRefusedByOneNode(t *testing.T) {
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("warm=%v", warm), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet("A", "B", "C")
				f.delay = time.Millisecond
				g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0))
				if warm {
					releaseAll(holdAll(t, g, 6))
				}
				a := f.node("A")
				a.set(func(n *fakeNode) { n.err, n.dials = errLogin, 0 })
				for range 5 {
					for _, err := range errsOf(g, 30, Request{}) {
						if err != nil {
							t.Errorf("lease: %v", err)
						}
					}
					time.Sleep(5 * time.Second)
				}
				// A warm one may have two dials under way when the first refusal comes.
				if d := a.get(dialsOf); d > 1 && !warm || d > 2 {
					t.Errorf("%d logins at A", d)
				}
				var login *LoginError
				l, err := g.Lease(context.Background(), Request{Node: "A", Strict: true})
				if warm && err != nil || !warm && !errors.As(err, &login) {
					t.Errorf("warm %v: A itself gives %v", warm, err)
				}
				l.Release()
				mustHold(t, g)
				quiesce(t, g, f)
			})
		})
	}
}

// A node that joins and refuses the login doesn't take the others with it, whose connections end and are replaced.
func TestJoinedNodeRefusesTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		f.node("C").err = errLogin
		o := options.New()
		o.MaxConnLifetime = 5 * time.Second
		g := testGate(t, f, o, spec("A", 10, 0), spec("B", 10, 0))
		releaseAll(holdAll(t, g, 4))
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0)})
		for range 600 {
			mustLease(t, g, Request{}).Release()
			time.Sleep(100 * time.Millisecond)
		}
		if d := f.node("C").get(dialsOf); d == 0 || d > 2 {
			t.Errorf("%d logins at C in a minute", d)
		}
		quiesce(t, g, f)
	})
}

// A probe that comes in a cool-down of the same password isn't the last one: the node comes back.
func TestProbeInACoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		o := options.New()
		g := New(Config{Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			if err := Admit(ctx, "secret"); err != nil {
				return nil, err
			}
			return f.dial(ctx, n)
		}, Classify: classify, Options: o, PasswordChanges: true})
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		a := f.node("A")
		a.set(func(n *fakeNode) { n.err = errLogin })
		for range 4 {
			mustLease(t, g, Request{}).Release()
		}
		// Now it is ejected, too.
		g.mu.Lock()
		for range 3 {
			g.failure(g.nodes["A"], 0, nil)
		}
		g.unlock()
		if !g.Ejected("A") {
			t.Fatal("A isn't ejected")
		}
		time.Sleep(10 * time.Second)
		a.set(func(n *fakeNode) { n.err = nil })
		time.Sleep(2 * time.Minute)
		if g.Ejected("A") {
			t.Error("A is well and ejected for ever")
		}
		mustLease(t, g, Request{Node: "A", Strict: true}).Release()
		quiesce(t, g, f)
	})
}

// With all nodes ejected each is dialled once per interval at most by those who wait, and once by its probe.
func TestAllEjectedDialLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B", "C")
		for _, n := range f.nodes {
			n.err = errRefused
		}
		g := testGate(t, f, nil, spec("A", 10, 0), spec("B", 10, 0), spec("C", 10, 0))
		stop := make(chan struct{})
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					l, err := g.Lease(context.Background(), Request{})
					if err == nil {
						l.Release()
					}
					time.Sleep(25 * time.Millisecond)
				}
			})
		}
		time.Sleep(2 * time.Second)
		before := g.Stats().Total.Dials
		time.Sleep(30 * time.Second)
		mustHold(t, g)
		if dials := g.Stats().Total.Dials - before; dials > 60 || dials < 3 {
			t.Errorf("%d dials to three dead nodes in 30 s", dials)
		}
		for _, n := range f.nodes {
			n.set(func(n *fakeNode) { n.err = nil })
		}
		time.Sleep(31 * time.Second)
		if s := g.Stats(); s.Total.Waiters != 0 || s.Total.Idle == 0 {
			t.Errorf("the nodes are well, and %+v", s.Total)
		}
		close(stop)
		group.Wait()
		quiesce(t, g, f)
	})
}

// A waiter whose nodes a snapshot takes away fails with that snapshot.
func TestSnapshotMakesHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 1), spec("B", 10, 1))
		l := mustLease(t, g, Request{Node: "B", Strict: true})
		begun := time.Now()
		failed := make(chan error)
		go func() {
			_, err := g.Lease(context.Background(), Request{Node: "B", Strict: true})
			failed <- err
		}()
		synctest.Wait()
		g.Apply([]NodeSpec{spec("A", 10, 1)})
		var none *NoNodeError
		if err := <-failed; !errors.As(err, &none) || time.Since(begun) > 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		l.Release()
		quiesce(t, g, f)
	})
}

// A node that left and came back within its slow start goes on with it.
func TestSlowStartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("A", "B")
		g := testGate(t, f, nil, spec("A", 10, 0))
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		time.Sleep(1500 * time.Millisecond)
		l := mustLease(t, g, Request{Node: "B", Strict: true})
		g.Apply([]NodeSpec{spec("A", 10, 0)})
		time.Sleep(time.Second)
		g.Apply([]NodeSpec{spec("A", 10, 0), spec("B", 10, 0)})
		l.Release()
		time.Sleep(15 * time.Second)
		for range 1000 {
			l := mustLease(t, g, Request{})
			serve(l)
			l.Release()
		}
		if b := f.node("B").get(servedOf); b < 450 {
			t.Errorf("B has %d of 1000 leases", b)
		}
		quiesce(t, g, f)
	})
}

// The cap of an instance holds while its address or identity changes: what it has of the time before counts.
func TestCapOfATwin(t *testing.T) {
	for _, what := range []string{"address", "identity"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet()
				old := spec("A", 10, 5)
				g := testGate(t, f, nil, old, spec("B", 10, 5))
				before := holdNode(t, g, old.ID, 5)
				s := old
				if what == "address" {
					s.Address = "A-moved"
				} else {
					s.ID = "A2"
				}
				g.Apply([]NodeSpec{s, spec("B", 10, 5)})
				open := func() int {
					n := f.node("A").get(openOf)
					if what == "address" {
						n += f.node("A-moved").get(openOf)
					}
					return n
				}
				got := make(chan Lease, 5)
				for range 5 {
					go func() {
						l, err := g.Lease(context.Background(), Request{Node: s.ID, Strict: true})
						if err != nil {
							t.Error(err)
						}
						got <- l
					}()
				}
				for _, l := range before {
					synctest.Wait()
					if n := open(); n > 5 {
						t.Errorf("the server has %d connections, its cap is 5", n)
					}
					l.Release()
					synctest.Wait()
				}
				after := make([]Lease, 5)
				for i := range after {
					after[i] = <-got
				}
				if n := open(); n != 5 {
					t.Errorf("%d connections in the end", n)
				}
				mustHold(t, g)
				releaseAll(after)
				quiesce(t, g, f)
			})
		})
	}
}

func holdNode(t *testing.T, g *Gate, id string, n int) (held []Lease) {
	for range n {
		held = append(held, mustLease(t, g, Request{Node: id, Strict: true}))
	}
	return held
}

// busyConn is one whose server takes its time to notice that a statement was given up.
type busyConn struct {
	*fakeConn
	until time.Time
}

func (c *busyConn) CloseWait(d time.Duration) bool {
	if left := time.Until(c.until); left > d {
		time.Sleep(d)
		return false
	} else if left > 0 {
		time.Sleep(left)
	}
	_ = c.fakeConn.Close()
	return true
}

// Statements with contexts that are shorter than they take don't pile up on a server.
func TestAbandonedLimit(t *testing.T) {
	for _, c := range []struct{ limit, share, most int }{{10, 0, 10}, {10, 50, 15}, {0, 50, 50 + 10}} {
		t.Run(fmt.Sprintf("cap=%d,share=%d", c.limit, c.share), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet("A")
				o := options.New()
				o.AbandonedLimit = c.share
				g := New(Config{Options: o, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
					c, err := f.dial(ctx, n)
					if err != nil {
						return nil, err
					}
					return &busyConn{fakeConn: c.(*fakeConn)}, nil
				}})
				g.Apply([]NodeSpec{spec("A", 10, c.limit)})
				stop := make(chan struct{})
				var group sync.WaitGroup
				for range 10 {
					group.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
							if l, err := g.Lease(ctx, Request{}); err == nil {
								l.Conn().(*busyConn).until = time.Now().Add(2 * time.Second)
								<-ctx.Done()
								l.Discard(Given)
							}
							cancel()
						}
					})
				}
				time.Sleep(20 * time.Second)
				close(stop)
				group.Wait()
				if most := f.node("A").get(mostOf); most > c.most {
					t.Errorf("the server had %d connections, want %d at most", most, c.most)
				}
				time.Sleep(3 * time.Second)
				mustHold(t, g)
				mustLease(t, g, Request{}).Release()
				_ = g.Close()
				synctest.Wait()
			})
		})
	}
}
