// Command sqlmw puts a middleware of one's own around the driver.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"
	"database/sql/driver"

	"github.com/ngrok/sqlmw"

	picodata "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// counter counts statements. sqlmw calls what is overridden, and the driver for the rest.
type counter struct {
	sqlmw.NullInterceptor
	queries, execs int
}

func (c *counter) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	c.queries++
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

func (c *counter) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	c.execs++
	return conn.ExecContext(ctx, query, args)
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return err
	}
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		return err
	}
	defer conn.Close() // sqlmw's connector has no Close, so db.Close doesn't reach this one
	count := &counter{}
	// The driver of a connector leads to that connector.
	wrapped, err := sqlmw.Driver(conn.Driver(), count).(driver.DriverContext).OpenConnector("")
	if err != nil {
		return err
	}
	db := sql.OpenDB(wrapped)
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT)`); err != nil {
		return err
	}
	for id := range 10 {
		if _, err := db.ExecContext(ctx, `INSERT INTO cities VALUES ($1, $2)`, id, "Tver"); err != nil {
			return err
		}
	}
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM cities`).Scan(&n); err != nil {
		return err
	}
	fmt.Fprintln(out, n, "cities;", count.execs, "Execs,", count.queries, "Query")
	return nil
}
