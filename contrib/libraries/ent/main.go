// Command ent uses Picodata through code that ent generated: see schema/city.go.
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
	"github.com/picodata/go-picodata/contrib/entpico"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store/city"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store/migrate"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	// ent updates inside a transaction, so the connection has to allow them; each statement takes effect by itself.
	pool, err := sql.Open("picodata", dsn+"&transactions=autocommit")
	if err != nil {
		return err
	}
	client := store.NewClient(store.Driver(entpico.OpenDB(pool, migrate.Tables...)))
	defer client.Close()
	// In the place of client.Schema.Create, which asks PostgreSQL's catalog.
	if err := entpico.Create(ctx, pool, migrate.Tables...); err != nil {
		return err
	}
	founded := time.Date(1135, 1, 1, 0, 0, 0, 0, time.UTC)
	var cities []*store.CityCreate
	for i, name := range []string{"Tver", "Perm", "Omsk"} {
		cities = append(cities, client.City.Create().SetID(int64(i)).SetName(name).SetRegion(int64(10*i)).SetFounded(founded))
	}
	// One INSERT. Each has its id: Picodata makes none.
	if err := client.City.CreateBulk(cities...).Exec(ctx); err != nil {
		return err
	}
	if err := client.City.UpdateOneID(0).SetName("Тверь").Exec(ctx); err != nil {
		return err
	}
	one, err := client.City.Get(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, one.Name, one.Founded.UTC().Year())
	some, err := client.City.Query().Where(city.IDGT(0), city.NameHasPrefix("P")).Order(store.Asc(city.FieldName)).Limit(5).All(ctx)
	if err != nil {
		return err
	}
	for _, c := range some {
		fmt.Fprintln(out, c.ID, c.Name)
	}
	gone, err := client.City.Delete().Where(city.RegionGTE(20)).Exec(ctx)
	if err != nil {
		return err
	}
	left, err := client.City.Query().Count(ctx)
	fmt.Fprintln(out, gone, "deleted,", left, "left")
	return err
}
