package conformance

import (
	"errors"
	"sync"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// limits is about the driver's bounds on connections, and about their being given back.
func limits(t *testing.T, s *subject) {
	t.Run("one connection per instance", func(t *testing.T) {
		db, conn := s.with(t, options.WithMaxConnsPerInstance(1))
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				for i := range 25 {
					var n int
					if err := db.QueryRowContext(t.Context(), "SELECT $1::INT", i).Scan(&n); err != nil || n != i {
						t.Errorf("%d, %v", n, err)
					}
					for _, node := range conn.Stats().Nodes {
						if open := node.Open; open > 1 {
							t.Errorf("%s has %d connections", node.Name, open)
						}
					}
				}
			})
		}
		group.Wait()
		if n := conn.Stats().Total.InUse; n != 0 {
			t.Errorf("%d connections are still in use", n)
		}
		// The dials that the server saw are the driver's own count; it must not exceed a connection per instance and a
		// little for those that broke.
		if n := conn.Stats().Total.Dials; n > uint64(2*len(s.topology.Instances)) {
			t.Errorf("%d dials for %d instances", n, len(s.topology.Instances))
		}
	})
	t.Run("the whole cluster", func(t *testing.T) {
		db, _ := s.with(t, options.WithMaxConnsPerInstance(1), options.WithAcquireTimeout(200*time.Millisecond))
		for range s.topology.Instances {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s.exec(t, conn, "SELECT 1") // ties it
		}
		var full *picodata.AcquireTimeoutError
		if _, err := db.ExecContext(t.Context(), "SELECT 1"); !errors.As(err, &full) {
			t.Errorf("with every connection taken: %v", err)
		}
	})
}
