package conformance

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// leaderSwitch makes a replica the leader while rows are written, and back.
func leaderSwitch(t *testing.T, s *subject) {
	s.need(t, s.target.AdminDSN != "", "PICODATA_ADMIN_DSN")
	s.need(t, s.topology.RolesKnown, "the right to read _pico_replicaset")
	var old, next *metadata.Instance
	for i := range s.topology.Instances {
		in := &s.topology.Instances[i]
		if in.Role != metadata.RoleReplica || in.State != metadata.Online {
			continue
		}
		if l, ok := s.topology.Leader(in.ReplicasetUUID); ok {
			old, next = l, in
			break
		}
	}
	s.need(t, next != nil, "a replicaset of two")
	admin, _ := s.open(t, s.target.AdminDSN)
	db, conn := s.with(t, options.WithTopologyUpdateInterval(500*time.Millisecond))
	table := s.table(t, "id INT PRIMARY KEY, n INT")

	var stop atomic.Bool
	var written, refused, unknown atomic.Int64
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := 0; !stop.Load(); i++ {
				_, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" VALUES ($1, $2)", w*1_000_000+i, i)
				switch {
				case err == nil:
					written.Add(1)
				case picodata.IsOutcomeUnknown(err):
					unknown.Add(1)
				default:
					refused.Add(1)
					t.Logf("a write during the switch: %v", err)
				}
			}
		})
	}
	become := func(in *metadata.Instance) {
		t.Helper()
		s.exec(t, admin, "UPDATE _pico_replicaset SET target_master_name = $1 WHERE name = $2", in.Name, in.ReplicasetName)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			if l, ok := conn.Topology().Leader(in.ReplicasetUUID); ok && l.UUID == in.UUID {
				return
			}
			if err := db.PingContext(ctx); err != nil {
				t.Errorf("%s doesn't become the leader: %v", in.Name, err)
				return
			}
		}
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	become(next)
	become(old)
	stop.Store(true)
	group.Wait()
	t.Logf("%d rows written, %d refused, %d with an outcome unknown", written.Load(), refused.Load(), unknown.Load())
	n := s.number(t, s.db, "SELECT count(*) FROM "+table)
	if n < written.Load() || n > written.Load()+unknown.Load() {
		t.Errorf("%d rows: %d were confirmed, %d are unknown", n, written.Load(), unknown.Load())
	}
	if written.Load() == 0 {
		t.Error("nothing was written")
	}
}
