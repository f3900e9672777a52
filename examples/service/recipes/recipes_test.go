package recipes

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	_ "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

func start(t *testing.T, table string) *sql.DB {
	t.Helper()
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestHit(t *testing.T) {
	db := start(t, Counters)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				if err := Hit(t.Context(), db, 7); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	var hits int
	if err := db.QueryRowContext(t.Context(), "SELECT hits FROM counters WHERE page = $1", 7).Scan(&hits); err != nil || hits != 40 {
		t.Errorf("%d hits, %v", hits, err)
	}
}

func TestPage(t *testing.T) {
	db := start(t, Messages)
	for i := range int64(25) {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO messages VALUES ($1, $2, $3)", i%2, i, fmt.Sprint("m", i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	for after := int64(-1); ; {
		page, err := Page(t.Context(), db, 0, after, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			got = append(got, m.ID)
		}
		after = page[len(page)-1].ID
	}
	if fmt.Sprint(got) != "[0 2 4 6 8 10 12 14 16 18 20 22 24]" {
		t.Error(got)
	}
}

func TestHours(t *testing.T) {
	db := start(t, Points)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, v := range []float64{1, 2.5, 4, 10} {
		at := noon.Add(time.Duration(i) * 25 * time.Minute)
		for range 2 { // the second time changes nothing
			if err := Record(t.Context(), db, 1, at, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	hours := func() string {
		list, err := Hours(t.Context(), db, 1, noon, noon.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(list)
	}
	if got := hours(); got != "[{2026-03-01 12:00:00 +0000 UTC 3 1 4 7.5} {2026-03-01 13:00:00 +0000 UTC 1 10 10 10}]" {
		t.Error(got)
	}
	if err := Forget(t.Context(), db, 1, noon, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := hours(); got != "[{2026-03-01 13:00:00 +0000 UTC 1 10 10 10}]" {
		t.Error(got)
	}
}

// TestQueue: eight workers take each of forty jobs once; a job whose worker died is taken again, and its first owner can't finish it.
func TestQueue(t *testing.T) {
	db := start(t, Jobs)
	ctx, now := t.Context(), time.Unix(1_800_000_000, 0)
	for i := range int64(40) {
		if err := Push(ctx, db, i%2, i, fmt.Sprint("job ", i)); err != nil {
			t.Fatal(err)
		}
	}
	var (
		mu   sync.Mutex
		seen = map[int64]int{}
		wait sync.WaitGroup
	)
	for w := range int64(8) {
		wait.Go(func() {
			// Ten losses in a row to other workers look like an empty queue; the loop then ends for this worker alone.
			for {
				j, err := Take(ctx, db, w%2, now, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if j == nil {
					return
				}
				mu.Lock()
				seen[j.ID]++
				mu.Unlock()
				if ok, err := Done(ctx, db, j); err != nil || !ok {
					t.Errorf("job %d: %v, %v", j.ID, ok, err)
				}
			}
		})
	}
	wait.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("job %d was taken %d times", id, n)
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d jobs were done, want 40", len(seen))
	}
	if err := Push(ctx, db, 5, 1, "long"); err != nil {
		t.Fatal(err)
	}
	first, err := Take(ctx, db, 5, now, time.Minute)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if j, err := Take(ctx, db, 5, now.Add(time.Second), time.Minute); j != nil || err != nil {
		t.Error("a job was taken from its owner:", j, err)
	}
	second, err := Take(ctx, db, 5, now.Add(2*time.Minute), time.Minute)
	if err != nil || second == nil {
		t.Fatal("the lease has ended and nobody gets the job:", err)
	}
	if ok, err := Done(ctx, db, first); ok || err != nil {
		t.Error("who lost the lease finished the job:", err)
	}
	if ok, err := Done(ctx, db, second); !ok || err != nil {
		t.Error(ok, err)
	}
}
