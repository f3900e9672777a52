package wire

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/options"
)

// until polls a condition that another end of a socket brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		runtime.Gosched()
	}
}

// idleConn gives a connection whose server does next once the client is logged in.
func idleConn(t *testing.T, cfg *Config, next func(*peer)) (*Conn, <-chan struct{}) {
	t.Helper()
	s := newServer(t)
	loggedIn, done := make(chan struct{}), make(chan struct{})
	s.handle = func(p *peer) {
		<-loggedIn
		next(p)
		close(done)
		p.answer()
	}
	c, _ := s.dial(cfg)
	close(loggedIn)
	return c, done
}

// idle-conn-dead (1): the server hung up.
func TestClosedConnectionIsFoundBeforeUse(t *testing.T) {
	for name, end := range map[string]func(net.Conn){"FIN": func(c net.Conn) { c.Close() }, "RST": reset} {
		t.Run(name, func(t *testing.T) {
			c, done := idleConn(t, newConfig(), func(p *peer) { end(p.conn) })
			<-done
			until(t, "the end is seen", func() bool { return !c.Alive() })
			if c.Usable() {
				t.Fatal("usable")
			}
		})
	}
}

// idle-conn-dead (2): the server said why before it hung up; the log has it.
func TestReasonOfClosedConnectionIsLogged(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	cfg := newConfig()
	cfg.Options.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
	c, done := idleConn(t, cfg, func(p *peer) {
		p.be.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P01", Message: "the administrator ends it"})
		p.be.Flush()
		p.conn.Close()
	})
	<-done
	until(t, "the end is seen", func() bool { return !c.Alive() })
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "the administrator ends it") || !strings.Contains(log.String(), "node=i1") {
		t.Fatalf("log: %s", log.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// idle-conn-dead (3): what a server may say at any time is taken in, and nothing else changes.
func TestNoticesOnIdleConnection(t *testing.T) {
	notices := make(chan options.Notice, 10)
	cfg := newConfig()
	cfg.OnNotice = func(_ *Conn, n options.Notice) { notices <- n }
	c, done := idleConn(t, cfg, func(p *peer) {
		p.be.Send(&pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: "first"})
		p.be.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: "16.0"})
		p.be.Send(&pgproto3.NotificationResponse{Channel: "c", Payload: "p"})
		p.be.Send(&pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: strings.Repeat("x", 5000)})
		p.be.Flush()
	})
	<-done
	until(t, "both notices", func() bool {
		if !c.Alive() {
			t.Fatal("not alive")
		}
		return len(notices) == 2
	})
	if n := <-notices; n.Message != "first" || c.ServerVersion() != "16.0" {
		t.Fatalf("%+v, %s", n, c.ServerVersion())
	}
	rows, err := c.Query(bg, "select $1", named(int64(4)))
	if got := all(t, rows, err); got[0][0] != int64(4) {
		t.Fatalf("rows: %v", got)
	}
}

// A notice whose end hasn't arrived yet waits in the buffer.
func TestHalfANoticeOnIdleConnection(t *testing.T) {
	notices := make(chan options.Notice, 10)
	cfg := newConfig()
	cfg.OnNotice = func(_ *Conn, n options.Notice) { notices <- n }
	whole := frame('N', "SNOTICE\x00C00000\x00Mwhole\x00\x00")
	more := make(chan struct{})
	c, done := idleConn(t, cfg, func(p *peer) {
		io.WriteString(p.conn, whole[:9])
		<-more
		io.WriteString(p.conn, whole[9:])
	})
	for range 10 {
		if !c.Alive() {
			t.Fatal("half a notice isn't the end")
		}
	}
	close(more)
	<-done
	rows, err := c.Query(bg, "select $1", named(int64(4)))
	all(t, rows, err)
	if n := <-notices; n.Message != "whole" {
		t.Fatalf("%+v", n)
	}
}

// An answer that nobody asked for makes the connection unusable.
func TestAnswerToNothingOnIdleConnection(t *testing.T) {
	c, done := idleConn(t, newConfig(), func(p *peer) { io.WriteString(p.conn, frame('C', "SELECT 1\x00")) })
	<-done
	until(t, "the stray answer is seen", func() bool { return !c.Alive() })
}

