package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"net"
	"os"
	"testing"
	"time"

	"github.com/lib/pq"

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

func dialPostgres(t testing.TB) *Conn {
	t.Helper()
	cfg, target := postgresConfig(t)
	cfg.Options.StatementCacheThreshold = 1
	c, err := Dial(context.Background(), cfg, target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// checked makes arguments of values as database/sql would.
func checked(t testing.TB, values ...any) []driver.NamedValue {
	t.Helper()
	args := named(values...)
	for i := range args {
		if err := CheckNamedValue(&args[i]); err != nil {
			t.Fatal(err)
		}
	}
	return args
}

// Values make the round trip in all forms, unnamed, naming and named.
func TestPostgresValues(t *testing.T) {
	c := dialPostgres(t)
	at := time.Date(2024, 1, 2, 3, 4, 5, 678901000, time.UTC)
	for _, tt := range []struct {
		typ  string
		in   any
		want any
	}{
		{"bigint", int64(math.MinInt64), int64(math.MinInt64)},
		{"int", uint16(7), int64(7)}, {"smallint", -3, int64(-3)},
		{"text", "строка", "строка"}, {"text", []byte("bytes"), "bytes"}, {"text", "", ""}, {"varchar", "x", "x"},
		{"boolean", true, true}, {"double precision", math.Inf(-1), math.Inf(-1)}, {"double precision", 1e-300, 1e-300}, {"real", float32(0.1), 0.1},
		{"numeric", "12345678901234567890.1234567890", "12345678901234567890.1234567890"},
		{"uuid", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479"},
		{"timestamptz", at, at}, {"json", `{"a":1}`, `{"a":1}`}, {"jsonb", `{"a": 1}`, `{"a": 1}`},
		{"bigint[]", []int64{1, 2}, "{1,2}"}, {"text[]", []string{"a", "b c"}, `{a,"b c"}`}, {"text", nil, nil}, {"bigint", nil, nil},
	} {
		for form := range 4 {
			rows, err := c.Query(bg, "select $1::"+tt.typ+" from generate_series(1, 3)", checked(t, tt.in))
			got := all(t, rows, err)
			if len(got) != 3 {
				t.Fatalf("%s, form %d: %d rows", tt.typ, form, len(got))
			}
			for i := range got {
				if got[i][0] != tt.want {
					t.Errorf("%s, form %d, row %d: %T %v, want %T %v", tt.typ, form, i, got[i][0], got[i][0], tt.want, tt.want)
				}
			}
		}
	}
}

// A plan that the schema has left behind is made anew, unseen.
func TestPostgresStalePlan(t *testing.T) {
	c := dialPostgres(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(bg, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	exec("create temp table stale (id bigint, v text)")
	exec("insert into stale values (1, 'x')")
	count := func() int {
		t.Helper()
		rows, err := c.Query(bg, "select * from stale where id = $1", named(int64(1)))
		return len(all(t, rows, err)[0])
	}
	for range 3 {
		if n := count(); n != 2 {
			t.Fatalf("%d columns", n)
		}
	}
	if len(c.stmts.named) != 1 {
		t.Fatalf("%d named statements", len(c.stmts.named))
	}
	exec("alter table stale add column w int default 5")
	for range 3 {
		if n := count(); n != 3 {
			t.Fatalf("%d columns", n)
		}
	}
}

// Errors leave the connection as it was, in every form; so does the end of a name.
func TestPostgresErrorsAndLostNames(t *testing.T) {
	c := dialPostgres(t)
	for range 4 {
		_, err := c.Exec(bg, "select 1 / $1::int", named(int64(0)))
		var pe *pq.Error
		if !errors.As(err, &pe) || pe.Code != "22012" || !c.Usable() {
			t.Fatalf("usable %v: %v", c.Usable(), err)
		}
	}
	if _, err := c.Exec(bg, "deallocate all", nil); err != nil {
		t.Fatal(err)
	}
	res, err := c.Exec(bg, "select 1 / $1::int", named(int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// A result beyond all buffers arrives whole.
func TestPostgresLargeResult(t *testing.T) {
	c := dialPostgres(t)
	for range 3 {
		rows, err := c.Query(bg, "select repeat('x', $1), g from generate_series(1, 50) g", named(int64(100_000)))
		got := all(t, rows, err)
		for i, row := range got {
			if s, ok := row[0].(string); !ok || len(s) != 100_000 || row[1] != int64(i+1) {
				t.Fatalf("row %d: %d bytes, %v", i, len(s), row[1])
			}
		}
		if len(got) != 50 || len(c.g.buf) > 1<<20 {
			t.Fatalf("%d rows, a buffer of %d bytes", len(got), len(c.g.buf))
		}
	}
}

// A deadline ends a statement that the server works on; the server isn't asked to stop.
func TestPostgresTimeout(t *testing.T) {
	c := dialPostgres(t)
	ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
	defer cancel()
	_, err := c.Exec(ctx, "select pg_sleep($1)", named(2.0))
	if !errors.Is(err, context.DeadlineExceeded) || c.Usable() {
		t.Fatalf("usable %v: %v", c.Usable(), err)
	}
}

// A repeated statement allocates at most three objects more than lib/pq's prepared statement,
// whatever stands between it and the network.
func TestPostgresAllocations(t *testing.T) {
	c := dialPostgres(t)
	const sql = "select $1::bigint, 'text'"
	args := named(int64(1000))
	dest := make([]driver.Value, 2)
	ours := testing.AllocsPerRun(200, func() {
		rows, err := c.Query(bg, sql, args)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Next(dest); err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	})
	host, port, err := net.SplitHostPort(os.Getenv("PICODATA_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := pq.NewConnector("user=postgres dbname=postgres sslmode=disable host=" + host + " port=" + port)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connector.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	st, err := conn.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	prepared := testing.AllocsPerRun(200, func() {
		rows, err := st.(driver.StmtQueryContext).QueryContext(bg, args)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Next(dest); err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations, lib/pq %v", ours, prepared)
	if ours > prepared+3 {
		t.Errorf("%v allocations, lib/pq prepared: %v", ours, prepared)
	}
}
