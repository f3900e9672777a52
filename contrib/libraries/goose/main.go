// Command goose migrates a Picodata cluster with goose.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"
	"embed"
	"io/fs"

	"github.com/pressly/goose/v3"

	_ "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/goosepico"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

//go:embed migrations/*.sql
var files embed.FS

func run(ctx context.Context, dsn string, out io.Writer) error {
	db, err := sql.Open("picodata", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectCustom, db, migrations,
		goose.WithStore(goosepico.NewStore("")), goose.WithIsolateDDL(true))
	if err != nil {
		return err
	}
	done, err := provider.Up(ctx)
	if err != nil {
		return err
	}
	for _, r := range done {
		fmt.Fprintln(out, r.Source.Version, r.Direction)
	}
	version, err := provider.GetDBVersion(ctx)
	fmt.Fprintln(out, "version", version)
	return err
}
