// Command squirrel builds statements for Picodata with squirrel.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"database/sql"

	sq "github.com/Masterminds/squirrel"

	_ "github.com/picodata/go-picodata"
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
	if _, err := db.ExecContext(ctx, `CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT)`); err != nil {
		return err
	}
	q := sq.StatementBuilder.PlaceholderFormat(sq.Dollar).RunWith(db)
	for id, name := range []string{"Tver", "Perm", "Omsk"} {
		if _, err := q.Insert("cities").Columns("id", "name").Values(id, name).ExecContext(ctx); err != nil {
			return err
		}
	}
	if _, err := q.Update("cities").Set("name", "Permian").Where(sq.Eq{"id": 1}).ExecContext(ctx); err != nil {
		return err
	}
	if _, err := q.Insert("cities").Columns("id", "name").Values(0, "again").Suffix("ON CONFLICT DO NOTHING").ExecContext(ctx); err != nil {
		return err
	}
	// squirrel writes the number of Limit into the text, as Picodata wants it. Offset isn't to be had: page by the key.
	rows, err := q.Select("id", "name").From("cities").Where(sq.Gt{"id": 0}).OrderBy("id").Limit(2).QueryContext(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		fmt.Fprintln(out, id, name)
	}
	return rows.Err()
}
