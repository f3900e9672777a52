package picotest_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/picodata/go-picodata/picotest"
)

// openPq returns a database on lib/pq that dials one node.
func openPq(t testing.TB, c *picotest.Cluster, dsn string) *sql.DB {
	t.Helper()
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector.Dialer(dialer{c})
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestBubble runs a cluster inside a synctest bubble: a delay of an hour takes no time, and time stands
// still while a statement is held.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(nil, picotest.Config{Network: picotest.Memory})
		defer c.Close()
		n := c.Node("i1")
		db := openPq(t, c, n.AdminDSN())
		defer func() { _ = db.Close() }()
		n.Delay(time.Hour)
		began := time.Now()
		if _, err := db.Exec("select 1"); err != nil {
			t.Fatal(err)
		}
		// Startup, password, statement: three flights.
		if took := time.Since(began); took != 3*time.Hour {
			t.Errorf("took %v, want 3h", took)
		}
		if f := n.Counters().Flights; f != 3 {
			t.Errorf("%d flights, want 3", f)
		}
		n.Delay(0)
		h := n.Hold(picotest.SQL("select 2"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := db.ExecContext(context.Background(), "select 2")
			done <- err
		}()
		if err := h.Wait(ctx, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the held statement ended: %v", err)
		default:
		}
		if n := h.Release(1); n != 1 {
			t.Errorf("released %d, want 1", n)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestHoldOrder holds three statements and releases them one by one, the longest held first.
func TestHoldOrder(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	db := openPq(t, c, c.Node("i1").AdminDSN())
	h := c.Node("i1").Hold()
	var wg sync.WaitGroup
	ended := make(chan string, 3)
	for i, text := range []string{"select 1", "select 2", "select 3"} {
		wg.Go(func() {
			if _, err := db.Exec(text); err != nil {
				t.Error(err)
			}
			ended <- text
		})
		if err := h.Wait(t.Context(), i+1); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"select 1", "select 2", "select 3"} {
		h.Release(1)
		if got := <-ended; got != want {
			t.Errorf("%s ended, want %s", got, want)
		}
	}
	wg.Wait()
	if h.Held() != 0 || h.Ever() != 3 {
		t.Errorf("held %d and ever %d, want 0 and 3", h.Held(), h.Ever())
	}
}

// TestHoldBytes stops a statement before it is read to its end; nothing of it has run.
func TestHoldBytes(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	n := c.Node("i1")
	db := openPq(t, c, n.AdminDSN())
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	c.ResetCounters()
	h := n.HoldAt(picotest.AfterBytes(4))
	done := make(chan error, 1)
	go func() {
		_, err := db.Exec("select 1")
		done <- err
	}()
	if err := h.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if k := n.Counters(); k.Statements != 0 || k.Received["Q"] != 0 || k.BytesReceived < 4 {
		t.Errorf("held inside: %+v", k)
	}
	h.ReleaseAll()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCuts breaks a connection at every point and looks at what the client sees and what the server did.
func TestCuts(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	for _, tc := range []struct {
		name string
		set  func() *picotest.Fault
		ran  bool
		rows int
		want error
	}{
		{"before execution", func() *picotest.Fault { return n.CloseAfter(picotest.OnExecute()) }, false, 0, io.ErrUnexpectedEOF},
		{"before the answer", func() *picotest.Fault { return n.CloseAfter(picotest.BeforeAnswer()) }, true, 0, io.ErrUnexpectedEOF},
		{"reset before the answer", func() *picotest.Fault { return n.ResetAfter(picotest.BeforeAnswer()) }, true, 0, syscall.ECONNRESET},
		{"after a row", func() *picotest.Fault { return n.CloseAfter(picotest.AfterRows(1)) }, true, 1, io.ErrUnexpectedEOF},
		{"inside a row", func() *picotest.Fault { return n.CloseAfter(picotest.InsideRow(0)) }, true, 0, io.ErrUnexpectedEOF},
		{"before ready", func() *picotest.Fault { return n.CloseAfter(picotest.BeforeReady()) }, true, 1, io.ErrUnexpectedEOF},
		{"inside the statement", func() *picotest.Fault { return n.ResetAfter(picotest.AfterBytes(3)) }, false, 0, syscall.ECONNRESET},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), n.AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			c.ResetCounters()
			f := tc.set()
			defer f.Remove()
			rows, err := conn.Query(t.Context(), "select 1", pgx.QueryExecModeExec)
			got := 0
			if err == nil {
				for rows.Next() {
					got++
				}
				err = rows.Err()
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("the client saw %v, want %v", err, tc.want)
			}
			if got != tc.rows {
				t.Errorf("%d rows came, want %d", got, tc.rows)
			}
			if f.Count() != 1 {
				t.Errorf("the fault happened %d times", f.Count())
			}
			if ran := n.Counters().Statements == 1; ran != tc.ran {
				t.Errorf("ran: %v, want %v", ran, tc.ran)
			}
		})
	}
}

// TestDoor refuses, resets and swallows connections.
func TestDoor(t *testing.T) {
	for _, network := range []picotest.Network{picotest.TCP, picotest.Memory} {
		c := picotest.Start(t, picotest.Config{Network: network})
		n := c.Node("i1")
		dial := func() (net.Conn, error) { return c.DialContext(t.Context(), "tcp", n.Addr()) }
		n.Refuse()
		if _, err := dial(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("refused: %v", err)
		}
		n.ResetDials()
		if conn, err := dial(); err == nil {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("reset: %v", err)
			}
			_ = conn.Close()
		}
		n.LoseDials()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := c.DialContext(ctx, "tcp", n.Addr()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("lost: %v", err)
		}
		cancel()
		n.BlackHole()
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}) // SSLRequest
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Errorf("black hole: %v", err)
		}
		n.Accept()
		_ = conn.SetReadDeadline(time.Time{})
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil || b[0] != 'N' {
			t.Errorf("after the black hole: %q, %v", b, err)
		}
		_ = conn.Close()
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// TestInjected puts messages where no server would.
func TestInjected(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	var notices []string
	config, err := pgx.ParseConfig(n.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, m *pgconn.Notice) { notices = append(notices, m.Message) }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	n.Inject(picotest.AfterRows(0), picotest.Notice("WARNING", "01000", "careful"))
	n.Inject(picotest.AfterRows(1), picotest.Parameter("TimeZone", "Mars"))
	if _, err := conn.Exec(t.Context(), "select 1"); err != nil {
		t.Fatal(err)
	}
	if len(notices) != 1 || notices[0] != "careful" || conn.PgConn().ParameterStatus("TimeZone") != "Mars" {
		t.Errorf("notices %q, time zone %q", notices, conn.PgConn().ParameterStatus("TimeZone"))
	}
	big := string(make([]byte, 40_000))
	n.Fail("XX000", big)
	var refused *pgconn.PgError
	if _, err := conn.Exec(t.Context(), "select 1"); !errors.As(err, &refused) || len(refused.Message) != 0 {
		// A zero byte ends the text on the wire.
		t.Errorf("huge error: %v", err)
	}
	n.LimitConnections(1)
	if _, err := pgx.Connect(t.Context(), n.AdminDSN()); !errors.As(err, &refused) || refused.Code != "53300" {
		t.Errorf("too many: %v", err)
	}
}
