// Command sqlc uses Picodata through code that sqlc generated: see schema.sql, query.sql and sqlc.yaml.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	_ "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/libraries/sqlc/cities"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	db, err := sql.Open("picodata", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE cities (id INTEGER PRIMARY KEY, region INTEGER NOT NULL, name TEXT NOT NULL,
		note TEXT, founded DATETIME NOT NULL) DISTRIBUTED BY (region)`); err != nil {
		return err
	}
	// Every query begins with a comment, "-- name: AddCity :exec", which the driver takes out.
	q := cities.New(db)
	for i, name := range []string{"Tver", "Perm", "Omsk"} {
		err := q.AddCity(ctx, cities.AddCityParams{ID: int64(i), Region: int64(10 * i), Name: name, Founded: time.Date(1135, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return err
		}
	}
	n, err := q.RenameCity(ctx, cities.RenameCityParams{Name: "Тверь", ID: 0})
	if err != nil {
		return err
	}
	city, err := q.GetCity(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, n, city.Name, city.Note.Valid, city.Founded.UTC().Year())
	list, err := q.FirstCities(ctx, "Omsk")
	if err != nil {
		return err
	}
	for _, c := range list {
		fmt.Fprintln(out, c.ID, c.Name)
	}
	count, err := q.CountCities(ctx)
	fmt.Fprintln(out, count)
	return err
}
