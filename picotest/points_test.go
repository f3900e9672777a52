package picotest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/picodata/go-picodata/picotest"
)

// TestLoginPoints breaks, refuses and holds logins.
func TestLoginPoints(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	n.Inject(picotest.OnLogin(), picotest.ErrorMessage("57P03", "the database system is starting up"), picotest.ByUser("app"))
	if _, err := connect(t, n.AdminDSN()); err != nil {
		t.Errorf("the other user: %v", err)
	}
	if _, err := connect(t, n.DSN()); code(err) != "57P03" {
		t.Errorf("refused: %v", err)
	}
	n.CloseAfter(picotest.OnLogin())
	if _, err := connect(t, n.DSN()); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("closed: %v", err)
	}
	f := n.HangAfter(picotest.OnLogin())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(ctx, n.DSN()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
	if f.Count() != 1 {
		t.Errorf("hung %d logins", f.Count())
	}
	h := n.HoldAt(picotest.OnLogin())
	done := make(chan error, 1)
	go func() {
		conn, err := pgx.Connect(context.Background(), n.DSN())
		if err == nil {
			err = conn.Close(context.Background())
		}
		done <- err
	}()
	if err := h.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	n.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if h.Held() != 0 || h.Ever() != 1 {
		t.Errorf("held %d, ever %d", h.Held(), h.Ever())
	}
}

// TestParsePoint refuses a Parse and leaves the connection usable.
func TestParsePoint(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	conn := session(t, c, "i1", "")
	f := c.Node("i1").Inject(picotest.OnParse(), picotest.ErrorMessage("XX000", "no")).Times(2)
	for range 2 {
		if _, err := conn.Prepare(t.Context(), "p", "select 1"); code(err) != "XX000" {
			t.Errorf("refused: %v", err)
		}
	}
	if _, err := conn.Prepare(t.Context(), "p", "select 1"); err != nil || f.Count() != 2 {
		t.Errorf("after %d refusals: %v", f.Count(), err)
	}
	c.Node("i1").ResetAfter(picotest.OnParse())
	if _, err := conn.Prepare(t.Context(), "q", "select 2"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
}

// TestBindPoint refuses a Bind after its Parse was answered, and leaves the statement there.
func TestBindPoint(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	conn := session(t, c, "i1", "")
	if _, err := conn.Prepare(t.Context(), "p", "select $1::int"); err != nil {
		t.Fatal(err)
	}
	run := func() error {
		return conn.PgConn().ExecPrepared(t.Context(), "p", [][]byte{[]byte("7")}, nil, nil).Read().Err
	}
	f := c.Node("i1").Inject(picotest.OnBind(), picotest.ErrorMessage("XX000", "no"), picotest.SQL("select $1"))
	if err := run(); code(err) != "XX000" {
		t.Errorf("refused: %v", err)
	}
	if err := run(); err != nil || f.Count() != 1 {
		t.Errorf("after %d refusals: %v", f.Count(), err)
	}
	if n := len(c.Statements(picotest.SQL("select $1"))); n != 1 {
		t.Errorf("%d executions", n)
	}
	c.Node("i1").ResetAfter(picotest.OnBind())
	if err := run(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
}

// TestFailEverywhere answers on whichever node the statement arrives, until it is taken back.
func TestFailEverywhere(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	f := c.Fail("XX000", "sbroad: something", picotest.UserTables(), picotest.SQL("select 7")).Times(-1)
	for _, n := range c.Nodes() {
		conn := session(t, c, n.Name(), "")
		var refused *pgconn.PgError
		if _, err := conn.Exec(t.Context(), "select 7"); !errors.As(err, &refused) || refused.Message != "sbroad: something" {
			t.Errorf("%s: %v", n, err)
		}
		if _, err := conn.Exec(t.Context(), "select version()"); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	f.Remove()
	if _, err := session(t, c, "i1", "").Exec(t.Context(), "select 7"); err != nil || f.Count() != 4 {
		t.Errorf("after %d failures: %v", f.Count(), err)
	}
	k := c.Counters()
	if k.Statements != 9 || k.Logins != 5 || k.Received["startup"] != 5 || k.Sessions[picotest.SessionKey{User: "admin"}] != 5 {
		t.Errorf("sums %+v", k)
	}
}

// TestGoodbye sends an idle client a last word, and cuts.
func TestGoodbye(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	n := c.Node("i1")
	w, err := openMemory(c, n)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, end, err := w.login(startupBody("admin", nil)); end != "ready" {
		t.Fatal(end, err)
	}
	n.Send(picotest.ErrorMessage("57P01", "terminating connection due to administrator command"))
	n.Send(picotest.Raw([]byte("Z")))
	n.ResetConnections()
	if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.read(); err == nil {
		t.Error("a reset connection delivered what was sent before it")
	}
	w2, err := openMemory(c, n)
	if err != nil {
		t.Fatal(err)
	}
	defer w2.close()
	if _, end, err := w2.login(startupBody("admin", nil)); end != "ready" {
		t.Fatal(end, err)
	}
	n.Send(picotest.ErrorMessage("57P01", "terminating connection due to administrator command"))
	n.DropConnections()
	if m, err := w2.read(); err != nil || !strings.Contains(showBody(m), "C=57P01") {
		t.Errorf("the last word: %v, %v", m, err)
	}
	if _, err := w2.read(); !isClosed(err) {
		t.Errorf("after it: %v", err)
	}
}

// TestHeldAndKilled: a held statement of a node that dies is gone, and others of the hold are not.
func TestHeldAndKilled(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	h := c.Hold(picotest.SQL("select 1"))
	first := openPq(t, c, c.Node("i1").AdminDSN())
	second := openPq(t, c, c.Node("i2").AdminDSN())
	ended := make(chan error, 2)
	go func() { _, err := first.Exec("select 1"); ended <- err }()
	if err := h.WaitEver(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := second.Exec("select 1"); ended <- err }()
	if err := h.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	c.Node("i1").Kill()
	if err := <-ended; err == nil {
		t.Error("the statement of the killed node succeeded")
	}
	if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
		t.Fatal(err)
	}
	if h.Held() != 1 {
		t.Errorf("%d held, want the other one", h.Held())
	}
	h.ReleaseAll()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := c.Statements(picotest.SQL("select 1"), picotest.OfConn(1)); len(got) != 1 || got[0].Node != "i2" {
		t.Errorf("ran: %+v", got)
	}
}

// TestWaitGivesUp names what it waited for.
func TestWaitGivesUp(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := c.Hold()
	for want, err := range map[string]error{
		"2 statements are held (0 are)": h.Wait(ctx, 2),
		"1 statements have been held":   h.WaitEver(ctx, 1),
		"i1 is Offline":                 c.WaitState(ctx, "i1", "Offline"),
		"i2 leads":                      c.WaitLeader(ctx, "i2"),
		"statements hang":               c.WaitHanging(ctx, 1),
		"i1 has 3 connections (0 now)":  c.WaitConnections(ctx, "i1", 3),
	} {
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
