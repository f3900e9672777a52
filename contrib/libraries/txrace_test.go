package libraries

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/bunpico"
	"github.com/picodata/go-picodata/contrib/gormpico"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// raced is a transaction of some library.
type raced struct {
	insert   func(ctx context.Context, id int64) error
	rollback func() error
}

type racer struct {
	bun.BaseModel `bun:"table:cities" gorm:"-"`

	ID   int64  `bun:",pk"`
	Name string `bun:"name"`
}

func (racer) TableName() string { return "cities" }

// tx-rollback-race with ORMs: a transaction whose context ends while a statement and a Rollback are under way.
func TestTxRollbackRace(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 150
	}
	for name, begin := range map[string]func(t *testing.T, pool *sql.DB) func(context.Context) (raced, error){
		"gorm": func(t *testing.T, pool *sql.DB) func(context.Context) (raced, error) {
			db, err := gorm.Open(gormpico.New(gormpico.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context) (raced, error) {
				tx := db.WithContext(ctx).Begin()
				return raced{
					func(ctx context.Context, id int64) error {
						return tx.WithContext(ctx).Create(&racer{ID: id, Name: "x"}).Error
					},
					// A GORM handle keeps its first error: each use gets a session of its own.
					func() error { return tx.Session(&gorm.Session{}).Rollback().Error },
				}, tx.Error
			}
		},
		"bun": func(_ *testing.T, pool *sql.DB) func(context.Context) (raced, error) {
			db := bun.NewDB(pool, bunpico.New())
			return func(ctx context.Context) (raced, error) {
				tx, err := db.BeginTx(ctx, nil)
				return raced{
					func(ctx context.Context, id int64) error {
						_, err := tx.NewInsert().Model(&racer{ID: id, Name: "x"}).Exec(ctx)
						return err
					},
					tx.Rollback,
				}, err
			}
		},
		"sqlx": func(_ *testing.T, pool *sql.DB) func(context.Context) (raced, error) {
			db := sqlx.NewDb(pool, "picodata")
			return func(ctx context.Context) (raced, error) {
				tx, err := db.BeginTxx(ctx, nil)
				return raced{
					func(ctx context.Context, id int64) error {
						_, err := tx.ExecContext(ctx, "INSERT INTO cities (id, name) VALUES ($1, $2)", id, "x")
						return err
					},
					func() error { return tx.Rollback() },
				}, err
			}
		},
		"ent": func(_ *testing.T, pool *sql.DB) func(context.Context) (raced, error) {
			client := store.NewClient(store.Driver(entsql.OpenDB(dialect.Postgres, pool)))
			return func(ctx context.Context) (raced, error) {
				tx, err := client.BeginTx(ctx, nil)
				return raced{
					func(ctx context.Context, id int64) error {
						return tx.City.Create().SetID(id).SetName("x").SetFounded(time.Unix(0, 0)).Exec(ctx)
					},
					func() error { return tx.Rollback() },
				}, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := picotest.Start(t, picotest.Config{})
			cfg, err := picodata.ParseDSN(c.AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := picodata.NewConnector(cfg, options.WithTransactions(options.TransactionsAutocommit))
			if err != nil {
				t.Fatal(err)
			}
			pool := sql.OpenDB(conn)
			defer pool.Close()
			if _, err := pool.ExecContext(t.Context(), "CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT, founded DATETIME)"); err != nil {
				t.Fatal(err)
			}
			open := begin(t, pool)
			acknowledged := 0
			for i := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				tx, err := open(ctx)
				if err != nil {
					t.Fatal(err)
				}
				var group sync.WaitGroup
				var insertErr, rollErr error
				group.Go(func() { insertErr = tx.insert(t.Context(), int64(i+1)) })
				group.Go(func() { rollErr = tx.rollback() })
				cancel()
				group.Wait()
				if insertErr == nil {
					acknowledged++
				}
				for _, err := range []error{insertErr, rollErr} {
					if err != nil && !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, picodata.ErrNotRolledBack) && !errors.Is(err, context.Canceled) {
						t.Fatalf("round %d: %v", i, err)
					}
				}
				if err := tx.insert(t.Context(), int64(-i-1)); !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, context.Canceled) {
					t.Fatalf("round %d: a statement after the end: %v", i, err)
				}
			}
			if n := conn.Stats().Total.InUse; n != 0 {
				t.Errorf("%d connections are left in use", n)
			}
			var rows, after int
			if err := pool.QueryRow("SELECT count(*) FROM cities").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if err := pool.QueryRow("SELECT count(*) FROM cities WHERE id < 0").Scan(&after); err != nil {
				t.Fatal(err)
			}
			if rows < acknowledged || after != 0 {
				t.Errorf("%d rows of %d acknowledged, %d of them after their transaction", rows, acknowledged, after)
			}
		})
	}
}
