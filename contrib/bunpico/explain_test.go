package bunpico

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

type pair struct {
	bun.BaseModel `bun:"table:pairs,alias:p"`

	ID   int64 `bun:",pk"`
	N    int64
	Note string `bun:",nullzero"`
}

// pairs is a table of three rows.
func pairs(t *testing.T, more string) (*picotest.Cluster, *bun.DB) {
	t.Helper()
	c, db := start(t, more)
	db = db.WithQueryHook(Hook())
	if err := CreateTable(t.Context(), db, (*pair)(nil), Placement{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.NewInsert().Model(&[]pair{{ID: 1, N: 5}, {ID: 2, N: 5, Note: "OFFSET 5 RETURNING 'it''s' FOR UPDATE"}, {ID: 3, N: 6}}).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, db
}

// TestExplained: what Picodata lacks is refused before anything is sent, in transactions too, and says what to do instead.
func TestExplained(t *testing.T) {
	c, db := pairs(t, "&transactions=autocommit")
	var list []pair
	c.ResetCounters()
	check := func(db bun.IDB) {
		ctx := t.Context()
		for want, do := range map[error]func() error{
			ErrOffset:       func() error { return db.NewSelect().Model(&list).Offset(1).Limit(1).Scan(ctx) },
			ErrLocking:      func() error { return db.NewSelect().Model(&list).For("UPDATE").Scan(ctx) },
			ErrDistinctOn:   func() error { return db.NewSelect().Model(&list).DistinctOn("n").Scan(ctx) },
			ErrSetOperation: func() error { return db.NewSelect().Model(&list).Intersect(db.NewSelect().Model(&list)).Scan(ctx) },
			ErrDoUpdate: func() error {
				_, err := db.NewInsert().Model(&pair{ID: 1}).On("CONFLICT (id) DO UPDATE").Set("n = EXCLUDED.n").Exec(ctx)
				return err
			},
			ErrUpdateFrom: func() error {
				_, err := db.NewUpdate().Model(&[]pair{{ID: 1, N: 9}}).Column("n").Bulk().Exec(ctx)
				return err
			},
			ErrTableOption: func() error { _, err := db.NewCreateTable().Model((*pair)(nil)).Temp().Exec(ctx); return err },
		} {
			if err := do(); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		for name, do := range map[string]func() error{
			"insert": func() error { _, err := db.NewInsert().Model(&pair{ID: 9}).Returning("n").Exec(ctx); return err },
			"update": func() error {
				_, err := db.NewUpdate().Model(&pair{ID: 1}).WherePK().Returning("*").Exec(ctx)
				return err
			},
			"raw": func() error { _, err := db.NewRaw("DELETE FROM pairs RETURNING id").Exec(ctx); return err },
		} {
			if err := do(); !errors.Is(err, ErrReturning) {
				t.Errorf("RETURNING of %s: %v", name, err)
			}
		}
		if _, err := db.NewDelete().Model(&pair{ID: 1}).WherePK().Returning("n").Exec(ctx); err == nil {
			t.Error("RETURNING of a delete")
		}
	}
	check(db)
	if err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error { check(tx); return nil }); err != nil {
		t.Error(err)
	}
	if n := len(c.Statements(picotest.SQL("pairs"))); n != 0 {
		t.Errorf("%d refused statements were sent", n)
	}
	// What asks for nothing that is lacking goes on, whatever its values say.
	if n, err := db.NewSelect().Model(&list).Where("note = ?", "OFFSET 5 RETURNING 'it''s' FOR UPDATE").Count(t.Context()); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := db.NewInsert().Model(&pair{ID: 4}).Returning("NULL").Exec(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := picodata.Unwrap(db.DB); err != nil {
		t.Error("the hook hides the driver:", err)
	}
}

// TestBatches: many rows in few INSERTs; one that fails says how many are in.
func TestBatches(t *testing.T) {
	c, db := pairs(t, "")
	var rows []pair
	for i := range int64(250) {
		rows = append(rows, pair{ID: 100 + i})
	}
	c.ResetCounters()
	if n, err := InsertBatches(t.Context(), db, rows, 100, nil); err != nil || n != 250 {
		t.Errorf("%d rows, %v", n, err)
	}
	if n := len(c.Statements(picotest.SQL("INSERT INTO"))); n != 3 {
		t.Errorf("%d INSERTs, want 3", n)
	}
	n, err := InsertBatches(t.Context(), db, rows, 0, func(q *bun.InsertQuery) { q.On("CONFLICT DO NOTHING") })
	if err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	for i := range rows {
		rows[i].ID += 1000
	}
	rows[150].ID = 1
	if _, err := InsertBatches(t.Context(), db, rows, 100, nil); !picodata.IsUniqueViolation(err) || !strings.Contains(err.Error(), "first 100 of 250") {
		t.Errorf("a duplicate in the second INSERT: %v", err)
	}
	if err := NewDB(db.DB).NewSelect().Model(&rows).Offset(1).Scan(t.Context()); !errors.Is(err, ErrOffset) {
		t.Errorf("NewDB has no hook: %v", err)
	}
}
