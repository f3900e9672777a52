// Command warmselect runs one SELECT of one row several times on a warm connection, and writes the counters of
// coverage of each to a directory of its own beneath the one that it is given. It is built with -cover
// -covermode=atomic by TestWarmSelectCrossesFewFunctions.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strconv"

	_ "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(times, into string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	ctx := context.Background()
	cluster := picotest.Start(nil, picotest.Config{})
	defer cluster.Close()
	db, err := sql.Open("picodata", cluster.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE t (id INT PRIMARY KEY, v TEXT) DISTRIBUTED BY (id)"); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO t VALUES ($1, $2)", 1, "one"); err != nil {
		return err
	}
	one := func() error {
		var v string
		return db.QueryRowContext(ctx, "SELECT v FROM t WHERE id = $1", 1).Scan(&v)
	}
	for range 100 {
		if err := one(); err != nil {
			return err
		}
	}
	for i := range n {
		dir := filepath.Join(into, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if err := one(); err != nil {
			return err
		}
		if err := coverage.WriteCountersDir(dir); err != nil {
			return err
		}
		if err := coverage.WriteMetaDir(dir); err != nil {
			return err
		}
	}
	return nil
}
