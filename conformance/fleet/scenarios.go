package fleet

import (
	"context"
	"testing"
	"time"
)

// run takes one fleet through all scenarios, one after another.
func (f *Fleet) run(t *testing.T, clients int) (loads []Load) {
	add := func(l Load) { loads = append(loads, l) }
	add(f.measure("all start together", time.Minute, func() { f.join(t, clients) }))
	time.Sleep(2 * time.Minute) // clients move to the nodes that they ask
	add(f.measure("quiet", 10*time.Minute, nil))
	add(f.measure("rolling restart", 3*time.Minute, func() { f.restart(t) }))
	time.Sleep(3 * time.Minute)
	add(f.measure("a third of the buckets moves", 3*time.Minute, f.rebalance))
	time.Sleep(time.Minute)
	add(f.measure("a node flaps", 3*time.Minute, f.flap))
	time.Sleep(3 * time.Minute)
	for _, n := range f.Cluster.Nodes() {
		n.Kill()
	}
	time.Sleep(time.Minute)
	add(f.measure("back after a full outage", 2*time.Minute, func() { f.back(t) }))
	return loads
}

// restart stops and starts replicas and then leaders, one after another: all of a small cluster, of a
// large one as many as an evening allows.
func (f *Fleet) restart(t *testing.T) {
	const most = 30
	nodes := f.Cluster.Nodes()
	for _, n := range nodes[:min(len(nodes), most)] {
		<-n.Stop()
		time.Sleep(time.Second)
		n.Start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := f.Cluster.WaitState(ctx, n.Name(), "Online"); err != nil {
			t.Error(err)
		}
		cancel()
		time.Sleep(4 * time.Second)
	}
}

// rebalance moves a third of the buckets to the last replicaset, in pieces over a minute and a half.
func (f *Fleet) rebalance() {
	const pieces, all = 30, 30_000
	sets := f.Cluster.Replicasets()
	to := sets[len(sets)-1]
	for i := range uint64(pieces) {
		from := i*all/pieces + 1
		if err := f.Cluster.MoveBuckets("default", from, from+all/pieces/3-1, to); err != nil {
			panic(err) // the arguments are this function's own
		}
		time.Sleep(3 * time.Second)
	}
}

// flap kills a node and starts it again, nine times.
func (f *Fleet) flap() {
	nodes := f.Cluster.Nodes()
	n := nodes[len(nodes)-1]
	for range 9 {
		n.Kill()
		time.Sleep(10 * time.Second)
		n.Start()
		time.Sleep(10 * time.Second)
	}
}

// back starts all that were killed, and waits until they are Online.
func (f *Fleet) back(t *testing.T) {
	var done []<-chan struct{}
	for _, n := range f.Cluster.Nodes() {
		done = append(done, n.Start())
	}
	for _, d := range done {
		<-d
	}
}
