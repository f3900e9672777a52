// Command sqlcommenter puts the caller into a comment of every statement, as sqlcommenter does.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"
	"net/url"

	_ "github.com/picodata/go-picodata"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// commented adds what a tracing tool would: keys and values, percent-encoded, in a comment.
func commented(query, controller, traceparent string) string {
	return fmt.Sprintf("%s /*controller='%s',traceparent='%s'*/", query, url.QueryEscape(controller), url.QueryEscape(traceparent))
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	// Picodata's parser knows no comments. strip_comments (on unless the DSN says off) takes them out before a statement is sent,
	// so that tools which add them need no change. Tracers of the driver still see the statement's own text.
	db, err := sql.Open("picodata", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	query := commented(`SELECT 1 + $1::INT`, "cities/show", "00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01")
	if err := db.QueryRowContext(ctx, query, 1).Scan(&n); err != nil {
		return err
	}
	fmt.Fprintln(out, n)
	return nil
}
