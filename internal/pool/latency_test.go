package pool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// farConn is a connection that knows its round trip.
type farConn struct {
	*fakeConn
	rtt time.Duration
}

func (c farConn) RTT() time.Duration { return c.rtt }

func TestLatencyEWMA(t *testing.T) {
	n := &node{}
	n.observeDial(int64(80*time.Millisecond), 1)
	n.observe(int64(8*time.Millisecond), 2)
	n.observeDial(int64(80*time.Millisecond), 2)
	if want := 65600 * time.Microsecond; n.Latency != want {
		t.Errorf("latency is %v, want %v: 80 and a fifth of the way to 8", n.Latency, want)
	}
	n.observe(0, 3)
	n.observe(int64(time.Millisecond), int64(2*time.Minute))
	if n.Latency != (time.Millisecond) {
		t.Errorf("latency is %v, want the new one after a minute without", n.Latency)
	}
}

// balance_strategy=nearest stays near, and a trickle to the far node finds out within a minute that it has come nearer.
func TestNearest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("near", "far")
		o := options.New()
		o.BalanceStrategy = options.Nearest
		far := 30 * time.Millisecond
		g := New(Config{Options: o, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			c, err := f.dial(ctx, n)
			if err != nil {
				return nil, err
			}
			if n.Address == "far" {
				return &driftingConn{c.(*fakeConn), &far, far}, nil
			}
			return farConn{c.(*fakeConn), time.Millisecond}, nil
		}})
		specs := []NodeSpec{spec("near", 10, 0), spec("far", 10, 0)}
		g.Apply(specs)
		minute := func() int {
			on := 0
			for range 3000 {
				l := mustLease(t, g, Request{})
				if l.Node().Name == "far" {
					on++
				}
				l.Release()
				time.Sleep(20 * time.Millisecond)
			}
			return on
		}
		if on := minute(); on < 10 || on > 100 {
			t.Errorf("of 3000 leases %d were far", on)
		}
		far = time.Millisecond
		// A far node is tried now and then, by chance, and its round trip comes down by an eighth each time.
		for range 4 {
			minute()
		}
		if on := minute(); on < 1000 {
			t.Errorf("four minutes after the far node has come near it has %d of 3000 leases", on)
		}
		mustHold(t, g)
		_ = g.Close()
		synctest.Wait()
	})
}

// driftingConn smooths its round trips as a kernel does: it hears of a change by an eighth with each use.
type driftingConn struct {
	*fakeConn
	now    *time.Duration
	smooth time.Duration
}

func (c *driftingConn) Usable() bool {
	c.smooth += (*c.now - c.smooth) / 8
	return c.fakeConn.Usable()
}

func (c *driftingConn) RTT() time.Duration { return c.smooth }
