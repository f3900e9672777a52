package picotest_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
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
