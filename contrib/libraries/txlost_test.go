package libraries

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/gormpico"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A transaction of a library whose connection dies in the middle ends with ErrTxLost, however the library wraps
// it, and what it would have done afterwards isn't done.
func TestTxLost(t *testing.T) {
	const insert = "INSERT INTO cities (id, name) VALUES ($1, $2)"
	for name, transaction := range map[string]func(t *testing.T, pool *sql.DB, cut func()) error{
		"sqlx": func(_ *testing.T, pool *sql.DB, cut func()) error {
			tx, err := sqlx.NewDb(pool, "picodata").Beginx()
			if err != nil {
				return err
			}
			if _, err := tx.Exec(insert, 1, "one"); err != nil {
				return err
			}
			cut()
			_, err = tx.Exec(insert, 2, "two")
			return errors.Join(err, tx.Commit())
		},
		"sqlx, Commit alone": func(_ *testing.T, pool *sql.DB, cut func()) error {
			tx, err := sqlx.NewDb(pool, "picodata").Beginx()
			if err != nil {
				return err
			}
			if _, err := tx.Exec(insert, 1, "one"); err != nil {
				return err
			}
			cut()
			_, _ = tx.Exec(insert, 2, "two") // forgotten
			return tx.Commit()
		},
		"gorm": func(t *testing.T, pool *sql.DB, cut func()) error {
			db, err := gorm.Open(gormpico.New(gormpico.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			return db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&racer{ID: 1, Name: "one"}).Error; err != nil {
					return err
				}
				cut()
				return tx.Create(&racer{ID: 2, Name: "two"}).Error
			})
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
			if _, err := pool.ExecContext(t.Context(), "CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT)"); err != nil {
				t.Fatal(err)
			}
			err = transaction(t, pool, func() {
				for _, n := range c.Nodes() {
					n.DropConnections()
				}
			})
			if !errors.Is(err, picodata.ErrTxLost) || errors.Is(err, driver.ErrBadConn) || picodata.IsRetryable(err) {
				t.Errorf("got %v", err)
			}
			var rows int
			if err := pool.QueryRow("SELECT count(*) FROM cities").Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows, %v: the first statement took effect, the second was never run", rows, err)
			}
		})
	}
}
