// Quickstart shows the driver at work: it starts a simulated Picodata cluster inside the process, or
// takes a real one with -dsn, loads the 10,000 largest cities of the world, stops a leader in the middle,
// and shows which node did what.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -dsn 'picodata://admin:password@127.0.0.1:4327'
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	picodata "github.com/picodata/go-picodata"
)

func main() {
	dsn := flag.String("dsn", "", "a `DSN` of a real cluster, instead of the simulated one")
	workers := flag.Int("workers", 8, "how many goroutines insert")
	keep := flag.Bool("keep", false, "keep the table quickstart_cities")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *dsn, *workers, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dsn string, workers int, keep bool) error {
	if workers < 1 {
		return fmt.Errorf("-workers %d: want at least 1", workers)
	}
	cities, err := readCities()
	if err != nil {
		return err
	}
	cluster, err := open(dsn)
	if err != nil {
		return err
	}
	defer cluster.close()

	db, err := sql.Open("picodata", cluster.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := picodata.Unwrap(db)
	if err != nil {
		return err
	}
	ping, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := db.PingContext(ping); err != nil {
		return err
	}
	topo := conn.Topology()
	fmt.Fprintf(out, "Connected to %s: %d instances in %d replicasets.\n", cluster.what, len(topo.Instances), len(topo.Replicasets))

	if err := createTable(ctx, db); err != nil {
		return err
	}
	if !keep {
		defer dropTable(db)
	}
	began := time.Now()
	failed, err := load(ctx, out, db, cities, workers, func() string { return cluster.disturb(ctx, db, conn.Topology()) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Inserted %d cities with %d workers in %v; %d statements failed.\n", len(cities), workers, time.Since(began).Round(time.Millisecond), failed)
	if err := aggregates(ctx, out, db, cities); err != nil {
		return err
	}
	if err := report(ctx, out, db, conn); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d statements failed", failed)
	}
	return nil
}
