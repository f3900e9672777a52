package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"
)

// work is one kind of statement.
type work struct {
	name string
	sql  string // for the raw loop; "" = it has no such form
	args func(n int64) []any
	run  func(ctx context.Context, db *sql.DB, n int64) error
}

const (
	selectSQL = "select id, name, n from bench_t where id = $1"
	insertSQL = "insert into bench_i (id, name, n) values ($1, $2, $3)"
	scanSQL   = "select id, name, n from bench_t where id < $1"
	rowCount  = 1000
)

// ids are the keys of inserted rows, of all drivers together.
var ids atomic.Int64

var works = []work{
	{name: "simple select", run: func(ctx context.Context, db *sql.DB, _ int64) error {
		var v int64
		return db.QueryRowContext(ctx, "select 1").Scan(&v)
	}},
	{name: "one row by $1", sql: selectSQL,
		args: func(n int64) []any { return []any{n % rowCount} },
		run: func(ctx context.Context, db *sql.DB, n int64) error {
			var id, number int64
			var name string
			return db.QueryRowContext(ctx, selectSQL, n%rowCount).Scan(&id, &name, &number)
		}},
	{name: "insert of 3 columns", sql: insertSQL,
		args: func(int64) []any { return []any{ids.Add(1), "some name", int64(7)} },
		run: func(ctx context.Context, db *sql.DB, _ int64) error {
			_, err := db.ExecContext(ctx, insertSQL, ids.Add(1), "some name", int64(7))
			return err
		}},
	{name: "scan of 1000 rows", sql: scanSQL,
		args: func(int64) []any { return []any{int64(rowCount)} },
		run: func(ctx context.Context, db *sql.DB, _ int64) error {
			rows, err := db.QueryContext(ctx, scanSQL, int64(rowCount))
			if err != nil {
				return err
			}
			defer rows.Close()
			count := 0
			for rows.Next() {
				var id, number int64
				var name string
				if err := rows.Scan(&id, &name, &number); err != nil {
					return err
				}
				count++
			}
			if err := rows.Err(); err != nil {
				return err
			}
			if count != rowCount {
				return fmt.Errorf("%d rows", count)
			}
			return nil
		}},
}

// withTimeout is what a careful service does: a deadline for every query.
func (w work) withTimeout(ctx context.Context, db *sql.DB, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return w.run(ctx, db, n)
}

// setUp makes the tables afresh. PostgreSQL and Picodata both read these statements.
func setUp(ctx context.Context, db *sql.DB) error {
	for _, s := range []string{
		"drop table if exists bench_t", "drop table if exists bench_i",
		"create table bench_t (id int primary key, name text, n int)",
		"create table bench_i (id int primary key, name text, n int)",
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for i := range int64(rowCount) {
		if _, err := db.ExecContext(ctx, "insert into bench_t (id, name, n) values ($1, $2, $3)", i, fmt.Sprintf("name of row %d", i), i*7); err != nil {
			return err
		}
	}
	return nil
}
