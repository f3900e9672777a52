// Command sqlx uses Picodata through sqlx.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/jmoiron/sqlx"

	_ "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// sqlx doesn't know the driver's name, and would leave question marks in NamedExec's statements. Picodata takes
// those too, but not beside $1 in one statement. Say it once, before sqlx.Open.
func init() { sqlx.BindDriver("picodata", sqlx.DOLLAR) }

type city struct {
	ID   int64   `db:"id"`
	Name string  `db:"name"`
	Note *string `db:"note"`
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	db, err := sqlx.Open("picodata", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT, note TEXT)`); err != nil {
		return err
	}
	// One row per statement: the driver sends each to the leader that owns it. A slice would become one INSERT of many rows.
	for id, name := range []string{"Tver", "Perm", "Omsk"} {
		if _, err := db.NamedExecContext(ctx, `INSERT INTO cities (id, name, note) VALUES (:id, :name, :note)`, city{ID: int64(id), Name: name}); err != nil {
			return err
		}
	}
	var one city
	if err := db.GetContext(ctx, &one, `SELECT * FROM cities WHERE id = $1`, 1); err != nil {
		return err
	}
	fmt.Fprintln(out, one.Name, one.Note == nil)

	query, args, err := sqlx.In(`SELECT * FROM cities WHERE id IN (?) ORDER BY id`, []int{0, 2})
	if err != nil {
		return err
	}
	var some []city
	if err := db.SelectContext(ctx, &some, db.Rebind(query), args...); err != nil {
		return err
	}
	for _, c := range some {
		fmt.Fprintln(out, c.ID, c.Name)
	}

	rows, err := db.NamedQueryContext(ctx, `SELECT * FROM cities WHERE name = :name`, map[string]any{"name": "Perm"})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c city
		if err := rows.StructScan(&c); err != nil {
			return err
		}
		fmt.Fprintln(out, c.ID, c.Name)
	}
	return rows.Err()
}
