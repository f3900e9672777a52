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
	if n.latency != int64(71*time.Millisecond) {
		t.Errorf("latency is %v, want 71 ms: 80 and an eighth of the way to 8", time.Duration(n.latency))
	}
	n.observe(0, 3)
	n.observe(int64(time.Millisecond), int64(2*time.Minute))
	if n.latency != int64(time.Millisecond) {
		t.Errorf("latency is %v, want the new one after a minute without", time.Duration(n.latency))
	}
}

// balance_strategy=nearest stays near, and finds out once a minute whether the far node has come nearer.
func TestNearest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet("near", "far")
		o := options.New()
		o.BalanceStrategy = options.Nearest
		rtt := map[string]time.Duration{"near": time.Millisecond, "far": 30 * time.Millisecond}
		g := New(Config{Options: o, Dial: func(ctx context.Context, n NodeSpec) (Conn, error) {
			c, err := f.dial(ctx, n)
			if err != nil {
				return nil, err
			}
			return farConn{c.(*fakeConn), rtt[n.Address]}, nil
		}})
		specs := []NodeSpec{spec("near", 10, 0), spec("far", 10, 0)}
		g.Apply(specs)
		on := map[string]int{}
		for range 100 {
			for range 60 {
				l := mustLease(t, g, Request{})
				on[l.Node().Name]++
				l.Release()
				time.Sleep(100 * time.Millisecond)
			}
			g.Apply(specs)
		}
		// Ten minutes: the far one is tried about once in each, and at the beginning.
		if on["far"] < 8 || on["far"] > 40 {
			t.Errorf("of 6000 leases %d were far", on["far"])
		}
		for _, n := range g.Stats().Nodes {
			if n.Latency != rtt[n.Name] && n.Latency != 0 {
				t.Errorf("latency of %s is %v", n.Name, n.Latency)
			}
		}
		mustHold(t, g)
		_ = g.Close()
		synctest.Wait()
	})
}
