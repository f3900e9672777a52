// Command otelsql traces statements with OpenTelemetry.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	picodata "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	// A real program has an exporter of its own here.
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	defer provider.Shutdown(ctx)

	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return err
	}
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		return err
	}
	var db *sql.DB = otelsql.OpenDB(conn, otelsql.WithTracerProvider(provider), otelsql.WithAttributes(attribute.String("db.system.name", "picodata")))
	defer db.Close()
	var n int
	if err := db.QueryRowContext(ctx, `SELECT $1::INT`, 42).Scan(&n); err != nil {
		return err
	}
	for _, s := range spans.GetSpans() {
		fmt.Fprintln(out, s.Name)
	}
	// The driver's own figures are there as ever.
	c, err := picodata.Unwrap(db)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, c == conn, c.Stats().Statements.Succeeded > 0)
	return nil
}
