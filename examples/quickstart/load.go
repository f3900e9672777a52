package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
)

func createTable(ctx context.Context, db *sql.DB) error {
	for _, q := range []string{
		`DROP TABLE IF EXISTS quickstart_cities`,
		`CREATE TABLE quickstart_cities (
			id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL,
			latitude DOUBLE, longitude DOUBLE, population INTEGER, timezone TEXT
		) DISTRIBUTED BY (id)`,
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func dropTable(db *sql.DB) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The cluster may have lost an instance on purpose, and DDL needs all of them: then the table stays.
	_, _ = db.ExecContext(ctx, `DROP TABLE quickstart_cities OPTION (TIMEOUT = 5)`)
}

// load inserts all cities; halfway it calls disturb beside the workers and prints what that was.
func load(ctx context.Context, out io.Writer, db *sql.DB, cities []city, workers int, disturb func() string) (failed int64, err error) {
	// Written so that running it twice is the same as running it once. The driver is told so: then it may run a
	// statement again whose connection was lost on the way.
	const insert = `INSERT INTO quickstart_cities VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
	ctx = picodata.Idempotent(ctx)
	var next, bad atomic.Int64
	var first atomic.Pointer[error]
	var group sync.WaitGroup
	half := make(chan struct{})
	for range workers {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				if i == int64(len(cities)/2) {
					close(half)
				}
				if i >= int64(len(cities)) {
					return
				}
				c := cities[i]
				if _, err := db.ExecContext(ctx, insert, c.id, c.name, c.country, c.latitude, c.longitude, c.population, c.timezone); err != nil {
					bad.Add(1)
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	bar := startProgress(&next, int64(len(cities)))
	group.Go(func() {
		<-half
		bar.println(out, disturb())
	})
	group.Wait()
	bar.stop()
	if p := first.Load(); p != nil {
		err = fmt.Errorf("%d statements failed, the first with: %w", bad.Load(), *p)
	}
	return bad.Load(), err
}
