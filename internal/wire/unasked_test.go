package wire

import (
	"crypto/tls"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

// body makes a body of so many bytes for a frame of this type, as right as that size allows.
func body(typ byte, size int) string {
	switch typ {
	case 'N', 'E':
		const head = "SNOTICE\x00M"
		if size >= len(head)+2 {
			return head + strings.Repeat("x", size-len(head)-2) + "\x00\x00"
		}
	case 'S':
		if size >= 2 {
			return strings.Repeat("x", size-2) + "\x00\x00"
		}
	case 'D':
		if size >= 6 {
			n := size - 6
			return string([]byte{0, 1, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + strings.Repeat("1", n)
		}
	case 'C':
		if size >= 1 {
			return strings.Repeat("x", size-1) + "\x00"
		}
	}
	return strings.Repeat("\x00", size)
}

// Whatever frame of whatever size comes, whole or half, on an idle connection or in front of an answer, plain or
// over TLS: the connection is good or lost, and nothing waits for what doesn't come or turns in a circle.
func TestUnaskedFrames(t *testing.T) {
	ca := newAuthority(t, "ca")
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(nil, "127.0.0.1")}}
	sizes := []int{0, 1, 5, 16<<10 - 6, 16<<10 - 5, 16<<10 - 1, 16 << 10, 16<<10 + 1, 1 << 20}
	if testing.Short() {
		sizes = []int{0, 5, 16 << 10, 16<<10 + 1}
	}
	answer := frame('1', "") + frame('2', "") + frame('T', oneColumn) + frame('D', "\x00\x01\x00\x00\x00\x011") + frame('C', "SELECT 1\x00") + idle
	for _, encrypted := range []bool{false, true} {
		for _, typ := range []byte("NSAEDTtCZ123nsIRKv?\x00") {
			for _, size := range sizes {
				for _, half := range []bool{false, true} {
					for _, busy := range []bool{false, true} {
						what := fmt.Sprintf("TLS %v, %q of %d, half %v, busy %v", encrypted, typ, size, half, busy)
						unasked := frame(typ, body(typ, size))
						if half {
							unasked = unasked[:frameHeader+size/2]
						}
						s := newServer(t)
						if encrypted {
							s.login = loginTLS(config)
						}
						begin, sent := make(chan struct{}), make(chan struct{})
						s.handle = func(p *peer) {
							<-begin
							if !busy {
								io.WriteString(p.conn, unasked)
							}
							close(sent)
							p.receive()
							if busy {
								io.WriteString(p.conn, unasked)
							}
							if !half {
								io.WriteString(p.conn, answer)
							}
							closeWrite(p.conn)
							io.Copy(io.Discard, p.conn)
						}
						cfg := newConfig()
						if encrypted {
							cfg.Options.SSLMode = options.SSLRequire
						}
						c, _ := s.dial(cfg)
						close(begin)
						<-sent
						for range 3 {
							c.Alive()
						}
						rows, err := c.Query(bg, "select $1", named(int64(1)))
						if err == nil {
							for dest := make([]driver.Value, 1); err == nil; {
								err = rows.Next(dest)
							}
							if cerr := rows.Close(); err == io.EOF {
								err = cerr
							}
						}
						if good := !half && harmless(typ, size); good != (err == nil) && good {
							t.Errorf("%s: %v", what, err)
						}
						if err == nil && half {
							t.Errorf("%s: no error", what)
						}
						c.Close()
						s.stop()
					}
				}
			}
		}
	}
}

// harmless reports whether a server may send such a frame at any time.
func harmless(typ byte, size int) bool {
	switch typ {
	case 'N':
		return size == 1 || size >= 11
	case 'S':
		return size >= 2 && size <= maxSmall
	case 'A':
		return size <= maxSmall
	}
	return false
}

func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		h.CloseWrite()
	}
	if tc, ok := c.(*tls.Conn); ok {
		closeWrite(tc.NetConn())
	}
}

// A stray answer that TLS holds back, because the buffer had no room for its record, isn't the next statement's.
func TestAnswerToNothingWithinARecord(t *testing.T) {
	ca := newAuthority(t, "ca")
	s := newServer(t)
	s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{ca.issue(nil, "127.0.0.1")}, DynamicRecordSizingDisabled: true})
	before, end := describeColumn(25), frame('C', "SELECT 1\x00")+idle
	row := frame('D', body('D', readBuffer-len(end)-frameHeader))
	whole := before + row + end // the row and the end fill the buffer to its last byte
	stray := frame('T', oneColumn) + frame('D', "\x00\x01\x00\x00\x00\x019") + frame('C', "SELECT 1\x00") + idle
	s.handle = func(p *peer) {
		p.receive()
		io.WriteString(p.conn, whole[:2000])
		io.WriteString(p.conn, whole[2000:]+stray) // one record
		p.receive()
	}
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLRequire
	c, _ := s.dial(cfg)
	rows, err := c.Query(bg, "select 1", nil)
	if got := all(t, rows, err); len(got) != 1 {
		t.Fatal(len(got))
	}
	_, err = c.Query(bg, "select 2", nil)
	if e := wireError(t, err); e.Sent || c.Usable() {
		t.Fatalf("sent %v, usable %v: %v", e.Sent, c.Usable(), err)
	}
}

// Close, CloseWait and Alive may come at once.
func TestAliveBesideClose(t *testing.T) {
	s := newServer(t)
	for i := range 20 {
		c, err := Dial(bg, newConfig(), s.target())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for c.Alive() {
			}
		})
		wg.Go(func() {
			if i%2 == 0 {
				c.Close()
			} else {
				c.CloseWait(time.Second)
			}
		})
		wg.Wait()
		if c.Usable() {
			t.Fatal("usable")
		}
	}
}
