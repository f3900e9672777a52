package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// routing is about statements that go straight to the leader of their bucket.
func routing(t *testing.T, s *subject) {
	s.need(t, s.topology.RolesKnown, "the right to read _pico_replicaset")
	const keys = 60
	for _, c := range []struct {
		name, columns, by string
		args              func(i int) []any
	}{
		{"int", "id INT PRIMARY KEY, n INT", "id", func(i int) []any { return []any{i * 7919, i} }},
		{"text", "id TEXT PRIMARY KEY, n INT", "id", func(i int) []any { return []any{fmt.Sprintf("ключ %d", i), i} }},
		{"uuid", "id UUID PRIMARY KEY, n INT", "id", func(i int) []any { return []any{fmt.Sprintf("f81d4fae-7dec-11d0-a765-00a0c91e%04x", i), i} }},
		{"two columns", "a INT, b TEXT, n INT, PRIMARY KEY (a, b)", "b, a", func(i int) []any { return []any{i, fmt.Sprint("b", i), i} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.need(t, s.version.HasBucketFunction(), "_pico_bucket(), of 25.5")
			s.need(t, s.version.HasQueryMetadata() || !slices.Contains(s.topology.Denied, "_pico_table"), "notices of sharding keys, of 26.1, or the right to read _pico_table")
			table := s.table(t, c.columns, "DISTRIBUTED BY ("+c.by+")")
			first := c.args(0)
			marks := make([]string, len(first))
			for i := range marks {
				marks[i] = fmt.Sprintf("$%d", i+1)
			}
			insert := fmt.Sprintf("INSERT INTO %s VALUES (%s)", table, strings.Join(marks, ", "))
			db, conn := s.with(t)
			s.exec(t, db, insert, first...) // the first tells the key
			owners := map[string]int{}
			for i := 1; i < keys; i++ {
				plan, err := conn.Explain(t.Context(), insert, c.args(i)...)
				if err != nil {
					t.Fatal(err)
				}
				if plan.Reason != "routed" {
					t.Fatalf("not routed: %v", plan)
				}
				owners[plan.Node.Name]++
				s.exec(t, db, insert, c.args(i)...)
				// The server's word on where the row is.
				bucket := s.number(t, db, fmt.Sprintf("SELECT bucket_id FROM %s WHERE n = $1", table), i)
				if uint64(bucket) != plan.Bucket {
					t.Errorf("%v: the driver says bucket %d, the server %d", c.args(i), plan.Bucket, bucket)
				}
			}
			leaders := 0
			for i := range s.topology.Replicasets {
				if _, ok := s.topology.Leader(s.topology.Replicasets[i].UUID); ok {
					leaders++
				}
			}
			if len(owners) < min(leaders, 2) {
				t.Errorf("all rows went to %v of %d leaders", owners, leaders)
			}
			if n := conn.Stats().Routing["routed"]; n < keys-1 {
				t.Errorf("%d of %d statements were routed: %v", n, keys, conn.Stats().Routing)
			}
		})
	}
	t.Run("nothing is forwarded", func(t *testing.T) {
		s.need(t, s.version.HasForward(), "forward, of 26.2")
		table := s.table(t, "id INT PRIMARY KEY, n INT")
		// The server refuses what its instance would have to pass on.
		db, conn := s.with(t, options.WithForward(options.ForwardOff))
		insert := "INSERT INTO " + table + " VALUES ($1, $2)"
		s.exec(t, db, insert, 0, 0)
		before := conn.Stats().Statements
		for i := 1; i < keys; i++ {
			s.exec(t, db, insert, i, i)
		}
		after := conn.Stats().Statements
		if n := after.Reroutes - before.Reroutes; n != 0 {
			t.Errorf("%d of %d INSERTs met an instance that would have passed them on", n, keys-1)
		}
		if n := s.number(t, s.db, "SELECT count(*) FROM "+table); n != keys {
			t.Errorf("%d rows of %d", n, keys)
		}
		// The proof's own proof: on the wrong node the server does refuse. Explain tells the right one.
		plan, err := conn.Explain(t.Context(), insert, keys, keys)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.topology.Instances {
			in := &s.topology.Instances[i]
			if in.ReplicasetName == plan.Replicaset || in.Tier != plan.Tier || in.Role != metadata.RoleLeader {
				continue
			}
			ctx := picodata.NoRetry(picodata.ToInstance(t.Context(), in.Name))
			if _, err := db.ExecContext(ctx, insert, keys, keys); err == nil {
				t.Errorf("%s ran an INSERT of %s", in.Name, plan.Replicaset)
			}
		}
	})
}
