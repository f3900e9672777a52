package pool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

var stressTime = flag.Duration("pool.stress", 0, "run TestStress for this long; 0 = a bounded number of leases")

// OV10: 500 callers that give up at random, topology that changes, statistics that are read, for real and in
// parallel. The servers never see more than the cap, and in the end nothing is held. Use it with -race.
func TestStress(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newNet()
	o := options.New()
	o.AcquireTimeout = time.Second
	o.MaxConnLifetime = 50 * time.Millisecond
	g := New(Config{Dial: f.dial, Classify: classify, Options: o, OnEvent: func(Event) {}})
	all := []NodeSpec{spec("n0", 10, 5), spec("n1", 10, 5), spec("n2", 5, 5), spec("n3", 0, 5)}
	g.Apply(all)
	var left atomic.Int64
	left.Store(20_000)
	if testing.Short() {
		left.Store(5_000)
	}
	end := time.Time{}
	if *stressTime > 0 {
		left.Store(1 << 60)
		end = time.Now().Add(*stressTime)
	}
	more := func() bool { return left.Add(-1) >= 0 && (end.IsZero() || time.Now().Before(end)) }
	var callers, others sync.WaitGroup
	for i := range 500 {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		callers.Go(func() {
			for more() {
				ctx, cancel := context.WithCancel(context.Background())
				if rnd.IntN(3) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(2000))*time.Microsecond, cancel)
				}
				req := Request{}
				if rnd.IntN(4) == 0 {
					req = Request{Replicaset: "rs-n1", Strict: rnd.IntN(2) == 0}
				}
				l, err := g.Lease(ctx, req)
				if err == nil {
					switch rnd.IntN(40) {
					case 0:
						l.Discard(Given)
					case 1:
						l.Discard(Lost)
					default:
						l.Release()
					}
				} else if !errors.Is(err, context.Canceled) {
					var timeout *AcquireTimeoutError
					var none *NoNodeError
					if !errors.As(err, &timeout) && !errors.As(err, &none) {
						t.Errorf("lease: %v", err)
					}
				}
				cancel()
			}
		})
	}
	done := make(chan struct{})
	others.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 1<<20))
		for {
			select {
			case <-done:
				return
			default:
			}
			g.Apply(all[:2+rnd.IntN(3)])
			_ = g.Stats()
			if err := g.check(); err != nil {
				t.Errorf("law broken: %v", err)
			}
		}
	})
	callers.Wait()
	close(done)
	others.Wait()
	for name, n := range f.nodes {
		if most := n.get(mostOf); most > 5 {
			t.Errorf("%s had %d connections, its cap is 5", name, most)
		}
	}
	mustHold(t, g)
	quiesce(t, g, f)
}

// The way of a statement that finds an idle connection allocates nothing.
func TestLeaseAllocatesNothing(t *testing.T) {
	for _, strategy := range []options.BalanceStrategy{options.RoundRobin, options.Random, options.LeastBusy, options.Nearest} {
		f := newNet()
		o := options.New()
		o.BalanceStrategy = strategy
		g := New(Config{Dial: f.dial, Options: o})
		g.Apply([]NodeSpec{spec("A", 10, 5), spec("B", 10, 5), spec("C", 0, 5)})
		ctx := context.Background()
		for _, req := range []Request{{}, {Replicaset: "rs-B", Role: options.RoleLeader, Strict: true}, {Tier: "default"}} {
			var warm []Lease
			for range 10 {
				l, err := g.Lease(ctx, req)
				if err != nil {
					break
				}
				warm = append(warm, l)
				if len(warm) == 5 {
					break
				}
			}
			releaseAll(warm)
			if n := testing.AllocsPerRun(100, func() {
				l, err := g.Lease(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				l.Release()
			}); n != 0 {
				t.Errorf("%v, %+v: %v allocations", strategy, req, n)
			}
		}
		quiesce(t, g, f)
	}
}

var stressLarge = flag.Bool("pool.large", false, "run TestStressManyNodes with 10,000 waiters, 1,000 nodes and 100 snapshots")

// Many waiters of all kinds, for a cap that is a fraction of them, while snapshots switch leaders and take nodes away and
// back. Everybody gets an answer, the laws hold and nothing is left. Use it with -race.
func TestStressManyNodes(t *testing.T) {
	waiters, nodes, snapshots := 1000, 100, 10
	if *stressLarge {
		waiters, nodes, snapshots = 10_000, 1000, 100
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newNet()
	o := options.New()
	o.MaxConns = nodes + nodes/5
	o.AcquireTimeout = 0
	g := New(Config{Dial: f.dial, Classify: classify, Options: o, OnEvent: func(Event) {}})
	snapshot := func(round int) []NodeSpec {
		specs := make([]NodeSpec, 0, nodes)
		for i := range nodes {
			if i%7 == round%7 && round < snapshots {
				continue // gone, for once
			}
			s := spec(fmt.Sprintf("n%d", i), 10, 4)
			s.Replicaset = fmt.Sprintf("rs%d", i/2)
			s.Role = metadata.Role(1 + (i+round)%2)
			specs = append(specs, s)
		}
		return specs
	}
	g.Apply(snapshot(snapshots))
	var callers sync.WaitGroup
	var none atomic.Int64
	for i := range waiters {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		callers.Go(func() {
			for range 5 {
				req := Request{Strict: rnd.IntN(2) == 0}
				switch rnd.IntN(4) {
				case 0:
					req.Node = fmt.Sprintf("n%d", rnd.IntN(nodes))
				case 1:
					req.Replicaset, req.Role = fmt.Sprintf("rs%d", rnd.IntN(nodes/2)), options.RoleLeader
				case 2:
					req.Role = options.RoleReplica
				}
				l, err := g.Lease(context.Background(), req)
				var no *NoNodeError
				switch {
				case err == nil:
					runtime.Gosched()
					l.Release()
				case errors.As(err, &no):
					none.Add(1)
				default:
					t.Errorf("%+v: %v", req, err)
				}
			}
		})
	}
	for round := range snapshots {
		g.Apply(snapshot(round))
		if round%10 == 0 { // it looks at each pair of nodes
			if err := g.check(); err != nil {
				t.Errorf("law broken: %v", err)
			}
		}
	}
	g.Apply(snapshot(snapshots))
	callers.Wait()
	mustHold(t, g)
	t.Logf("%d of %d requests found no node", none.Load(), 5*waiters)
	quiesce(t, g, f)
}
