package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	picodata "github.com/picodata/go-picodata"
)

// cancellation is about contexts that end at whatever moment.
func cancellation(t *testing.T, s *subject) {
	table := s.table(t, "id INT PRIMARY KEY, n INT")
	for i := range 50 {
		s.exec(t, s.db, "INSERT INTO "+table+" VALUES ($1, $2)", i, i)
	}
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.db.ExecContext(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("while rows are read", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rows, err := s.db.QueryContext(ctx, "SELECT id FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		cancel()
		n := 1
		for rows.Next() {
			n++
		}
		// database/sql closes the rows on a goroutine of its own: a short result may be read to its end before that.
		if err := rows.Err(); !errors.Is(err, context.Canceled) && (err != nil || n != 50) {
			t.Errorf("after %d of 50 rows: %v", n, err)
		}
	})
	t.Run("at any moment", func(t *testing.T) {
		before := s.conn.Stats()
		var group sync.WaitGroup
		for w := range 8 {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			group.Go(func() {
				for range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					begun := make(chan struct{})
					spins := rnd.IntN(20000)
					go func() {
						<-begun
						for range spins {
							_ = ctx.Err()
						}
						cancel()
					}()
					close(begun)
					rows, err := s.db.QueryContext(ctx, "SELECT id FROM "+table+" WHERE n < $1", 40)
					if err == nil {
						for rows.Next() {
						}
						err = errors.Join(rows.Err(), rows.Close())
					}
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("a cancelled statement gave %v", err)
					}
					cancel()
				}
			})
		}
		group.Wait()
		after := s.conn.Stats()
		for _, n := range after.Nodes {
			if n.Ejections != 0 {
				t.Errorf("%s was ejected: callers that gave up are no failure of a node", n.Name)
			}
		}
		if after.Total.InUse != 0 {
			t.Errorf("%d connections are still in use", after.Total.InUse)
		}
		if before.Total.InUse != 0 {
			t.Errorf("%d connections were in use before", before.Total.InUse)
		}
		s.number(t, s.db, "SELECT count(*) FROM "+table)
	})
	t.Run("writes", func(t *testing.T) {
		// Each key is inserted under a context that ends some time; afterwards it is there once or not at all,
		// and the caller was told the truth.
		unknown := 0
		for i := range 60 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range i * 300 {
					_ = ctx.Err()
				}
				cancel()
			}()
			_, err := s.db.ExecContext(ctx, "INSERT INTO "+table+" VALUES ($1, $2)", 1000+i, i)
			cancel()
			n := s.number(t, s.db, "SELECT count(*) FROM "+table+" WHERE id = $1", 1000+i)
			switch {
			case err == nil && n != 1:
				t.Errorf("INSERT %d succeeded and left %d rows", i, n)
			case err != nil && !errors.Is(err, context.Canceled):
				t.Errorf("INSERT %d: %v", i, err)
			case err != nil && picodata.IsOutcomeUnknown(err):
				unknown++
			case err != nil && n != 0:
				t.Errorf("INSERT %d wasn't sent, says %v, and left %d rows", i, err, n)
			}
		}
		t.Logf("%d of 60 ended as outcome unknown", unknown)
	})
}
