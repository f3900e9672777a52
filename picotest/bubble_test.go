package picotest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

// connectInMemory logs in with pgx over the cluster's own network.
func connectInMemory(ctx context.Context, c *picotest.Cluster, dsn string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.DialFunc = c.DialContext
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return pgx.ConnectConfig(ctx, config)
}

// TestBubbleFailover lives through a crash, a freeze and a restart by the clock of a synctest bubble: more than a
// minute of the cluster's time, none of the test's.
func TestBubbleFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(nil, picotest.Config{Network: picotest.Memory})
		defer c.Close()
		if err := c.Exec("create table t (id int primary key) distributed by (id)"); err != nil {
			t.Fatal(err)
		}
		// Not lib/pq: it waits for the server's answer to a cancel request, which Picodata doesn't know.
		run := func(ctx context.Context, sql string) error {
			conn, err := connectInMemory(ctx, c, c.Node("i1").AdminDSN())
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, sql)
			_ = conn.Close(context.Background())
			return err
		}
		began := time.Now()
		c.Node("i3").Kill()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := run(ctx, "insert into t values (2)"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the failover: %v", err)
		}
		if err := c.WaitLeader(t.Context(), "i4"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("the failover took %v", took)
		}
		if err := run(t.Context(), "insert into t values (1), (2)"); err != nil {
			t.Errorf("after the failover: %v", err)
		}
		c.Node("i3").Start()
		if err := c.WaitState(t.Context(), "i3", "Online"); err != nil {
			t.Fatal(err)
		}
		c.Node("i4").Freeze()
		if err := c.WaitLeader(t.Context(), "i3"); err != nil {
			t.Fatal(err)
		}
		c.Node("i4").Thaw()
		if err := c.WaitState(t.Context(), "i4", "Online"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 62*time.Second {
			t.Errorf("all of it took %v, want 30 s + 1 s + 30 s + 1 s", took)
		}
	})
}
