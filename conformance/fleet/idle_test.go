package fleet

import (
	"database/sql"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// TestIdleClient holds what a client costs its own program in a cluster of a thousand instances, of which it uses a few.
func TestIdleClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 8
		cluster := picotest.Start(nil, picotest.Config{Network: picotest.Memory, Seed: 1, Statements: -1, Tiers: []picotest.Tier{
			{Name: "default", Replicasets: 2, ReplicationFactor: 2, Buckets: 30_000},
			{Name: "big", Replicasets: 332, ReplicationFactor: 3, Buckets: 30_000, RowsOnly: true},
		}})
		defer cluster.Close()
		cfg, err := picodata.ParseDSN(cluster.Nodes()[0].AdminDSN())
		if err != nil {
			t.Fatal(err)
		}
		open := func() (*sql.DB, *picodata.Connector) {
			c, err := picodata.NewConnector(cfg, options.WithDialFunc(cluster.DialContext))
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(c)
			if err := db.Ping(); err != nil {
				t.Fatal(err)
			}
			return db, c
		}
		first, _ := open() // what is made once in a program, and in the simulated cluster
		defer first.Close()
		time.Sleep(10 * time.Minute)
		before, routinesBefore := heap(), routines()
		var connectors []*picodata.Connector
		for range clients {
			db, c := open()
			defer db.Close()
			connectors = append(connectors, c)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		kept := (heap() - before) / clients
		connections := 0
		for _, c := range connectors {
			connections += c.Stats().Total.Open + 1 // and that of the topology
			if n := len(c.Topology().Instances); n != 1000 {
				t.Fatalf("%d instances are known", n)
			}
		}
		extra := routines() - routinesBefore - connections
		t.Logf("a client in a cluster of 1,000 instances: %.2f MB, %.1f goroutines beside %.1f connections",
			float64(kept)/(1<<20), float64(extra)/clients, float64(connections)/clients)
		if kept > 6<<20 {
			t.Errorf("a client keeps %d bytes", kept)
		}
		if extra > 4*clients {
			t.Errorf("%d clients run %d goroutines beside their %d connections", clients, extra, connections)
		}
	})
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// routines counts the goroutines of clients, the simulated servers' left out.
func routines() (n int) {
	buf := make([]byte, 1<<24)
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if !strings.Contains(stack, "/picotest") && (strings.Contains(stack, "go-picodata.") || strings.Contains(stack, "go-picodata/internal") || strings.Contains(stack, "database/sql.")) {
			n++
		}
	}
	return n
}
