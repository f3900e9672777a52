package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Fleet is a cluster and its clients. It lives in a bubble of testing/synctest.
type Fleet struct {
	Cluster *picotest.Cluster

	clients    []*sql.DB
	connectors []*picodata.Connector
	stop       chan struct{}
	workers    sync.WaitGroup
	ran        atomic.Int64 // statements of the clients that the servers answered
	failed     atomic.Int64
}

// pause is between two statements of one client.
const pause = 5 * time.Second

// start makes a cluster of so many instances, three a replicaset, and no client.
func start(t *testing.T, instances int) *Fleet {
	factor := 3
	if instances < 6 {
		factor = 1
	}
	cluster := picotest.Start(nil, picotest.Config{
		Network: picotest.Memory, Seed: 1, Statements: -1,
		Tiers: []picotest.Tier{{Name: "default", Replicasets: instances / factor, ReplicationFactor: factor, Buckets: 30_000}},
	})
	f := &Fleet{Cluster: cluster, stop: make(chan struct{})}
	t.Cleanup(f.close)
	return f
}

// join starts clients, all at once.
func (f *Fleet) join(t *testing.T, n int) {
	first, err := picodata.ParseDSN(f.Cluster.Nodes()[0].AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		c, err := picodata.NewConnector(first, options.WithDialFunc(f.Cluster.DialContext), options.WithAcquireTimeout(4*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(c)
		f.clients, f.connectors = append(f.clients, db), append(f.connectors, c)
		f.workers.Go(func() { f.work(db) })
	}
}

// work is what one client does: a statement at once, and one every pause from a moment of its own.
func (f *Fleet) work(db *sql.DB) {
	next := time.Duration(rand.Int64N(int64(pause)))
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		var one int
		if err := db.QueryRowContext(ctx, "select 1").Scan(&one); err != nil {
			f.failed.Add(1)
		} else {
			f.ran.Add(1)
		}
		cancel()
		select {
		case <-f.stop:
			return
		case <-time.After(next):
			next = pause
		}
	}
}

func (f *Fleet) close() {
	close(f.stop)
	f.workers.Wait()
	for _, db := range f.clients {
		_ = db.Close()
	}
	f.Cluster.Close()
}

// Load is what the servers saw over a time, the clients' own statements left out.
type Load struct {
	Scenario           string
	Clients, Instances int
	Queries            float64 // per second, of all clients together, without the one that follows each login
	Bytes              float64 // sent by the servers, per second
	Logins             float64 // per second
	LoginPeak          int     // in one second, over all nodes
	ConnsMean          float64 // per node, at the end
	ConnsMost          int     // on one node, at the end
	Failed             int64   // of the clients' statements
}

// measure looks at the servers each second while f runs, and for as long as it takes, but rest at least.
func (f *Fleet) measure(scenario string, rest time.Duration, act func()) Load {
	begin, began := f.Cluster.Counters(), time.Now()
	ran, failed := f.ran.Load(), f.failed.Load()
	peak, last := 0, begin.Logins
	done := make(chan struct{})
	go func() {
		defer close(done)
		if act != nil {
			act()
		}
	}()
	for over := false; !over || time.Since(began) < rest; {
		time.Sleep(time.Second)
		now := f.Cluster.Counters().Logins
		peak, last = max(peak, now-last), now
		select {
		case <-done:
			over = true
		default:
		}
	}
	end, seconds := f.Cluster.Counters(), time.Since(began).Seconds()
	l := Load{
		Scenario: scenario, Clients: len(f.clients), Instances: len(f.Cluster.Nodes()),
		// Each login is followed by one question, who answers: it is counted with the logins.
		Queries:   max(float64(end.Statements-begin.Statements-int(f.ran.Load()-ran)-(end.Logins-begin.Logins)), 0) / seconds,
		Bytes:     float64(end.BytesSent-begin.BytesSent) / seconds,
		Logins:    float64(end.Logins-begin.Logins) / seconds,
		LoginPeak: peak,
		Failed:    f.failed.Load() - failed,
	}
	for _, n := range f.Cluster.Nodes() {
		open := n.Counters().Open
		l.ConnsMean += float64(open) / float64(l.Instances)
		l.ConnsMost = max(l.ConnsMost, open)
	}
	return l
}

// String is a row of the table.
func (l Load) String() string {
	per := func(v float64) float64 { return v / float64(max(l.Clients, 1)) }
	return fmt.Sprintf("| %s | %d | %d | %.1f | %.3f | %.0f | %.1f | %d | %.1f | %d | %d |",
		l.Scenario, l.Instances, l.Clients, l.Queries, per(l.Queries), per(l.Bytes), l.Logins, l.LoginPeak, l.ConnsMean, l.ConnsMost, l.Failed)
}

// Header is the head of the table of rows.
const Header = "| scenario | instances | clients | queries/s | … per client | bytes/s per client | logins/s | most logins in a second | connections per node | most on one node | failed statements |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
