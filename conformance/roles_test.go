package conformance

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// roles is about instance_role and read_preference: the server itself says where a statement ran.
func roles(t *testing.T, s *subject) {
	s.need(t, s.topology.RolesKnown, "the right to read _pico_replicaset")
	replicas := 0
	for i := range s.topology.Instances {
		if s.topology.Instances[i].Role == metadata.RoleReplica {
			replicas++
		}
	}
	ranOn := func(t *testing.T, db *sql.DB, ctx context.Context) metadata.Role {
		t.Helper()
		uuid := s.ranOn(t, ctx, db)
		in, ok := s.topology.Instance(uuid)
		if !ok {
			t.Fatalf("an instance that nobody knows: %s", uuid)
		}
		return in.Role
	}
	for _, c := range []struct {
		name string
		role options.InstanceRole
		want metadata.Role
	}{{"leader", options.RoleLeader, metadata.RoleLeader}, {"replica", options.RoleReplica, metadata.RoleReplica}} {
		t.Run(c.name, func(t *testing.T) {
			s.need(t, replicas > 0 || c.role != options.RoleReplica, "a replica")
			db, _ := s.with(t, options.WithInstanceRole(c.role))
			for range 4 * len(s.topology.Instances) {
				if got := ranOn(t, db, t.Context()); got != c.want {
					t.Errorf("instance_role=%s: ran on a %s", c.name, got)
				}
			}
		})
	}
	t.Run("hints", func(t *testing.T) {
		for range 2 * len(s.topology.Instances) {
			if got := ranOn(t, s.db, picodata.ToLeader(t.Context())); got != metadata.RoleLeader {
				t.Errorf("ToLeader ran on a %s", got)
			}
		}
		s.need(t, replicas > 0, "a replica")
		for range 2 * len(s.topology.Instances) {
			if got := ranOn(t, s.db, picodata.ToReplica(t.Context())); got != metadata.RoleReplica {
				t.Errorf("ToReplica ran on a %s", got)
			}
		}
	})
	t.Run("a hint against the role", func(t *testing.T) {
		db, _ := s.with(t, options.WithInstanceRole(options.RoleLeader))
		var none *picodata.NoNodeError
		if _, err := db.ExecContext(picodata.ToReplica(t.Context()), "SELECT 1"); !errors.As(err, &none) {
			t.Errorf("ToReplica under instance_role=leader: %v", err)
		}
	})
	t.Run("read_preference", func(t *testing.T) {
		s.need(t, s.version.AtLeast(26, 1), "read_preference, of 26.1")
		table := s.table(t, "id INT PRIMARY KEY, n INT")
		for i := range 20 {
			s.exec(t, s.db, "INSERT INTO "+table+" VALUES ($1, $2)", i, i)
		}
		for _, p := range []options.ReadPreference{options.ReadPreferenceLeader, options.ReadPreferenceAny, options.ReadPreferenceReplica} {
			if p == options.ReadPreferenceReplica {
				s.need(t, len(metadata.ReplicasetsWithoutReplica(s.topology)) == 0, "a replica in every replicaset")
			}
			db, _ := s.with(t, options.WithReadPreference(p))
			for i := range 20 {
				// A replica may lag: a row that isn't there yet is no fault of anybody's.
				var n int
				err := db.QueryRowContext(t.Context(), "SELECT n FROM "+table+" WHERE id = $1", i).Scan(&n)
				if err != nil && !(errors.Is(err, sql.ErrNoRows) && p != options.ReadPreferenceLeader) || err == nil && n != i {
					t.Errorf("%v: row %d: %d, %v", p, i, n, err)
				}
			}
		}
	})
}
