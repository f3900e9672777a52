package wire

import (
	"context"
	"database/sql/driver"
	"os"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// postgresConfig is a configuration for the PostgreSQL that PICODATA_TEST_POSTGRES names
// (host:port; user postgres without a password). Nothing of Picodata's own goes there.
func postgresConfig(t testing.TB) (*Config, Target) {
	t.Helper()
	address := os.Getenv("PICODATA_TEST_POSTGRES")
	if address == "" {
		t.Skip("no PostgreSQL: set PICODATA_TEST_POSTGRES=host:port to run this test against one")
	}
	o := options.New()
	o.User, o.Database = "postgres", "postgres"
	return &Config{Options: o}, Target{Address: address}
}

// named makes arguments of values.
func named(values ...any) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

// all reads rows to their end and closes them.
func all(t testing.TB, rows *Rows, err error) [][]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]any
	for {
		dest := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(dest); err != nil {
			break
		}
		row := make([]any, len(dest))
		for i, v := range dest {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			row[i] = v
		}
		got = append(got, row)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPostgresRunsEveryForm(t *testing.T) {
	cfg, target := postgresConfig(t)
	ctx := context.Background()
	c, err := Dial(ctx, cfg, target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(ctx, "select 1::bigint, 'x'::text, 1.50::numeric", nil)
	t.Log(all(t, rows, err))
	for i := range 6 {
		rows, err := c.Query(ctx, "select $1::bigint, $2::text, '3e-5'::numeric, null::uuid", named(int64(i), "x"))
		t.Log(all(t, rows, err), c.stmts.named)
	}
	if _, err := c.Exec(ctx, "create temp table w (id bigint primary key, s text)", nil); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		res, err := c.Exec(ctx, "insert into w values ($1, $2)", named(int64(i), "x"))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := res.RowsAffected()
		t.Log(n, c.stmts.named, c.Usable())
	}
	d, err := c.Describe(ctx, "select id from w where s = $1")
	t.Log(d, err, c.Alive())
}
