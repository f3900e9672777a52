// Command sqldblogger logs every statement with sqldb-logger.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"

	sqldblogger "github.com/simukti/sqldb-logger"

	picodata "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// lines prints the statements that the driver is given.
type lines struct{ out io.Writer }

func (l lines) Log(_ context.Context, _ sqldblogger.Level, msg string, data map[string]any) {
	if query, ok := data["query"]; ok {
		fmt.Fprintln(l.out, msg, query)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		return err
	}
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		return err
	}
	defer conn.Close() // sqldb-logger knows drivers only; the driver of a connector leads to that connector
	var db *sql.DB = sqldblogger.OpenDriver("", conn.Driver(), lines{out}, sqldblogger.WithMinimumLevel(sqldblogger.LevelDebug))
	defer db.Close()
	for n := range 3 {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(`SELECT %d`, n)); err != nil {
			return err
		}
	}
	return nil
}
