// Command goqu builds statements for Picodata with goqu.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"

	"github.com/doug-martin/goqu/v9"

	_ "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// init describes Picodata to goqu: what it writes by default is like PostgreSQL's, with what Picodata lacks taken out.
func init() {
	o := goqu.DefaultDialectOptions()
	o.PlaceHolderFragment = []byte("$")
	o.IncludePlaceholderNum = true
	o.SupportsReturn = false
	o.SupportsConflictTarget = false
	goqu.RegisterDialect("picodata", o)
}

type city struct {
	ID   int64  `db:"id"`
	Name string `db:"name"`
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	pool, err := sql.Open("picodata", dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := goqu.New("picodata", pool)
	if _, err := db.ExecContext(ctx, `CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT)`); err != nil {
		return err
	}
	// Prepared(true) makes parameters of values, which is what the driver routes by.
	for id, name := range []string{"Tver", "Perm", "Omsk"} {
		if _, err := db.Insert("cities").Rows(city{int64(id), name}).Prepared(true).Executor().ExecContext(ctx); err != nil {
			return err
		}
	}
	if _, err := db.Insert("cities").Rows(city{0, "again"}).OnConflict(goqu.DoNothing()).Prepared(true).Executor().ExecContext(ctx); err != nil {
		return err
	}
	if _, err := db.Update("cities").Set(goqu.Record{"name": "Permian"}).Where(goqu.Ex{"id": 1}).Prepared(true).Executor().ExecContext(ctx); err != nil {
		return err
	}
	// Picodata takes no parameter in LIMIT, so a Prepared statement can't have one: goqu.L writes the number as it is. Without
	// Prepared, goqu writes all values into the text.
	var cities []city
	if err := db.From("cities").Where(goqu.C("id").Gt(0)).Order(goqu.C("id").Asc()).Limit(2).ScanStructsContext(ctx, &cities); err != nil {
		return err
	}
	for _, c := range cities {
		fmt.Fprintln(out, c.ID, c.Name)
	}
	return nil
}
