package picodata_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// printer is a tracer: a value with the methods of one or more of the interfaces.
type printer struct{}

func (printer) StatementStart(ctx context.Context, s picodata.StatementStart) context.Context {
	fmt.Println("begin", s.Operation, s.Table)
	return ctx // what it returns is what StatementEnd gets
}

func (printer) StatementEnd(ctx context.Context, s picodata.StatementEnd) {
	fmt.Println("end", s.Reason, s.Rows, "rows,", s.Attempts, "attempt, error:", s.Err)
}

func ExampleStatementTracer() {
	dsn, stop := exampleCluster()
	defer stop()

	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		log.Fatal(err)
	}
	connector, err := picodata.NewConnector(cfg, options.WithTracers(printer{}))
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM _pico_tier`).Scan(&n); err != nil {
		log.Fatal(err)
	}
	// Output:
	// begin query _pico_tier
	// end balance 1 rows, 1 attempt, error: <nil>
}

func ExampleBlock() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER) DISTRIBUTED BY (id)`,
		`CREATE TABLE moves (account INTEGER, amount INTEGER, PRIMARY KEY (account, amount)) DISTRIBUTED BY (account)`,
		`INSERT INTO accounts VALUES (1, 100)`,
	} {
		if _, err := db.Exec(q); err != nil {
			log.Fatal(err)
		}
	}
	// All of it takes effect or nothing does. The rows lie in one bucket, whose owner the key names.
	ctx := picodata.ShardKey(context.Background(), "", int64(1))
	res, err := picodata.Block(ctx, db,
		picodata.Stmt{SQL: `SELECT balance FROM accounts WHERE id = $1`, Args: []any{1}},
		picodata.Stmt{SQL: `UPDATE accounts SET balance = balance - $1 WHERE id = $2`, Args: []any{10, 1}},
		picodata.Stmt{SQL: `INSERT INTO moves VALUES ($1, $2)`, Args: []any{1, -10}},
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Columns, res.Rows)
	// Output: [balance] [[100]]
}
