package bulk

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDuplicate = errors.New("duplicate")

// table is a Target that keeps rows, all or none of a statement.
type table struct {
	mu     sync.Mutex
	rows   map[int64]bool
	owners func(id int64) string
	fail   func(n int, owner string, ids []int64) error // n counts statements
	sizes  map[int]int
	calls  int
	under  map[string]int
	most   int
}

func newTable() *table {
	return &table{rows: map[int64]bool{}, sizes: map[int]int{}, under: map[string]int{}, owners: func(id int64) string { return fmt.Sprint("r", id%3) }}
}

func (t *table) Owner(row []driver.Value) string { return t.owners(row[0].(int64)) }

func (t *table) Exec(_ context.Context, owner, sql string, args []driver.Value) (int64, error) {
	t.mu.Lock()
	t.under[owner]++
	t.most = max(t.most, t.under[owner])
	t.mu.Unlock()
	defer func() { t.mu.Lock(); t.under[owner]--; t.mu.Unlock() }()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	if got, want := strings.Count(sql, "("), len(args)/2; got != want {
		panic(fmt.Sprintf("%d rows in the text, %d in the arguments", got, want))
	}
	var ids []int64
	for i := 0; i < len(args); i += 2 {
		ids = append(ids, args[i].(int64))
	}
	for _, id := range ids {
		if t.owners(id) != owner {
			return 0, ErrMoved
		}
	}
	if t.fail != nil {
		if err := t.fail(t.calls, owner, ids); err != nil {
			return 0, err
		}
	}
	for _, id := range ids {
		if t.rows[id] {
			return 0, errDuplicate
		}
	}
	for _, id := range ids {
		t.rows[id] = true
	}
	t.sizes[len(ids)]++
	return int64(len(ids)), nil
}

func (t *table) Fate(err error, whole bool) Fate {
	if errors.Is(err, errDuplicate) && whole {
		return Refused
	}
	return Unknown
}

func config() Config {
	return Config{
		Text:    func(_ bool, n int) string { return strings.TrimSuffix(strings.Repeat("(?,?),", n), ",") },
		Columns: 2, ChunkRows: 100, ChunkSize: 1 << 20, InFlight: 2,
		Convert: func(v any) (driver.Value, error) {
			if err, bad := v.(error); bad {
				return nil, err
			}
			return driver.DefaultParameterConverter.ConvertValue(v)
		},
		Now:   time.Now,
		Pause: func(ctx context.Context, _ Moved) error { return ctx.Err() },
	}
}

func numbers(n int) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range n {
			if !yield([]any{i, "x"}) {
				return
			}
		}
	}
}

// Every row arrives once, in statements of few sizes, with a bounded number under way per owner.
func TestRowsGoByOwnerInFewSizes(t *testing.T) {
	tab := newTable()
	var last Progress
	cfg := config()
	cfg.Progress = func(p Progress) { last = p }
	res, err := Run(t.Context(), cfg, tab, numbers(10_007))
	if err != nil {
		t.Fatal(err)
	}
	if res.Rows != 10_007 || res.Inserted != 10_007 || len(tab.rows) != 10_007 {
		t.Fatalf("%+v, %d rows", res, len(tab.rows))
	}
	for size := range tab.sizes {
		if size != 100 && size&(size-1) != 0 {
			t.Errorf("a statement of %d rows", size)
		}
	}
	if tab.most > cfg.InFlight {
		t.Errorf("%d statements of one owner at once", tab.most)
	}
	if last.Inserted != 10_007 || last.Owners["r0"]+last.Owners["r1"]+last.Owners["r2"] != 10_007 {
		t.Errorf("%+v", last)
	}
}

// Rows that can't be had are named, and nobody else suffers.
func TestBadRowsAreFoundByHalving(t *testing.T) {
	tab := newTable()
	for _, id := range []int64{7, 500, 999} {
		tab.rows[id] = true
	}
	cfg := config()
	cfg.MaxErrors = 10
	res, err := Run(t.Context(), cfg, tab, numbers(1000))
	if err != nil {
		t.Fatal(err)
	}
	if res.Inserted != 997 || res.Failed != 3 || !slices.Equal(res.FailedRows, []int64{7, 500, 999}) || len(res.Errors) != 3 {
		t.Fatalf("%+v", res)
	}
}

