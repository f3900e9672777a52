package wire

import (
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/lib/pq"

	"github.com/picodata/go-picodata/options"
)

// frame makes a frame of a body.
func frame(typ byte, body string) string { return string(appendFrame(nil, typ, []byte(body))) }

// after gives raw bytes as the whole answer to the next statement.
func answering(bytes string) func(*peer) {
	return func(p *peer) {
		for {
			m, err := p.receive()
			if err != nil {
				return
			}
			switch m.(type) {
			case *pgproto3.Sync, *pgproto3.Query:
				if _, err := io.WriteString(p.conn, bytes); err != nil {
					return
				}
			}
		}
	}
}

const (
	oneColumn = "\x00\x01c\x00" + "\x00\x00\x00\x00" + "\x00\x00" + "\x00\x00\x00\x14" + "\x00\x00" + "\xff\xff\xff\xff" + "\x00\x00"
	idle      = "Z\x00\x00\x00\x05I"
)

// What isn't the protocol is an error of its own, costs the connection, and never reaches
// lib/pq, which would panic, allocate or lose step.
func TestMalformedAnswers(t *testing.T) {
	begin := frame('1', "") + frame('2', "") + frame('T', oneColumn)
	for name, answer := range map[string]string{
		"unknown type":               frame('?', ""),
		"copy":                       frame('G', "\x00\x00\x00"),
		"login message":              frame('R', "\x00\x00\x00\x00"),
		"length below four":          "1\x00\x00\x00\x03",
		"length beyond all":          begin + "D\xff\xff\xff\xff",
		"long small message":         "1\x00\x10\x00\x00",
		"row without columns":        frame('1', "") + frame('2', "") + frame('n', "") + frame('D', "\x00\x00"),
		"row before columns":         frame('D', "\x00\x01\x00\x00\x00\x011"),
		"columns cut short":          frame('1', "") + frame('2', "") + frame('T', oneColumn[:12]),
		"column name without end":    frame('1', "") + frame('2', "") + frame('T', "\x00\x01c"),
		"column format 7":            frame('1', "") + frame('2', "") + frame('T', oneColumn[:len(oneColumn)-1]+"\x07"),
		"error without end":          frame('E', "SERROR\x00"),
		"error with an open field":   frame('E', "SERROR"),
		"notice without end":         frame('N', "SNOTICE\x00"),
		"parameter without value":    frame('S', "name\x00"),
		"ready without status":       frame('Z', ""),
		"ready with status X":        frame('Z', "X"),
		"suspended":                  begin + frame('s', ""),
		"closing nothing":            frame('3', ""),
		"more than was asked":        begin + frame('C', "SELECT 0\x00") + idle + idle,
		"parameters cut short":       frame('1', "") + frame('t', "\x00\x02\x00\x00\x00\x14"),
		"unexpected, though correct": frame('1', "") + frame('1', "") + idle,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.handle = answering(answer)
			c, _ := s.dial(newConfig())
			rows, err := c.Query(bg, "select $1", named(int64(1)))
			if err == nil {
				for err == nil {
					err = rows.Next(make([]driver.Value, 1))
				}
				if cerr := rows.Close(); err == io.EOF && cerr != nil {
					err = cerr
				}
			}
			if err == io.EOF {
				// A complete answer came first; what follows is found before the next use.
				if c.Usable() && c.Alive() {
					t.Fatal("accepted")
				}
				return
			}
			var fe *FrameError
			if !errors.As(err, &fe) && name != "unexpected, though correct" {
				t.Fatalf("not a FrameError: %v", err)
			}
			if errors.Is(err, driver.ErrBadConn) {
				t.Fatalf("driver.ErrBadConn left the wire: %v", err)
			}
			if c.Usable() {
				t.Fatal("usable")
			}
		})
	}
}

// What came before the malformed message counts: a statement that was answered isn't in doubt.
func TestGarbageAfterTheAnswer(t *testing.T) {
	s := newServer(t)
	s.handle = answering(frame('1', "") + frame('2', "") + frame('n', "") + frame('C', "INSERT 0 1\x00") + idle + frame('?', ""))
	c, _ := s.dial(newConfig())
	res, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		t.Fatalf("%d rows", n)
	}
	until(t, "the garbage is seen", func() bool { return !c.Alive() })
}

