package picotest_test

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/picotest"
)

// Many who log in at once don't get past the limit together.
func TestLimitHoldsAgainstSimultaneousLogins(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}})
	node := c.Node("i1")
	for range 20 {
		node.LimitConnections(3)
		connector, err := pq.NewConnector(node.AdminDSN())
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		var group sync.WaitGroup
		conns := make([]*sql.Conn, 16)
		for i := range conns {
			group.Go(func() { conns[i], _ = db.Conn(t.Context()) }) // most are refused
		}
		group.Wait()
		in := 0
		for _, conn := range node.Conns() {
			if conn.LoggedIn { // those that were refused may still be closing
				in++
			}
		}
		if in > 3 {
			t.Errorf("%d connections are in, the limit is 3", in)
		}
		db.Close()
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
		if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
			t.Fatal(err)
		}
	}
}
