package picotest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

// TestStress writes through all nodes while leaders switch, buckets move, replicas lag and connections break: whatever was
// acknowledged is there at the end, once.
func TestStress(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 30
	}
	const workers = 4
	seed := uint64(20261129)
	t.Logf("seed %d", seed)
	c := picotest.Start(t, picotest.Config{Scale: 0.001, Network: picotest.Memory, Tiers: []picotest.Tier{{Replicasets: 3, ReplicationFactor: 2}}})
	if err := c.Exec("create table t (id int primary key, w int) distributed by (id)"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	acknowledged := make([][]int, workers)
	for w := range workers {
		rnd := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			var conn *pgx.Conn
			for i := 0; ctx.Err() == nil; i++ {
				if conn == nil || conn.IsClosed() {
					nodes := c.Nodes()
					var err error
					if conn, err = connectInMemory(context.Background(), c, nodes[rnd.IntN(len(nodes))].AdminDSN()); err != nil {
						conn = nil
						continue
					}
				}
				id := w + i*workers
				if _, err := conn.Exec(context.Background(), "insert into t values ($1, $2)", id, w); err == nil {
					acknowledged[w] = append(acknowledged[w], id)
				}
			}
			if conn != nil {
				_ = conn.Close(context.Background())
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, workers))
	sets := c.Replicasets()
	for range rounds {
		rs := sets[rnd.IntN(len(sets))]
		switch rnd.IntN(5) {
		case 0:
			if replicas := c.Replicas(rs); len(replicas) > 0 {
				s := c.SwitchLeader(rs, replicas[0].Name())
				if err := s.Wait(ctx); err != nil {
					t.Error(err)
				}
			}
		case 1:
			first := uint64(rnd.IntN(2900) + 1)
			if err := c.MoveBuckets("default", first, first+uint64(rnd.IntN(100)), rs); err != nil {
				t.Error(err)
			}
		case 2:
			for _, n := range c.Replicas(rs) {
				n.Lag(true)
				n.LagRouter(true)
				n.Lag(false)
				n.LagRouter(false)
			}
		case 3:
			c.Leader(rs).DropConnections()
		case 4:
			n := c.Replicas(rs)[0]
			<-n.Stop()
			<-n.Start()
		}
	}
	stop()
	wg.Wait()
	rows, err := c.Query("select id from t option (sql_motion_row_max = 0, sql_vdbe_opcode_max = 0)")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, r := range rows {
		there[fmt.Sprint(r[0])]++
	}
	total := 0
	for _, list := range acknowledged {
		total += len(list)
		for _, id := range list {
			if n := there[fmt.Sprint(id)]; n != 1 {
				t.Errorf("row %d was acknowledged and is there %d times", id, n)
			}
		}
	}
	if total == 0 {
		t.Error("nothing was written")
	}
	t.Logf("%d rows acknowledged, %d there", total, len(rows))
}