// A buffer that a large row has blown up isn't kept.
func TestLargeBufferIsGivenBack(t *testing.T) {
	s := newServer(t)
	s.run = func(_ *peer, _ string, params [][]byte) result {
		size := 10
		if params != nil && string(params[0]) == "1" {
			size = 1 << 20
		}
		return result{columns: []pgproto3.FieldDescription{column("c", 25)}, rows: [][][]byte{{[]byte(strings.Repeat("x", size))}}, tag: "SELECT 1"}
	}
	c, _ := s.dial(newConfig())
	for _, arg := range []int64{1, 2} {
		rows, err := c.Query(bg, "select $1", named(arg))
		if got := all(t, rows, err); len(got) != 1 {
			t.Fatalf("%d rows", len(got))
		}
	}
	if n := len(c.g.buf); n > keepBuffer {
		t.Fatalf("an idle connection keeps %d bytes", n)
	}
}

// A header that lies about a length costs no memory for bytes that don't come.
func TestLyingLengthAllocatesNothing(t *testing.T) {
	s := newServer(t)
	begin := frame('1', "") + frame('2', "") + frame('T', oneColumn)
	s.handle = func(p *peer) {
		for range 5 {
			p.receive()
		}
		io.WriteString(p.conn, begin+"D\x3f\xff\xff\xff"+strings.Repeat("x", 100_000))
	}
	c, _ := s.dial(newConfig())
	_, err := c.Query(bg, "select $1", named(int64(1)))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v", err)
	}
	if n := len(c.g.buf); n > 4*100_000 {
		t.Fatalf("a buffer of %d bytes for 100,000 that came", n)
	}
}

// panicking is a result of lib/pq that it chokes on.
type panicking struct{ driver.Rows }

func (panicking) Next([]driver.Value) error { panic(errors.New("index out of range")) }

// A panic of lib/pq is an error, not the program's end.
func TestPanicOfLibPQ(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	rows, err := c.Query(bg, "select $1", named(int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	rows.rows = panicking{rows.rows}
	err = rows.Next(make([]driver.Value, 1))
	if err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Fatalf("got %v", err)
	}
	rows.Close()
	if c.Usable() {
		t.Fatal("usable")
	}
}

// Error messages have any size; lib/pq takes 30,000 bytes.
func TestLongErrors(t *testing.T) {
	for _, size := range []int{10, 29_000, 29_990, 30_000, 31_000, 1 << 20, 15 << 20} {
		s := newServer(t)
		message := strings.Repeat("й", size/2)
		s.run = func(_ *peer, _ string, params [][]byte) result {
			return result{err: serverError("XX000", message)}
		}
		c, _ := s.dial(newConfig())
		for _, args := range [][]driver.NamedValue{nil, named(int64(1))} {
			_, err := c.Exec(bg, "insert", args)
			var pe *pq.Error
			if !errors.As(err, &pe) || pe.Code != "XX000" {
				t.Fatalf("%d bytes: %.200v", size, err)
			}
			begins := pe.Message[:len(pe.Message)*9/10]
			for len(begins) > 0 && !utf8.ValidString(begins) {
				begins = begins[:len(begins)-1]
			}
			if size <= 29_000 && pe.Message != message || len(pe.Message) > maxPQError ||
				len(pe.Message) < min(size, 29_000) || !strings.HasPrefix(message, begins) || !utf8.ValidString(pe.Message) {
				t.Fatalf("%d bytes: the message became %d bytes: …%s", size, len(pe.Message), pe.Message[len(pe.Message)-50:])
			}
			if !c.Usable() {
				t.Fatalf("%d bytes: the connection is lost", size)
			}
		}
	}
}

func FuzzShortenError(f *testing.F) {
	f.Add([]byte("SERROR\x00CXX000\x00Mtext\x00\x00"))
	f.Add([]byte("M" + strings.Repeat("é", 40_000) + "\x00\x00"))
	f.Add([]byte("M" + strings.Repeat("x", 20_000) + "\x00D" + strings.Repeat("y", 20_000) + "\x00\x00"))
	f.Add([]byte(strings.Repeat("Ma\x00", 12_000) + "\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !validFields(body) {
			return
		}
		got := shortenError(body)
		if len(got) > maxPQError || !validFields(got) {
			t.Fatalf("%d bytes became %d, valid: %v", len(body), len(got), validFields(got))
		}
	})
}

