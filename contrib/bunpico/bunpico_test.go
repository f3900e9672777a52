package bunpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

func start(t *testing.T, more string) (*picotest.Cluster, *bun.DB) {
	t.Helper()
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 1}, {Name: "cold", Replicasets: 1, ReplicationFactor: 1},
	}})
	pool, err := sql.Open("picodata", c.AdminDSN()+more)
	if err != nil {
		t.Fatal(err)
	}
	db := bun.NewDB(pool, New())
	t.Cleanup(func() { db.Close() })
	return c, db
}

type city struct {
	bun.BaseModel `bun:"table:cities,alias:c"`

	ID      int64  `bun:",pk"`
	Key     string `bun:"key,type:uuid,nullzero"`
	Name    string `bun:",notnull"`
	Area    float64
	Mayor   *string
	Founded time.Time
	Tags    []string `bun:",json"`
	Raw     []byte
	Capital bool
}

func TestModels(t *testing.T) {
	c, db := start(t, "")
	ctx := t.Context()
	if err := CreateTable(ctx, db, (*city)(nil), Placement{By: []string{"id"}, Tier: "cold"}, func(q *bun.CreateTableQuery) { q.IfNotExists() }); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query("SELECT distribution FROM _pico_table WHERE name = 'cities'")
	if err != nil || !strings.Contains(fmt.Sprint(rows), "cold") {
		t.Errorf("placement: %v, %v", rows, err)
	}
	mayor := "O'Neil \\ x"
	founded := time.Date(1147, 4, 4, 1, 2, 3, 456000, time.FixedZone("", 3*3600))
	cities := []city{
		{ID: 1, Key: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", Name: "Москва", Area: 2561.5, Mayor: &mayor, Founded: founded, Tags: []string{"a'b", `c"d`}, Raw: []byte("text"), Capital: true},
		{ID: 2, Name: "Tver", Founded: founded},
	}
	if _, err := db.NewInsert().Model(&cities).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	var got city
	if err := db.NewSelect().Model(&got).Where("c.id = ?", 1).Scan(ctx); err != nil {
		t.Fatal(err)
	}
	if got.Name != "Москва" || got.Key != cities[0].Key || got.Mayor == nil || *got.Mayor != mayor || !got.Founded.Equal(founded) || len(got.Tags) != 2 || string(got.Raw) != "text" || !got.Capital || got.Area != 2561.5 {
		t.Errorf("%+v", got)
	}
	if _, err := db.NewUpdate().Model(&city{ID: 2, Name: "Тверь"}).Column("name").WherePK().Exec(ctx); err != nil {
		t.Error("Update:", err)
	}
	if n, err := db.NewSelect().Model((*city)(nil)).Where("name = ?", "Тверь").Count(ctx); err != nil || n != 1 {
		t.Errorf("Count: %d, %v", n, err)
	}
	if ok, err := db.NewSelect().Model((*city)(nil)).Where("id = ?", 2).Exists(ctx); err != nil || !ok {
		t.Errorf("Exists: %v, %v", ok, err)
	}
	var list []city
	if err := db.NewSelect().Model(&list).Where("c.id IN (?)", bun.List([]int64{1, 2})).OrderExpr("c.id DESC").Limit(1).Scan(ctx); err != nil || len(list) != 1 || list[0].ID != 2 || list[0].Key != "" {
		t.Errorf("list: %+v, %v", list, err)
	}
	if res, err := db.NewInsert().Model(&city{ID: 2, Name: "x", Founded: founded}).Ignore().Exec(ctx); err != nil {
		t.Error("Ignore:", err)
	} else if n, err := res.RowsAffected(); err != nil || n != 0 {
		t.Errorf("Ignore: %d rows, %v", n, err)
	}
	if _, err := db.NewInsert().Model(&city{ID: 2, Name: "y", Founded: founded}).On("CONFLICT DO REPLACE").Exec(ctx); err != nil {
		t.Error("CONFLICT DO REPLACE:", err)
	}
	if _, err := db.NewInsert().Model(&city{ID: 2, Name: "x", Founded: founded}).Exec(ctx); !picodata.IsUniqueViolation(err) {
		t.Errorf("a duplicate key: %v", err)
	}
	if _, err := db.NewInsert().Model(&city{ID: 3, Name: "x", Founded: founded, Raw: []byte{0xff}}).Exec(ctx); err == nil {
		t.Error("bytes that aren't text were accepted")
	}
	if _, err := db.NewDelete().Model(&city{ID: 2}).WherePK().Exec(ctx); err != nil {
		t.Error("Delete:", err)
	}
	if _, err := db.NewDropTable().Model((*city)(nil)).IfExists().Exec(ctx); err != nil {
		t.Error("DropTable:", err)
	}
}

func TestPlacementsThatContradict(t *testing.T) {
	c, db := start(t, "")
	for _, p := range []Placement{{Globally: true, Tier: "cold"}, {Globally: true, By: []string{"id"}}, {Tier: "cold"}} {
		if err := CreateTable(t.Context(), db, (*city)(nil), p, nil); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
	if n := len(c.Statements(picotest.SQL("CREATE TABLE"))); n != 0 {
		t.Errorf("%d tables were created", n)
	}
	if err := CreateTable(t.Context(), db, (*city)(nil), Placement{Globally: true}, nil); err != nil {
		t.Error(err)
	}
}

func TestTransactions(t *testing.T) {
	c, db := start(t, "&transactions=autocommit")
	if err := CreateTable(t.Context(), db, (*city)(nil), Placement{}, nil); err != nil {
		t.Fatal(err)
	}
	insert := func(id int64, then error) error {
		return db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.NewInsert().Model(&city{ID: id, Name: fmt.Sprint("x", id)}).Exec(ctx); err != nil {
				return err
			}
			return then
		})
	}
	if err := insert(1, nil); err != nil {
		t.Error(err)
	}
	// Nothing is undone: the row stays, and bun gives the program's own error.
	mine := errors.New("mine")
	if err := insert(2, mine); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
	for id, name := range map[int]string{1: "x1", 2: "x2"} {
		var got city
		if err := db.NewSelect().Model(&got).Where("id = ?", id).Scan(t.Context()); err != nil || got.Name != name {
			t.Errorf("row %d: %+v, %v", id, got, err)
		}
	}
	for _, text := range []string{"begin", "commit", "rollback"} {
		if n := len(c.Statements(picotest.SQL(text))); n != 0 {
			t.Errorf("%s was sent %d times: the server ignores it", text, n)
		}
	}
}
