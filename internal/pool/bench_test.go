package pool

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/metadata"
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

// thousand is 1,000 nodes in 500 replicasets; in odd rounds the other node leads.
func thousand(round int) []NodeSpec {
	specs := make([]NodeSpec, 1000)
	for i := range specs {
		specs[i] = spec(fmt.Sprintf("i%d", i), 10, 0)
		specs[i].Replicaset = fmt.Sprintf("rs%d", i/2)
		specs[i].Role = metadata.Role(1 + (i+round)%2)
	}
	return specs
}

// asked is a gate of a thousand nodes of which each was asked for by itself, and each replicaset's leader.
func askedGate(tb testing.TB) *Gate {
	g := New(Config{Options: options.New(), Dial: func(context.Context, NodeSpec) (Conn, error) { return benchConn{}, nil }})
	g.Apply(thousand(0))
	for i := range 1000 {
		for _, req := range []Request{{Node: fmt.Sprintf("i%d", i)}, {Replicaset: fmt.Sprintf("rs%d", i/2), Role: options.RoleLeader}} {
			l, err := g.Lease(context.Background(), req)
			if err != nil {
				tb.Fatal(err)
			}
			l.Release()
		}
	}
	for _, role := range []options.InstanceRole{options.RoleLeader, options.RoleReplica} {
		mustLease(tb, g, Request{Role: role, Strict: true}).Release()
	}
	tb.Cleanup(func() { g.Close() })
	return g
}

// What requests for a thousand nodes and five hundred leaders leave behind: nodes, connections and classes in all.
func TestClassesAreSmall(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	g := askedGate(t)
	if size := heap() - before; size > 4<<20 {
		t.Errorf("a gate of a thousand nodes takes %d KB", size>>10)
	} else {
		t.Logf("a gate of a thousand nodes takes %d KB", size>>10)
	}
	// Nothing is left of what nodes were called before.
	for round := range 5 {
		specs := thousand(0)
		for i := range specs {
			specs[i].ID = fmt.Sprintf("r%d-%s", round, specs[i].ID)
		}
		g.Apply(specs)
		for i := range specs {
			mustLease(t, g, Request{Node: specs[i].ID, Strict: true}).Release()
		}
	}
	for len(g.Stats().Nodes) > 1000 { // their connections are being closed
		runtime.Gosched()
	}
	if size := heap() - before; size > 4<<20 {
		t.Errorf("after the nodes changed their uuids it takes %d KB", size>>10)
	}
}

// BenchmarkSwitch is a snapshot in which all five hundred replicasets have another leader.
func BenchmarkSwitch(b *testing.B) {
	g := askedGate(b)
	rounds := [2][]NodeSpec{thousand(0), thousand(1)}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		g.Apply(rounds[i%2])
	}
}

// BenchmarkPumpAmongWaiters is one lease of a full node that is handed over while a thousand other nodes have waiters.
func BenchmarkPumpAmongWaiters(b *testing.B) {
	o := options.New()
	o.AcquireTimeout = 0
	g := New(Config{Options: o, Dial: func(context.Context, NodeSpec) (Conn, error) { return benchConn{}, nil }})
	specs := thousand(0)
	for i := range specs {
		specs[i].MaxConns = 1
	}
	g.Apply(specs)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for i := range 999 {
		mustLease(b, g, Request{Node: fmt.Sprintf("i%d", i+1), Strict: true})
		group.Go(func() { _, _ = g.Lease(ctx, Request{Node: fmt.Sprintf("i%d", i+1), Strict: true}) })
	}
	req := Request{Node: "i0", Strict: true}
	b.ReportAllocs()
	inWorkers(b, 2, func() error {
		l, err := g.Lease(context.Background(), req)
		l.Release()
		return err
	})
	cancel()
	group.Wait()
	g.Close()
}
