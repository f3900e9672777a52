package entpico

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/dialect/sql/sqlgraph"
	"entgo.io/ent/schema/field"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// cities is what ent generates for a schema of a city.
func cities() *schema.Table {
	columns := []*schema.Column{
		{Name: "id", Type: field.TypeInt64, Increment: true},
		{Name: "name", Type: field.TypeString},
		{Name: "region", Type: field.TypeInt64, Nullable: true},
	}
	return &schema.Table{Name: "cities", Columns: columns, PrimaryKey: columns[:1],
		Indexes: []*schema.Index{{Name: "city_region", Columns: columns[2:]}, {Name: "city_id_name", Unique: true, Columns: columns[:2]}}}
}

func start(t *testing.T) (*picotest.Cluster, dialect.Driver, *sql.DB) {
	t.Helper()
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.DSN()+"&transactions=autocommit")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for range 2 { // the second time nothing is left to do
		if err := Create(t.Context(), db, cities()); err != nil {
			t.Fatal(err)
		}
	}
	return c, OpenDB(db, cities()), db
}

func spec(id any, name string, region int64) *sqlgraph.CreateSpec {
	s := sqlgraph.NewCreateSpec("cities", sqlgraph.NewFieldSpec("id", field.TypeInt64))
	s.ID.Value = id
	s.SetField("name", field.TypeString, name)
	s.SetField("region", field.TypeInt64, region)
	return s
}

// TestBulk: CreateBulk is one INSERT, and the entities know their ids.
func TestBulk(t *testing.T) {
	c, drv, db := start(t)
	nodes := []*sqlgraph.CreateSpec{spec(int64(7), "a", 1), spec(int64(8), "b", 2)}
	if err := sqlgraph.BatchCreate(t.Context(), drv, &sqlgraph.BatchCreateSpec{Nodes: nodes}); err != nil {
		t.Fatal(err)
	}
	if nodes[0].ID.Value != int64(7) || nodes[1].ID.Value != int64(8) {
		t.Errorf("%v, %v", nodes[0].ID.Value, nodes[1].ID.Value)
	}
	if n := len(c.Statements(picotest.SQL("INSERT INTO"))); n != 1 {
		t.Errorf("%d INSERTs", n)
	}
	if err := sqlgraph.BatchCreate(t.Context(), drv, &sqlgraph.BatchCreateSpec{Nodes: []*sqlgraph.CreateSpec{spec(int64(7), "x", 1), spec(int64(9), "y", 2)}}); !picodata.IsUniqueViolation(err) {
		t.Errorf("a key that is there: %v", err)
	}
	if err := sqlgraph.BatchCreate(t.Context(), drv, &sqlgraph.BatchCreateSpec{Nodes: []*sqlgraph.CreateSpec{spec(nil, "x", 1)}}); !errors.Is(err, ErrNoID) {
		t.Errorf("without a key: %v", err)
	}
	if err := sqlgraph.CreateNode(t.Context(), drv, spec(nil, "x", 1)); !errors.Is(err, ErrNoID) {
		t.Errorf("one without a key: %v", err)
	}
	tx, err := drv.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlgraph.BatchCreate(t.Context(), &txDriver{tx, drv}, &sqlgraph.BatchCreateSpec{Nodes: []*sqlgraph.CreateSpec{spec(int64(20), "x", 1)}}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM cities WHERE id IN (7, 8, 20)").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d, %v", n, err)
	}
}

// txDriver is how generated code uses a transaction: as a driver.
type txDriver struct {
	dialect.ExecQuerier
	drv dialect.Driver
}

func (d *txDriver) Close() error                               { return nil }
func (d *txDriver) Dialect() string                            { return d.drv.Dialect() }
func (d *txDriver) Tx(ctx context.Context) (dialect.Tx, error) { return d.drv.Tx(ctx) }

// TestUpsert: the forms that ent generates, as far as the server has them.
func TestUpsert(t *testing.T) {
	_, drv, db := start(t)
	upsert := func(id int64, name string, options ...entsql.ConflictOption) error {
		s := &sqlgraph.BatchCreateSpec{Nodes: []*sqlgraph.CreateSpec{spec(id, name, 1)}}
		s.OnConflict = options
		return sqlgraph.BatchCreate(t.Context(), drv, s)
	}
	name := func() (name string) {
		if err := db.QueryRowContext(t.Context(), "SELECT name FROM cities WHERE id = 1").Scan(&name); err != nil {
			t.Error(err)
		}
		return name
	}
	if err := upsert(1, "one"); err != nil {
		t.Fatal(err)
	}
	if err := upsert(1, "two", entsql.ConflictColumns("id"), entsql.ResolveWithIgnore()); err != nil || name() != "one" {
		t.Errorf("Ignore: %s, %v", name(), err)
	}
	if err := upsert(1, "two", entsql.ConflictColumns("id"), entsql.DoNothing()); err != nil || name() != "one" {
		t.Errorf("DoNothing: %s, %v", name(), err)
	}
	if err := upsert(1, "two", entsql.ConflictColumns("id"), entsql.ResolveWithNewValues()); err != nil || name() != "two" {
		t.Errorf("UpdateNewValues: %s, %v", name(), err)
	}
	for what, options := range map[string][]entsql.ConflictOption{
		"another column":   {entsql.ConflictColumns("name"), entsql.ResolveWithNewValues()},
		"a part of values": {entsql.ConflictColumns("id"), entsql.ResolveWith(func(u *entsql.UpdateSet) { u.SetExcluded("name") })},
		"an expression":    {entsql.ConflictColumns("id"), entsql.ResolveWith(func(u *entsql.UpdateSet) { u.Add("region", 1) })},
	} {
		if err := upsert(1, "three", options...); !errors.Is(err, ErrUpsert) || name() != "two" {
			t.Errorf("%s: %v", what, err)
		}
	}
	rows := &entsql.Rows{}
	for want, query := range map[error]string{ErrOffset: `SELECT * FROM "cities" LIMIT 1 OFFSET 2`, ErrLocking: `SELECT * FROM "cities" FOR UPDATE`} {
		if err := drv.Query(t.Context(), query, []any{}, rows); !errors.Is(err, want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if err := drv.Query(t.Context(), `SELECT name AS "OFFSET 5" FROM "cities"`, []any{}, rows); err != nil {
		t.Error(err)
	} else if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// TestCreateRefuses: what the server can't have fails before anything is made.
func TestCreateRefuses(t *testing.T) {
	c, _, db := start(t)
	c.ResetCounters()
	for want, change := range map[string]func(*schema.Table){
		"must begin with the whole sharding key": func(t *schema.Table) { t.Columns[1].Unique = true },
		"index city_region":                      func(t *schema.Table) { t.Indexes[0].Unique = true },
		"no DEFAULT":                             func(t *schema.Table) { t.Columns[1].Default = "x" },
		"foreign keys: Picodata has none":        func(t *schema.Table) { t.ForeignKeys = []*schema.ForeignKey{{}} },
		"no primary key":                         func(t *schema.Table) { t.PrimaryKey = nil },
		"no type for":                            func(t *schema.Table) { t.Columns[1].Type = field.TypeBytes },
	} {
		bad := cities()
		bad.Name = "bad"
		change(bad)
		if err := Create(t.Context(), db, cities(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n := len(c.Statements(picotest.SQL("CREATE"))); n != 0 {
		t.Errorf("%d statements were sent", n)
	}
}