// Without room for errors it stops at the first; what was under way ends, and every row is accounted for.
func TestStopsAtTheFirstError(t *testing.T) {
	tab := newTable()
	tab.rows[300] = true
	res, err := Run(t.Context(), config(), tab, numbers(100_000))
	if !errors.Is(err, errDuplicate) {
		t.Fatal(err)
	}
	if res.Rows == 100_000 || res.Unknown != 0 || res.Failed == 0 {
		t.Fatalf("%+v", res)
	}
	if got := res.Inserted + res.Failed + res.Unsent; got != res.Rows || int64(len(tab.rows)-1) != res.Inserted {
		t.Fatalf("%d of %d rows accounted for, %d inserted, %d there", got, res.Rows, res.Inserted, len(tab.rows)-1)
	}
	for _, n := range res.FailedRows {
		if n != 300 && tab.rows[n] {
			t.Errorf("row %d is said to have failed and is there", n)
		}
	}
}

// Buckets move in the middle: what was sorted by the old map is sorted anew.
func TestMovedRowsAreSortedAnew(t *testing.T) {
	tab := newTable()
	tab.fail = func(n int, _ string, _ []int64) error {
		if n == 5 {
			tab.owners = func(id int64) string { return fmt.Sprint("s", id%7) }
			return ErrMoved
		}
		return nil
	}
	var mu sync.Mutex
	old := tab.owners
	tab.owners = func(id int64) string { mu.Lock(); defer mu.Unlock(); return old(id) }
	res, err := Run(t.Context(), config(), locked{tab}, numbers(5000))
	if err != nil || res.Inserted != 5000 || len(tab.rows) != 5000 {
		t.Fatalf("%+v, %v", res, err)
	}
}

// locked asks for owners under the table's lock.
type locked struct{ *table }

func (t locked) Owner(row []driver.Value) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table.Owner(row)
}

// Whatever goes wrong, each row is in exactly one column of the account, and the account is right.
func TestAccountIsWhole(t *testing.T) {
	errLost := errors.New("lost")
	for seed := range 50 {
		tab := newTable()
		tab.fail = func(n int, owner string, ids []int64) error {
			if (n+seed)%11 == 0 {
				if seed%2 == 0 {
					for _, id := range ids {
						tab.rows[id] = true
					}
				}
				return errLost
			}
			return nil
		}
		cfg := config()
		cfg.ChunkRows = 10 + seed
		cfg.MaxErrors = seed % 5
		rows := func(yield func([]any) bool) {
			for i := range 2000 {
				v := []any{i, "x"}
				if i%701 == 700 {
					v[1] = errors.New("bad value")
				}
				if i%997 == 996 {
					v = v[:1]
				}
				if !yield(v) {
					return
				}
			}
		}
		res, _ := Run(t.Context(), cfg, tab, rows)
		if got := res.Inserted + res.Failed + res.Unknown + res.Unsent; got != res.Rows {
			t.Fatalf("seed %d: %d of %d rows accounted for", seed, got, res.Rows)
		}
		seen := map[int64]int{}
		for _, list := range [][]int64{res.FailedRows, res.UnknownRows, res.UnsentRows} {
			for _, n := range list {
				seen[n]++
			}
		}
		unknown := map[int64]bool{}
		for _, n := range res.UnknownRows {
			unknown[n] = true
		}
		for n := range res.Rows {
			switch {
			case seen[n] > 1:
				t.Fatalf("seed %d: row %d is named twice", seed, n)
			case seen[n] == 0 && !tab.rows[n], seen[n] == 1 && !unknown[n] && tab.rows[n]:
				t.Fatalf("seed %d: row %d: named %d times, there: %v", seed, n, seen[n], tab.rows[n])
			}
		}
	}
}

// A context that ends leaves nothing unsaid.
func TestContextEnds(t *testing.T) {
	tab := newTable()
	ctx, cancel := context.WithCancel(t.Context())
	tab.fail = func(n int, _ string, _ []int64) error {
		if n == 3 {
			cancel()
		}
		return nil
	}
	res, err := Run(ctx, config(), tab, numbers(100_000))
	if !errors.Is(err, context.Canceled) || res.Inserted+res.Unsent != res.Rows || int64(len(tab.rows)) != res.Inserted {
		t.Fatalf("%+v, %v", res, err)
	}
}

// A sequence that panics, which its caller recovers from, leaves no worker behind.
func TestPanicOfTheSequenceEndsTheWorkers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer func() {
		if recover() != "no more" {
			t.Error("the panic is lost")
		}
	}()
	_, _ = Run(t.Context(), config(), newTable(), func(yield func([]any) bool) {
		numbers(500)(yield)
		panic("no more")
	})
}

// A context that ends with the last acknowledgement takes nothing back.
func TestContextEndsAfterTheLastRow(t *testing.T) {
	tab := newTable()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := config()
	cfg.Progress = func(p Progress) {
		if p.Inserted == 500 {
			cancel()
		}
	}
	res, err := Run(ctx, cfg, tab, numbers(500))
	if err != nil || res.Inserted != 500 || res.Unsent != 0 {
		t.Errorf("%v, %+v", err, res)
	}
}
