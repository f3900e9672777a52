package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"database/sql"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/goosepico"
	"github.com/picodata/go-picodata/options"
)

// order is a row of the table orders. Amounts are in kopecks: whole numbers need no rounding.
type order struct {
	Customer int64     `db:"customer" json:"customer"`
	ID       int64     `db:"id" json:"id"`
	Item     string    `db:"item" json:"item"`
	Amount   int64     `db:"amount" json:"amount"`
	Created  time.Time `db:"created" json:"created"`
}

// total is a row of the table totals.
type total struct {
	Customer int64 `db:"customer" json:"customer"`
	Orders   int64 `db:"orders" json:"orders"`
	Spent    int64 `db:"spent" json:"spent"`
}

// store is the shop's data.
type store struct {
	db *sqlx.DB
}

func init() { sqlx.BindDriver("picodata", sqlx.DOLLAR) }

// openStore makes the pool. It does no I/O: the first statement does.
func openStore(dsn string, logger *slog.Logger, t *telemetry) (*store, error) {
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	// routing=keys sends each SELECT and UPDATE by its sharding key to the leader that owns the row, not INSERTs alone.
	cfg.Routing = options.RoutingKeys
	connector, err := picodata.NewConnector(cfg, options.WithLogger(logger), options.WithTracers(t.statements, t.tracer))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := t.observe(connector); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// database/sql's pool holds sessions here, which cost nothing; max_conns_per_instance bounds what is real.
	db.SetMaxIdleConns(64)
	return &store{sqlx.NewDb(db, "picodata")}, nil
}

// close ends the connections and everything that the driver started.
func (s *store) close() error { return s.db.Close() }

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. Several instances of the service may do so at once: CREATE TABLE IF NOT EXISTS is harmless twice.
func (s *store) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectCustom, s.db.DB, files,
		goose.WithStore(goosepico.NewStore("goose_db_version")), goose.WithIsolateDDL(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// add stores an order and adds it to its customer's total: both or neither, for both rows lie in the customer's bucket. The order's id is made by
// the caller, so that a request that is sent again finds it and changes nothing.
func (s *store) add(ctx context.Context, o *order) error {
	ctx = picodata.ShardKey(ctx, "default", o.Customer) // a block is sent to its owner by a hint
	_, err := picodata.Block(ctx, s.db.DB,
		picodata.Stmt{SQL: `INSERT INTO orders (customer, id, item, amount, created) VALUES ($1, $2, $3, $4, $5)`,
			Args: []any{o.Customer, o.ID, o.Item, o.Amount, o.Created}},
		picodata.Stmt{SQL: `INSERT INTO totals (customer, orders, spent) VALUES ($1, 1, $2) ON CONFLICT (customer) DO UPDATE SET orders = orders + 1, spent = spent + $2`,
			Args: []any{o.Customer, o.Amount}},
	)
	if picodata.IsUniqueViolation(err) {
		return nil // stored by an earlier try of the same request
	}
	return err
}

// page returns a customer's orders after an id, oldest first. There is no OFFSET, and none is missed: the next page begins after the last
// id of this one, whatever was inserted meanwhile. LIMIT takes no parameter.
func (s *store) page(ctx context.Context, customer, after int64, limit int) ([]order, error) {
	list := []order{}
	err := s.db.SelectContext(ctx, &list, fmt.Sprintf(
		`SELECT customer, id, item, amount, created FROM orders WHERE customer = $1 AND id > $2 ORDER BY id LIMIT %d`, limit), customer, after)
	return list, err
}

// total returns what a customer has ordered; zeros if nothing.
func (s *store) total(ctx context.Context, customer int64) (total, error) {
	t := total{Customer: customer}
	err := s.db.GetContext(ctx, &t, `SELECT customer, orders, spent FROM totals WHERE customer = $1`, customer)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return t, err
}

// load stores many orders, each straight to its owner, many to a statement. Rows that are there already are left alone, so a load that broke off is
// simply run again. Totals are counted from what is stored, at the end.
func (s *store) load(ctx context.Context, orders []order) error {
	rows := func(yield func([]any) bool) {
		for i := range orders {
			o := &orders[i]
			if !yield([]any{o.Customer, o.ID, o.Item, o.Amount, o.Created}) {
				return
			}
		}
	}
	columns := []string{"customer", "id", "item", "amount", "created"}
	res, err := picodata.Insert(ctx, s.db.DB, "orders", columns, rows, picodata.OnConflict(picodata.ConflictSkip))
	switch {
	case err != nil:
		return fmt.Errorf("%d of %d rows are in: %w", res.Inserted+res.Skipped, len(orders), err)
	case res.Unknown > 0:
		return fmt.Errorf("of %d rows nobody knows whether they are in, run the load again: %w", res.Unknown, errors.Join(causes(res.Errors)...))
	}
	customers := map[int64]bool{}
	for i := range orders {
		customers[orders[i].Customer] = true
	}
	for c := range customers {
		if err := s.recount(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func causes(list []picodata.InsertRowsError) (errs []error) {
	for _, e := range list {
		errs = append(errs, e.Err)
	}
	return errs
}

// recount sets a customer's total to what the orders say.
func (s *store) recount(ctx context.Context, customer int64) error {
	var orders, spent int64
	err := s.db.QueryRowContext(ctx, `SELECT count(*), coalesce(cast(sum(amount) AS int), 0) FROM orders WHERE customer = $1`, customer).Scan(&orders, &spent)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(picodata.Idempotent(ctx), `INSERT INTO totals (customer, orders, spent) VALUES ($1, $2, $3) ON CONFLICT DO REPLACE`, customer, orders, spent)
	return err
}
