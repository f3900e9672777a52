package conformance

import (
	"sync"
	"testing"
)

// concurrency is many goroutines on one handle: nothing is lost, nothing is done twice.
func concurrency(t *testing.T, s *subject) {
	table := s.table(t, "id INT PRIMARY KEY, worker INT")
	const workers, each = 12, 40
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				id := w*each + i
				if _, err := s.db.ExecContext(t.Context(), "INSERT INTO "+table+" VALUES ($1, $2)", id, w); err != nil {
					t.Errorf("INSERT %d: %v", id, err)
					continue
				}
				var got int
				if err := s.db.QueryRowContext(t.Context(), "SELECT worker FROM "+table+" WHERE id = $1", id).Scan(&got); err != nil || got != w {
					t.Errorf("row %d: %d, %v", id, got, err)
				}
			}
		})
	}
	group.Wait()
	if n := s.number(t, s.db, "SELECT count(*) FROM "+table); n != workers*each {
		t.Errorf("%d rows of %d", n, workers*each)
	}
	if n := s.conn.Stats().Total.InUse; n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}
