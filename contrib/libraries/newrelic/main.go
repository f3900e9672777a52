// Command newrelic has New Relic's agent time the statements of a transaction.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"

	"github.com/newrelic/go-agent/v3/newrelic"

	picodata "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	// A real program has a licence and ConfigEnabled(true) here.
	app, err := newrelic.NewApplication(newrelic.ConfigAppName("shop"), newrelic.ConfigEnabled(false))
	if err != nil {
		return err
	}
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return err
	}
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		return err
	}
	defer conn.Close() // the agent's connector has no Close, so db.Close doesn't reach this one
	var db *sql.DB = sql.OpenDB(newrelic.InstrumentSQLConnector(conn, newrelic.SQLDriverSegmentBuilder{
		BaseSegment: newrelic.DatastoreSegment{Product: "Picodata"},
	}))
	defer db.Close()
	txn := app.StartTransaction("cities")
	defer txn.End()
	ctx = newrelic.NewContext(ctx, txn) // statements of this context are timed as parts of the transaction
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
	fmt.Fprintln(out, n, "cities")
	return nil
}
