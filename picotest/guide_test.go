package picotest_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// The tests of this file are the examples of docs/testing-your-app.md, letter by letter; TestGuide holds the page to that.

func TestShop(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "create table orders (id int primary key, item text) distributed by (id)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "insert into orders values ($1, $2)", 1, "tea"); err != nil {
		t.Fatal(err)
	}
	var item string
	if err := db.QueryRowContext(t.Context(), "select item from orders where id = $1", 1).Scan(&item); err != nil {
		t.Fatal(err)
	}
	if item != "tea" {
		t.Errorf("got %q, want tea", item)
	}
}

func openShop(t *testing.T, c *picotest.Cluster) *sql.DB {
	t.Helper()
	db, err := sql.Open("picodata", c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "create table orders (id int primary key, item text) distributed by (id)"); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPlannedStop(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db := openShop(t, c)
	defer db.Close()
	ctx := picodata.Idempotent(t.Context()) // the statement below may run twice
	for id := range 100 {
		if id == 50 {
			<-c.Leader("default_1").Stop() // closed when the process is gone
		}
		if _, err := db.ExecContext(ctx, "insert into orders values ($1, $2) on conflict do nothing", id, "tea"); err != nil {
			t.Fatalf("order %d: %v", id, err)
		}
	}
}

func TestCrash(t *testing.T) {
	clock := picotest.NewManualClock(time.Now())
	c := picotest.Start(t, picotest.Config{Clock: clock})
	db := openShop(t, c)
	defer db.Close()
	c.Leader("default_1").Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var n int
	err := db.QueryRowContext(ctx, "select count(*) from orders").Scan(&n)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nobody leads: %v, want the context's error", err)
	}
	clock.Advance(31 * time.Second) // the cluster notices, a replica takes over
	if err := db.QueryRowContext(t.Context(), "select count(*) from orders").Scan(&n); err != nil {
		t.Errorf("after the failover: %v", err)
	}
}

func TestSwitchover(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db := openShop(t, c)
	defer db.Close()
	if err := c.SwitchLeader("default_1", "i2").Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "insert into orders values ($1, $2)", 1, "tea"); err != nil {
		t.Fatal(err)
	}
	ran := c.Statements(picotest.SQL("insert into orders"))
	if last := ran[len(ran)-1]; last.Ran[0] != "i2" {
		t.Errorf("the order was written by %v, want the new leader i2", last.Ran)
	}
}

func TestStaleRead(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db := openShop(t, c)
	defer db.Close()
	for _, rs := range c.Replicasets() {
		for _, n := range c.Replicas(rs) {
			n.Lag(true)
		}
	}
	if _, err := db.ExecContext(t.Context(), "insert into orders values ($1, $2)", 1, "tea"); err != nil {
		t.Fatal(err)
	}
	const query = "select count(*) from orders option (read_preference = replica)"
	var n int
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 0 {
		t.Errorf("the replicas have %d orders, %v; want 0 so far", n, err)
	}
	for _, rs := range c.Replicasets() {
		for _, node := range c.Replicas(rs) {
			node.Lag(false)
		}
	}
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 1 {
		t.Errorf("the replicas have %d orders, %v; want 1", n, err)
	}
}

func TestLostAnswer(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db := openShop(t, c)
	defer db.Close()
	c.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("insert into orders"))
	_, err := db.ExecContext(t.Context(), "insert into orders values ($1, $2)", 1, "tea")
	var unknown *picodata.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v, want an OutcomeUnknownError", err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "select count(*) from orders where id = $1", 1).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Errorf("%d orders, want the one that was written although nobody said so", n)
	}
}

func TestOverlap(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db := openShop(t, c)
	defer db.Close()
	hold := c.Hold(picotest.SQL("insert into orders"))
	done := make(chan error, 2)
	for id := range 2 {
		go func() {
			_, err := db.ExecContext(t.Context(), "insert into orders values ($1, $2)", id, "tea")
			done <- err
		}()
	}
	if err := hold.Wait(t.Context(), 2); err != nil { // both are at the server now
		t.Fatal(err)
	}
	hold.ReleaseAll()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(nil, picotest.Config{Network: picotest.Memory})
		defer c.Close()
		config, err := picodata.ParseDSN(c.DSN())
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = c.DialContext
		connector, err := picodata.NewConnector(config)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		defer db.Close()
		hold := c.Hold(picotest.SQL("select 1"))
		defer hold.ReleaseAll()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := db.QueryRowContext(ctx, "select 1").Scan(new(int)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error after an hour", err)
		}
	})
}

// TestGuide finds every example of the page in this file.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../docs/testing-your-app.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 9 {
		t.Errorf("the page has %d examples, want all of them", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(string(tests), string(b[1])) {
			t.Errorf("the page shows what isn't tested:\n%s", b[1])
		}
	}
}
