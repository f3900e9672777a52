package wire

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// canned is a server whose every byte is known beforehand. A Read gives one answer at most, as if the
// server had waited for the next statement.
type canned struct{ r *bytes.Reader }

func (c canned) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if end := bytes.Index(p[:n], []byte(idle)); end >= 0 && end+len(idle) < n {
		keep := end + len(idle)
		_, _ = c.r.Seek(int64(keep-n), io.SeekCurrent)
		n = keep
	}
	return n, err
}
func (c canned) Write(p []byte) (int, error)      { return len(p), nil }
func (c canned) Close() error                     { return nil }
func (c canned) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c canned) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c canned) SetDeadline(time.Time) error      { return nil }
func (c canned) SetReadDeadline(time.Time) error  { return nil }
func (c canned) SetWriteDeadline(time.Time) error { return nil }
func (c canned) Buffered() int                    { return 0 }
func (c canned) PeerClosed() bool                 { return false }

// dialCanned connects to a server that sends these bytes.
func dialCanned(answer []byte) (*Conn, error) { return dialConn(canned{bytes.NewReader(answer)}) }

// chunks is a server whose bytes come in exactly these pieces.
type chunks struct {
	canned
	left [][]byte
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.left[0])
	c.left = c.left[1:]
	return n, nil
}

func dialConn(nc net.Conn) (*Conn, error) {
	cfg := newConfig()
	cfg.Options.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nc, nil }
	cfg.Options.StatementCacheThreshold = 0
	return Dial(bg, cfg, Target{Address: "127.0.0.1:1"})
}

// drive uses a connection until it fails or has nothing more to say.
func drive(t *testing.T, c *Conn) {
	for i := range 4 {
		var args []driver.NamedValue
		if i > 0 {
			args = named(int64(i))
		}
		rows, err := c.Query(bg, "select $1", args)
		if err == nil {
			dest := make([]driver.Value, len(rows.Columns()))
			for n := 0; n < 1000 && err == nil; n++ {
				err = rows.Next(dest)
			}
			if cerr := rows.Close(); err == io.EOF || err == nil {
				err = cerr
			}
		}
		if errors.Is(err, driver.ErrBadConn) {
			t.Fatalf("driver.ErrBadConn left the wire: %v", err)
		}
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("not a *wire.Error: %v", err)
		}
		if c.Usable() != (c.g.ready() && c.g.status == 'I') {
			t.Fatal("usable and not ready")
		}
	}
}

// Whatever a server answers, nothing panics, hangs or poses as another error.
func FuzzAnswers(f *testing.F) {
	begin := frame('1', "") + frame('2', "") + frame('T', oneColumn)
	row := frame('D', "\x00\x01\x00\x00\x00\x011")
	end := frame('C', "SELECT 1\x00") + idle
	f.Add([]byte(frame('T', oneColumn) + row + row + end + begin + row + end + frame('2', "") + row + end))
	f.Add([]byte(begin + frame('E', "SERROR\x00C42999\x00Mstale\x00\x00") + idle))
	f.Add([]byte(frame('N', "SNOTICE\x00Mx\x00\x00") + frame('S', "a\x00b\x00") + begin + row + end))
	f.Add([]byte(frame('I', "") + idle + frame('1', "") + frame('2', "") + frame('n', "") + frame('C', "INSERT 0 1\x00") + idle))
	login := frame('R', "\x00\x00\x00\x00") + idle
	f.Fuzz(func(t *testing.T, answer []byte) {
		c, err := dialCanned(append([]byte(login), answer...))
		if err != nil {
			return // the first bytes were taken for the login's
		}
		drive(t, c)
		c.Alive()
		c.Close()
	})
}

// The same for the login.
func FuzzLogin(f *testing.F) {
	f.Add([]byte(frame('R', "\x00\x00\x00\x00") + frame('S', "a\x00b\x00") + frame('K', "12345678") + idle))
	f.Add([]byte(frame('R', "\x00\x00\x00\x05abcd") + frame('R', "\x00\x00\x00\x00") + idle))
	f.Add([]byte(frame('R', "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00") + frame('R', "\x00\x00\x00\x0br=abc,s=YWJj,i=4096")))
	f.Add([]byte(frame('v', "\x00\x00\x00\x00\x00\x00\x00\x00") + frame('E', "SERROR\x00C28000\x00Mno\x00\x00")))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if bytes.Contains(answer, []byte("i=")) && len(answer) > 200 {
			return // iterations cost time, not safety
		}
		c, err := dialCanned(answer)
		if err == nil {
			c.Close()
			return
		}
		if e := wireError(t, err); errors.Is(err, driver.ErrBadConn) || e.Stage == StageDial {
			t.Fatalf("got %v", err)
		}
	})
}
