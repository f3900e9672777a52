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

// A probe that falls into the cool-down after a refused login isn't lost: once another password is there, or the cool-down
// over, a node that is well comes back by itself.
func TestProbeOutlivesALoginCoolDown(t *testing.T) {
	for _, heals := range []string{"another password", "the end of the cool-down"} {
		synctest.Test(t, func(t *testing.T) {
			f := newNet("A")
			var mu sync.Mutex
			password := "old"
			say := func(p string) {
				mu.Lock()
				defer mu.Unlock()
				password = p
			}
			g := New(Config{Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
				mu.Lock()
				p := password
				mu.Unlock()
				if err := Admit(ctx, p); err != nil {
					return nil, err
				}
				return f.dial(ctx, n)
			}, Classify: classify, Options: options.New(), PasswordChanges: true})
			g.Apply([]NodeSpec{spec("A", 10, 0)})
			f.node("A").set(func(n *fakeNode) { n.err = errLogin })
			var login *LoginError
			if _, err := g.Lease(context.Background(), Request{}); !errors.As(err, &login) {
				t.Fatalf("got %v", err)
			}
			// Its old connections are lost meanwhile: it is ejected during the cool-down.
			f.node("A").set(func(n *fakeNode) { n.err = nil })
			say("good once")
			var leases []Lease
			for range 3 {
				leases = append(leases, mustLease(t, g, Request{}))
			}
			f.node("A").set(func(n *fakeNode) { n.err = errLogin })
			say("old again")
			if _, err := g.Lease(context.Background(), Request{}); !errors.As(err, &login) {
				t.Fatalf("got %v", err)
			}
			for _, l := range leases {
				l.Discard(Lost)
			}
			if n := g.Stats().Total.Ejections; n != 1 {
				t.Fatalf("%d ejections", n)
			}
			time.Sleep(10 * time.Second) // the ejection is over, the cool-down isn't
			f.node("A").set(func(n *fakeNode) { n.err = nil })
			if heals == "another password" {
				say("new")
			}
			time.Sleep(3 * time.Minute)
			if s := g.Stats().Nodes[0]; s.Ejected {
				t.Errorf("%s: still ejected: %+v", heals, s)
			}
			mustLease(t, g, Request{}).Release()
			mustHold(t, g)
			quiesce(t, g, f)
		})
	}
}
