package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/options"
)

// silent receives until the client hangs up, answers nothing, and says what came.
func silent(heard chan<- string) func(*peer) {
	return func(p *peer) {
		for {
			m, err := p.receive()
			if err != nil {
				close(heard)
				return
			}
			switch m.(type) {
			case *pgproto3.Sync, *pgproto3.Query:
				heard <- "statement"
			}
		}
	}
}

// A context that ends while the server is silent ends the call, wherever it is.
func TestContextEndsTheCall(t *testing.T) {
	for _, tt := range []struct {
		name string
		sql  string
		args []driver.NamedValue
	}{
		{"simple", "select 1", nil},
		{"unnamed", "select $1", named(int64(1))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			heard := make(chan string, 10)
			s.handle = silent(heard)
			c, _ := s.dial(newConfig())
			ctx, cancel := context.WithCancel(bg)
			go func() {
				<-heard
				cancel()
			}()
			_, err := c.Query(ctx, tt.sql, tt.args)
			e := wireError(t, err)
			if !errors.Is(err, context.Canceled) || !e.Sent || e.Answered || !e.Cancelled() {
				t.Fatalf("sent %v, answered %v: %v", e.Sent, e.Answered, err)
			}
			if c.Usable() {
				t.Fatal("a connection with an answer under way may not be used again")
			}
			for range heard { // the socket is closed: the server sees it
			}
			if n := s.accepted.Load(); n != 1 {
				t.Fatalf("%d connections: a CancelRequest was sent", n)
			}
		})
	}
}

func TestContextThatIsDoneSendsNothing(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	p.log()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err := c.Exec(ctx, "insert into t values ($1)", named(int64(1)))
	if e := wireError(t, err); !errors.Is(err, context.Canceled) || e.Sent {
		t.Fatalf("sent %v: %v", e.Sent, err)
	}
	if !c.Usable() {
		t.Fatal("nothing was sent, and yet the connection is lost")
	}
	wantLog(t, p, "")
}

// A context ends the reading of rows too, even of rows that have arrived.
func TestContextEndsReadingRows(t *testing.T) {
	s := newServer(t)
	hold := make(chan struct{})
	defer close(hold)
	s.handle = func(p *peer) {
		for range 5 { // P B D E S
			p.receive()
		}
		p.be.Send(&pgproto3.ParseComplete{})
		p.be.Send(&pgproto3.BindComplete{})
		p.be.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{column("c", 20)}})
		p.be.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("1")}})
		p.be.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("2")}})
		p.flush()
		<-hold
	}
	c, _ := s.dial(newConfig())
	ctx, cancel := context.WithCancel(bg)
	rows, err := c.Query(ctx, "select $1", named(int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil || dest[0] != int64(1) {
		t.Fatalf("%v, %v", dest, err)
	}
	cancel()
	for !c.watch.fired.Load() {
		runtime.Gosched()
	}
	if err := rows.Next(dest); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	rows.Close()
	if c.Usable() {
		t.Fatal("usable with half an answer under way")
	}
}

// The context of an operation has no say once the operation is over.
func TestLateContextHurtsNobody(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	for range 50 {
		ctx, cancel := context.WithCancel(bg)
		rows, err := c.Query(ctx, "select $1", named(int64(1)))
		all(t, rows, err)
		cancel()
		if !c.Usable() {
			t.Fatal("not usable")
		}
	}
}

// A context that ends between the last byte of the answer and Close leaves the connection
// as good as it was.
func TestContextThatEndsAfterTheAnswer(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	for range 20 {
		ctx, cancel := context.WithCancel(bg)
		rows, err := c.Query(ctx, "select $1", named(int64(1)))
		if err != nil {
			t.Fatal(err)
		}
		dest := make([]driver.Value, 1)
		for rows.Next(dest) == nil {
		}
		cancel()
		for !c.watch.fired.Load() {
			runtime.Gosched()
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if !c.Usable() || c.Ping(bg) != nil {
			t.Fatal("the connection was lost for nothing")
		}
	}
}

// A context without an end costs no goroutine, and one with an end costs none while it waits.
func TestNoGoroutineWaitsForAContext(t *testing.T) {
	s := newServer(t)
	heard := make(chan string, 10)
	s.handle = silent(heard)
	c, _ := s.dial(newConfig())
	ctx, cancel := context.WithCancel(bg)
	before := runtime.NumGoroutine()
	done := make(chan error, 1)
	go func() {
		_, err := c.Query(ctx, "select $1", named(int64(1)))
		done <- err
	}()
	<-heard
	if n := runtime.NumGoroutine(); n > before+1 {
		t.Fatalf("%d goroutines more than the query's own", n-before-1)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// Every part of a dial obeys the context and connect_timeout.
func TestDialObeysContext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  options.SSLMode
		login func(p *peer, reached func()) bool
	}{
		{"startup", options.SSLDisable, func(p *peer, reached func()) bool {
			p.be.ReceiveStartupMessage()
			reached()
			p.be.Receive()
			return false
		}},
		{"asking for TLS", options.SSLRequire, func(p *peer, reached func()) bool {
			io.ReadFull(p.conn, make([]byte, 8))
			reached()
			p.conn.Read(make([]byte, 1))
			return false
		}},
		{"handshake", options.SSLRequire, func(p *peer, reached func()) bool {
			io.ReadFull(p.conn, make([]byte, 8))
			p.conn.Write([]byte{'S'})
			p.conn.Read(make([]byte, 1)) // the ClientHello
			reached()
			io.Copy(io.Discard, p.conn)
			return false
		}},
		{"password", options.SSLDisable, func(p *peer, reached func()) bool {
			p.be.ReceiveStartupMessage()
			p.be.Send(&pgproto3.AuthenticationMD5Password{})
			p.be.Flush()
			p.be.SetAuthType(pgproto3.AuthTypeMD5Password)
			p.be.Receive()
			reached()
			p.be.Receive()
			return false
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			ctx, cancel := context.WithCancel(bg)
			s.login = func(p *peer) bool { return tt.login(p, cancel) }
			cfg := newConfig()
			cfg.Options.SSLMode = tt.mode
			_, err := Dial(ctx, cfg, s.target())
			if e := wireError(t, err); !errors.Is(err, context.Canceled) || e.Sent {
				t.Fatalf("got %v", err)
			}
			s = newServer(t)
			s.login = func(p *peer) bool { return tt.login(p, func() {}) }
			cfg.Options.ConnectTimeout = 1 // passes before anything else happens
			_, err = Dial(bg, cfg, s.target())
			var ne net.Error
			if !errors.As(err, &ne) || !ne.Timeout() || wireError(t, err).Cancelled() {
				t.Fatalf("connect_timeout isn't the caller's context: %v", err)
			}
		})
	}
}

// sized makes every select a result of so many bytes.
func sized(bytes int) func(*peer, string, [][]byte) result {
	row := [][]byte{make([]byte, 1000)}
	for i := range row[0] {
		row[0][i] = 'x'
	}
	return func(_ *peer, _ string, params [][]byte) result {
		r := result{columns: []pgproto3.FieldDescription{column("c", 25)}, tag: "SELECT"}
		for n := 0; n < bytes; n += 1000 {
			r.rows = append(r.rows, row)
		}
		return r
	}
}

// What a caller abandons is read if it is little; otherwise the socket is closed.
func TestAbandonedResult(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bytes  int
		usable bool
	}{{"small", 100_000, true}, {"large", 8 << 20, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			s.run = sized(tt.bytes)
			c, _ := s.dial(newConfig())
			rows, err := c.Query(bg, "select $1", named(int64(1)))
			if err != nil {
				t.Fatal(err)
			}
			if err := rows.Next(make([]driver.Value, 1)); err != nil {
				t.Fatal(err)
			}
			if err := rows.Close(); err != nil {
				t.Fatalf("abandoning a result is no error: %v", err)
			}
			if c.Usable() != tt.usable {
				t.Fatalf("usable: %v", c.Usable())
			}
		})
	}
}

