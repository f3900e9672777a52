package pool

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

// benchConn costs nothing, so that the gate alone is measured.
type benchConn struct{}

func (benchConn) Close() error { return nil }
func (benchConn) Usable() bool { return true }
func (benchConn) Alive() bool  { return true }

func benchGate(b *testing.B, o *options.Config, nodes, perNode int) *Gate {
	g := New(Config{Options: o, Dial: func(context.Context, NodeSpec) (Conn, error) { return benchConn{}, nil }})
	specs := make([]NodeSpec, nodes)
	for i := range specs {
		specs[i] = spec(fmt.Sprintf("i%d", i), 10, perNode)
	}
	g.Apply(specs)
	for warm := 0; warm < nodes*perNode; {
		var leases []Lease
		for range nodes * perNode {
			l, err := g.Lease(context.Background(), Request{})
			if err != nil {
				b.Fatal(err)
			}
			leases = append(leases, l)
		}
		warm = len(leases)
		releaseAll(leases)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

// BenchmarkLease is lease and release of an idle connection.
func BenchmarkLease(b *testing.B) {
	for _, strategy := range []options.BalanceStrategy{options.RoundRobin, options.LeastBusy} {
		for _, nodes := range []int{1, 3, 100, 1000} {
			for _, workers := range []int{1, 32} {
				b.Run(fmt.Sprintf("%v/nodes=%d/workers=%d", strategy, nodes, workers), func(b *testing.B) {
					o := options.New()
					o.BalanceStrategy = strategy
					per := max(64/nodes, 1)
					g := benchGate(b, o, nodes, per)
					ctx := context.Background()
					inWorkers(b, workers, func() error {
						l, err := g.Lease(ctx, Request{})
						l.Release()
						return err
					})
				})
			}
		}
	}
}

// BenchmarkLeaseReplicaset is the lease of a routed statement: 1,000 nodes, 500 replicasets.
func BenchmarkLeaseReplicaset(b *testing.B) {
	g := New(Config{Options: options.New(), Dial: func(context.Context, NodeSpec) (Conn, error) { return benchConn{}, nil }})
	specs := make([]NodeSpec, 1000)
	for i := range specs {
		specs[i] = spec(fmt.Sprintf("i%d", i), 10, 0)
		specs[i].Replicaset = fmt.Sprintf("rs%d", i/2)
	}
	g.Apply(specs)
	defer g.Close()
	ctx := context.Background()
	reqs := make([]Request, 500)
	for i := range reqs {
		reqs[i] = Request{Replicaset: fmt.Sprintf("rs%d", i), Role: options.RoleLeader}
		for range 2 {
			l, err := g.Lease(ctx, reqs[i])
			if err != nil {
				b.Fatal(err)
			}
			l.Release()
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		l, err := g.Lease(ctx, reqs[i%500])
		if err != nil {
			b.Fatal(err)
		}
		l.Release()
		i++
	}
}

// BenchmarkStats is a snapshot of 1,000 nodes. It takes no lock.
func BenchmarkStats(b *testing.B) {
	g := benchGate(b, options.New(), 1000, 1)
	b.ReportAllocs()
	for b.Loop() {
		_ = g.Stats()
	}
}

// BenchmarkApply is the reconciliation of 1,000 nodes that haven't changed.
func BenchmarkApply(b *testing.B) {
	o := options.New()
	o.AcquireTimeout = time.Second
	g := benchGate(b, o, 1000, 1)
	specs := make([]NodeSpec, 1000)
	for i := range specs {
		specs[i] = spec(fmt.Sprintf("i%d", i), 10, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Apply(specs)
	}
}