// More than the answer came along with it: it isn't taken for the answer to the next statement.
func TestAnswerToNothingBehindAnAnswer(t *testing.T) {
	login := frame('R', "\x00\x00\x00\x00") + idle
	whole := frame('T', oneColumn) + frame('D', "\x00\x01\x00\x00\x00\x011") + frame('C', "SELECT 1\x00") + idle
	for name, more := range map[string]string{
		"an answer": whole, "the end of one": idle, "an error": frame('E', "SERROR\x00CXX000\x00Mno\x00\x00"), "no message": "\x00\x00\x00\x00\x00",
	} {
		c, err := dialConn(&chunks{left: [][]byte{[]byte(login), []byte(whole + more)}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Query(bg, "select 1", nil)
		if got := all(t, rows, err); len(got) != 1 {
			t.Fatalf("%s: %v", name, got)
		}
		_, err = c.Query(bg, "select 2", nil)
		if e := wireError(t, err); e.Sent || c.Usable() {
			t.Errorf("%s: sent %v, usable %v: %v", name, e.Sent, c.Usable(), err)
		}
	}
	notice := frame('N', "SNOTICE\x00C00000\x00Mx\x00\x00")
	c, err := dialConn(&chunks{left: [][]byte{[]byte(login), []byte(whole + notice + notice[:7])}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(bg, "select 1", nil)
	all(t, rows, err)
	if err := c.begin(bg); err != nil {
		t.Errorf("a notice and a half: %v", err)
	}
}

// A look at a healthy connection sends nothing and costs no allocation.
func TestLookCostsNothing(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	p.log()
	if n := testing.AllocsPerRun(100, func() {
		if !c.Alive() {
			t.Fatal("not alive")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	wantLog(t, p, "")
}

// A net.Conn that isn't a socket is looked at through what it offers.
func TestLookAtConnectionInMemory(t *testing.T) {
	client, far := net.Pipe()
	m := &memory{Conn: client}
	s := newSocket(m)
	if n, err := s.look(); n != 0 || err != nil || m.reads != 0 {
		t.Fatalf("nothing there: %d, %v, %d reads", n, err, m.reads)
	}
	m.buffered = 1
	go far.Write([]byte("x"))
	until(t, "the byte is there", func() bool {
		n, err := s.look()
		return n == 1 && err == nil
	})
	m.buffered = 0
	var b [4]byte
	if n, err := s.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
		t.Fatalf("what a look reads is kept: %q, %v", b[:n], err)
	}
	far.Close()
	m.closed = true
	if _, err := s.look(); err == nil {
		t.Fatal("the peer is gone")
	}
}

// memory is a connection that knows what has arrived.
type memory struct {
	net.Conn
	buffered, reads int
	closed          bool
}

func (m *memory) Buffered() int    { return m.buffered }
func (m *memory) PeerClosed() bool { return m.closed }
func (m *memory) Read(p []byte) (int, error) {
	m.reads++
	return m.Conn.Read(p)
}

// What offers nothing is looked at once a second, for a moment; inside a bubble of synctest,
// on its clock.
func TestLookAtWrappedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, far := net.Pipe()
		defer client.Close()
		s := newSocket(client)
		for range 3 {
			if n, err := s.look(); n != 0 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		start := time.Now()
		far.Close()
		if _, err := s.look(); err != nil {
			t.Fatalf("looked again at once: %v", err)
		}
		if time.Since(start) != 0 {
			t.Fatal("a look that was skipped took time")
		}
		time.Sleep(2 * lookEvery)
		if _, err := s.look(); err == nil {
			t.Fatal("the peer is gone")
		}
	})
}

// A connection without deadlines is taken for alive.
func TestConnectionWithoutDeadlines(t *testing.T) {
	client, far := net.Pipe()
	defer client.Close()
	defer far.Close()
	s := newSocket(tunnel{client})
	if n, err := s.look(); n != 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

type tunnel struct{ net.Conn }

func (tunnel) SetDeadline(time.Time) error     { return errors.New("no deadlines") }
func (tunnel) SetReadDeadline(time.Time) error { return errors.New("no deadlines") }
