package picotest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	"github.com/picodata/go-picodata/picotest"
)

// TestLibPQ runs lib/pq, a client that nobody here wrote, over both networks.
func TestLibPQ(t *testing.T) {
	for _, network := range []picotest.Network{picotest.TCP, picotest.Memory} {
		c := picotest.Start(t, picotest.Config{Network: network})
		connector, err := pq.NewConnector(c.Node("i2").DSN())
		if err != nil {
			t.Fatal(err)
		}
		if network == picotest.Memory {
			connector.Dialer(dialer{c})
		}
		db := sql.OpenDB(connector)
		var uuid string
		if err := db.QueryRow("select pico_instance_uuid()").Scan(&uuid); err != nil {
			t.Fatal(err)
		}
		if uuid != c.Node("i2").UUID() {
			t.Errorf("connected to %s, want %s", uuid, c.Node("i2").UUID())
		}
		var one int
		if err := db.QueryRow("select $1::int", 1).Scan(&one); err != nil || one != 1 {
			t.Errorf("got %d, %v", one, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPgxPing: the liveness check of pgx/stdlib is a comment, which Picodata refuses, so it drops good connections.
func TestPgxPing(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("pgx", c.Node("i1").DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("select 1"); err != nil {
		t.Error(err)
	}
	if err := db.Ping(); !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("ping of database/sql: %v", err)
	}
	conn, err := connect(t, c.Node("i1").DSN())
	if err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	if err := conn.Ping(t.Context()); !errors.As(err, &refused) || refused.Code != "XX000" || !strings.Contains(refused.Message, "rule parsing error:  --> 1:1\n  |\n1 | -- ping") {
		t.Errorf("ping: %v", err)
	}
}

// TestPgxTypes sends and reads every type that the server has with pgx, which speaks binary.
func TestPgxTypes(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	ctx := t.Context()
	conn, err := connect(t, c.Node("i1").DSN())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "create table types (id int primary key, b bool, d decimal, f double, s text, u uuid, ts datetime)"); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 29, 12, 34, 56, 789012000, time.UTC)
	id := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	number := pgtype.Numeric{Int: big.NewInt(-12345), Exp: -2, Valid: true}
	if _, err := conn.Exec(ctx, "insert into types values ($1,$2,$3,$4,$5,$6,$7)", 1, true, number, 1.5, "héllo", id, now); err != nil {
		t.Fatal(err)
	}
	var (
		b  bool
		d  pgtype.Numeric
		f  float64
		s  string
		u  [16]byte
		ts time.Time
	)
	if err := conn.QueryRow(ctx, "select b, d, f, s, u, ts from types where id = $1", 1).Scan(&b, &d, &f, &s, &u, &ts); err != nil {
		t.Fatal(err)
	}
	text, _ := d.Value()
	if !b || text != "-123.45" || f != 1.5 || s != "héllo" || u != id || !ts.Equal(now) {
		t.Errorf("got %v %v %v %q %x %v", b, text, f, s, u, ts)
	}
}

// TestPgx does the same with pgx, whose ping is a comment that Picodata refuses.
func TestPgx(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.Node("i1").AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var uuid string
	if err := conn.QueryRow(ctx, "select pico_instance_uuid()").Scan(&uuid); err != nil {
		t.Fatal(err)
	}
	if uuid != c.Node("i1").UUID() {
		t.Errorf("connected to %s, want %s", uuid, c.Node("i1").UUID())
	}
}
