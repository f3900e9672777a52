package conformance

import (
	"fmt"
	"sync"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// prepared is about db.Prepare over many nodes, and about statements that change beneath it.
func prepared(t *testing.T, s *subject) {
	t.Run("over all nodes", func(t *testing.T) {
		one, err := s.db.PrepareContext(t.Context(), "SELECT $1::INT")
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		three, err := s.db.PrepareContext(t.Context(), "SELECT $1::INT + $2::INT + $3::INT")
		if err != nil {
			t.Fatal(err)
		}
		defer three.Close()
		var group sync.WaitGroup
		for w := range 8 {
			group.Go(func() {
				for i := range 50 {
					var a, b int
					if err := one.QueryRowContext(t.Context(), w*i).Scan(&a); err != nil || a != w*i {
						t.Errorf("one parameter: %d, %v", a, err)
					}
					if err := three.QueryRowContext(t.Context(), w, i, 1).Scan(&b); err != nil || b != w+i+1 {
						t.Errorf("three parameters: %d, %v", b, err)
					}
				}
			})
		}
		group.Wait()
	})
	t.Run("eager", func(t *testing.T) {
		db, _ := s.with(t, options.WithPrepare(options.PrepareEager))
		if _, err := db.PrepareContext(t.Context(), "SELEKT 1"); err == nil {
			t.Error("a wrong text was prepared")
		}
		stmt, err := db.PrepareContext(t.Context(), "SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		if err := stmt.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("the table changes", func(t *testing.T) {
		table := s.table(t, "id INT PRIMARY KEY, n INT")
		insert, err := s.db.PrepareContext(t.Context(), "INSERT INTO "+table+" VALUES ($1, $2)")
		if err != nil {
			t.Fatal(err)
		}
		defer insert.Close()
		id := 0
		run := func() {
			t.Helper()
			for range 20 {
				id++
				if _, err := insert.ExecContext(t.Context(), id, id); err != nil {
					t.Errorf("INSERT %d: %v", id, err)
				}
			}
		}
		run() // named on the servers by now
		s.exec(t, s.db, "CREATE INDEX "+table+"_n ON "+table+" (n) OPTION (TIMEOUT = 60)")
		run()
		if n := s.number(t, s.db, "SELECT count(*) FROM "+table); int(n) != id {
			t.Errorf("%d rows of %d", n, id)
		}
	})
	t.Run("more texts than are kept", func(t *testing.T) {
		db, conn := s.with(t, options.WithStatementCacheSize(4), options.WithStatementCacheThreshold(1), options.WithMaxConnsPerInstance(1))
		for round := range 3 {
			for i := range 12 {
				if n := s.number(t, db, fmt.Sprintf("SELECT $1::INT + %d", i), round); int(n) != round+i {
					t.Errorf("%d + %d = %d", round, i, n)
				}
			}
		}
		if n := conn.Stats().Statements.Failed; n != 0 {
			t.Errorf("%d statements failed", n)
		}
	})
}