// A statement on a busy connection is refused, not sent.
func TestBusyConnection(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	rows, err := c.Query(bg, "select $1", named(int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Usable() {
		t.Fatal("usable with open rows")
	}
	if _, err := c.Exec(bg, "insert into t values (1)", nil); !errors.Is(err, ErrBusy) {
		t.Fatalf("got %v", err)
	}
	rows.Close()
	if !c.Usable() {
		t.Fatal("not usable after Close")
	}
}

// Close from another goroutine ends a statement that waits.
func TestCloseEndsAStatement(t *testing.T) {
	s := newServer(t)
	heard := make(chan string, 10)
	s.handle = silent(heard)
	c, _ := s.dial(newConfig())
	go func() {
		<-heard
		c.Close()
	}()
	_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
	if e := wireError(t, err); !e.Sent || errors.Is(err, driver.ErrBadConn) {
		t.Fatalf("got %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// Closing while statements come and go, as a pool does when it can't wait any longer.
func TestCloseRacesWithStatements(t *testing.T) {
	for range 50 {
		s := newServer(t)
		c, _ := s.dial(newConfig())
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			c.Close()
		}()
		for {
			rows, err := c.Query(bg, "select $1", named(int64(1)))
			if err == nil {
				err = rows.Close()
			}
			if err != nil {
				if errors.Is(err, driver.ErrBadConn) {
					t.Fatal(err)
				}
				break
			}
		}
		<-closed
		s.stop()
	}
}

// The rest of an abandoned result has half a second to come, on a server that has stopped in
// the middle of it.
func TestAbandonedResultOfAFrozenServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, far := net.Pipe()
		defer far.Close()
		begin := frame('1', "") + frame('2', "") + frame('T', oneColumn) + frame('D', "\x00\x01\x00\x00\x00\x011")
		go func() {
			be := pgproto3.NewBackend(far, far)
			be.ReceiveStartupMessage()
			io.WriteString(far, frame('R', "\x00\x00\x00\x00")+idle)
			for range 5 {
				be.Receive()
			}
			io.WriteString(far, begin)
			be.Receive() // the end
		}()
		cfg := newConfig()
		cfg.Options.DialFunc = func(context.Context, string, string) (net.Conn, error) { return client, nil }
		c, err := Dial(bg, cfg, Target{Address: "127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Query(bg, "select $1", named(int64(1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Next(make([]driver.Value, 1)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := rows.Close(); err != nil {
			t.Fatalf("abandoning a result is no error: %v", err)
		}
		if took := time.Since(start); took != drainTime || c.Usable() {
			t.Fatalf("after %v, usable %v", took, c.Usable())
		}
		synctest.Wait()
	})
}
