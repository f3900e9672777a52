package pool

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// A refused login is tried once on each node, whatever the number of callers, and then not again for a while.
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
		if d := dials(); d != 3 {
			t.Errorf("%d logins, want one for each node", d)
		}
		if e := g.Stats().Total; e.Ejections != 0 {
			t.Errorf("%d ejections", e.Ejections)
		}
		time.Sleep(20 * time.Second)
		errsOf(g, 20, Request{})
		if d := dials(); d != 6 {
			t.Errorf("%d logins after the cool-down, want one more for each", d)
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
		asked := 0
		g := New(Config{Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			asked++
			if err := Admit(ctx, password); err != nil {
				return nil, fmt.Errorf("as a dial wraps it: %w", err)
			}
			return f.dial(ctx, n)
		}, Classify: classify, Options: options.New(), PasswordChanges: true})
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
		if asked != 5 {
			t.Errorf("the password was asked %d times for 5 dials", asked)
		}
		if d := g.Stats().Total.Dials; d != 1 {
			t.Errorf("%d dials are counted, want 1", d)
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