// A server may send notices and parameters at any time, between any two messages.
func TestNoticesAnywhere(t *testing.T) {
	s := newServer(t)
	notice := frame('N', "SNOTICE\x00C00000\x00Mhello\x00\x00")
	param := frame('S', "x\x00y\x00")
	async := frame('A', "\x00\x00\x00\x01ch\x00\x00")
	noise := notice + param + async
	s.handle = answering(noise + frame('1', "") + noise + frame('2', "") + noise + frame('T', oneColumn) + noise +
		frame('D', "\x00\x01\x00\x00\x00\x011") + noise + frame('D', "\x00\x01\x00\x00\x00\x012") + noise +
		frame('C', "SELECT 2\x00") + noise + idle + noise)
	var got []options.Notice
	cfg := newConfig()
	cfg.OnNotice = func(_ *Conn, n options.Notice) { got = append(got, n) }
	c, _ := s.dial(cfg)
	for range 3 {
		rows, err := c.Query(bg, "select $1", named(int64(1)))
		if rows := all(t, rows, err); len(rows) != 2 {
			t.Fatalf("rows: %v", rows)
		}
		if !c.Usable() {
			t.Fatal("not usable")
		}
	}
	// The last ones are read with whatever is read next.
	if len(got) < 7*3-1 {
		t.Fatalf("%d notices", len(got))
	}
	if want := (options.Notice{Node: "i1", Severity: "NOTICE", Code: "00000", Message: "hello"}); got[0] != want {
		t.Fatalf("got %+v", got[0])
	}
}

// The server's error followed by its end: the error is the caller's answer, and the
// connection isn't used again.
func TestErrorThenEOF(t *testing.T) {
	for name, severity := range map[string]string{"error": "ERROR", "fatal": "FATAL"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.handle = func(p *peer) {
				for range 5 {
					p.receive()
				}
				p.be.Send(&pgproto3.ErrorResponse{Severity: severity, Code: "57P01", Message: "going down"})
				p.flush()
			}
			c, _ := s.dial(newConfig())
			_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
			e := wireError(t, err)
			if errors.Is(err, driver.ErrBadConn) || !e.Sent || !e.Answered {
				t.Fatalf("sent %v, answered %v: %v", e.Sent, e.Answered, err)
			}
			if !strings.Contains(err.Error(), "going down") {
				t.Fatalf("the server's reason is lost: %v", err)
			}
			if c.Usable() {
				t.Fatal("usable")
			}
		})
	}
}

// badconn-duplicate-write: whatever happens after the statement was written, it is written
// once, the error isn't driver.ErrBadConn, and it says that something was sent.
func TestWriteIsNeverRepeated(t *testing.T) {
	for _, tt := range []struct {
		name     string
		end      func(p *peer)
		answered bool
	}{
		{"close", func(p *peer) {}, false},
		{"reset", func(p *peer) { reset(p.conn) }, false},
		{"command complete, then close", func(p *peer) {
			p.be.Send(&pgproto3.ParseComplete{})
			p.be.Send(&pgproto3.BindComplete{})
			p.be.Send(&pgproto3.NoData{})
			p.be.Send(&pgproto3.CommandComplete{CommandTag: []byte("INSERT 0 1")})
			p.flush()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			statements := make(chan string, 10)
			s.handle = func(p *peer) {
				for range 5 {
					m, err := p.receive()
					if err != nil {
						return
					}
					if _, ok := m.(*pgproto3.Sync); ok {
						statements <- "insert"
					}
				}
				tt.end(p)
			}
			c, _ := s.dial(newConfig())
			_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
			e := wireError(t, err)
			if errors.Is(err, driver.ErrBadConn) || !e.Sent || e.Answered != tt.answered || e.Cancelled() {
				t.Fatalf("sent %v, answered %v: %v", e.Sent, e.Answered, err)
			}
			s.stop()
			if n := len(statements); n != 1 || s.accepted.Load() != 1 {
				t.Fatalf("%d statements on %d connections", n, s.accepted.Load())
			}
		})
	}
}

// A connection that was lost before anything was written says so.
func TestNothingWasSentOnALostConnection(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	c.g.sock.Close()
	_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
	if e := wireError(t, err); e.Sent || errors.Is(err, driver.ErrBadConn) {
		t.Fatalf("sent %v: %v", e.Sent, err)
	}
}

func TestTextWithNULIsRefused(t *testing.T) {
	s := newServer(t)
	c, p := s.dial(newConfig())
	p.log()
	for _, args := range [][]driver.NamedValue{nil, named(int64(1))} {
		_, err := c.Exec(bg, "insert\x00", args)
		if e := wireError(t, err); e.Sent || !strings.Contains(err.Error(), "NUL") {
			t.Fatalf("sent %v: %v", e.Sent, err)
		}
	}
	if !c.Usable() {
		t.Fatal("the connection is lost")
	}
	wantLog(t, p, "")
}

func TestTooManyArguments(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	args := make([]driver.NamedValue, 65536)
	_, err := c.Exec(bg, "insert", args)
	if e := wireError(t, err); e.Sent || !c.Usable() {
		t.Fatalf("sent %v, usable %v: %v", e.Sent, c.Usable(), err)
	}
}
