package scenarios_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What a hostile server can't do: SECURITY.md promises it.

var loginDone = append(wireFrame('R', make([]byte, 4)), wireFrame('Z', []byte("I"))...)

// Lengths that a header announces cost nothing until the bytes are there, and endless streams of small messages
// don't add up.
func TestServerCantMakeTheClientAllocate(t *testing.T) {
	head := func(typ byte, length uint32) []byte { return binary.BigEndian.AppendUint32([]byte{typ}, length) }
	columns := append([]byte{0, 1}, "c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x19\xff\xff\xff\xff\xff\xff\x00\x00"...)
	endless := func(c net.Conn, first, each []byte) {
		if _, err := c.Write(first); err != nil {
			return
		}
		for range 1 << 20 { // a gigabyte, if nobody stops it
			if _, err := c.Write(each); err != nil {
				return
			}
		}
	}
	kb := strings.Repeat("x", 1000)
	for name, f := range map[string]func(net.Conn){
		"a huge login message":  func(c net.Conn) { c.Write(head('R', 1<<31-1)) },
		"a huge error at login": func(c net.Conn) { c.Write(head('E', 1<<30)) },
		"a huge row":            func(c net.Conn) { c.Write(loginDone); c.Write(wireFrame('T', columns)); c.Write(head('D', 1<<30)) },
		"a huge row of huge values": func(c net.Conn) {
			c.Write(loginDone)
			c.Write(wireFrame('T', columns))
			c.Write(wireFrame('D', []byte{0, 1, 0x7f, 0xff, 0xff, 0xff}))
		},
		"a huge number of columns": func(c net.Conn) { c.Write(loginDone); c.Write(wireFrame('T', []byte{0xff, 0xff})) },
		"notices without end": func(c net.Conn) {
			endless(c, loginDone, wireFrame('N', []byte("SNOTICE\x00C00000\x00M"+kb+"\x00\x00")))
		},
		"parameters without end": func(c net.Conn) {
			endless(c, wireFrame('R', make([]byte, 4)), wireFrame('S', []byte("name\x00"+kb+"\x00")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open("picodata", listen(t, f))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if n, err := readAll(ctx, db, "select 1"); err == nil {
				t.Errorf("%d rows and no error", n)
			}
			runtime.ReadMemStats(&after)
			// What was asked of the system isn't given back: a peak can't hide behind a collection.
			if grown := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// COPY is how other drivers were made to send local files: a server that answers with CopyInResponse gets
// nothing but a closed connection.
func TestServerCantReadALocalFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the contents of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, typ := range []byte{'G', 'H', 'W'} {
		got := make(chan string, 10)
		db, err := sql.Open("picodata", listen(t, func(c net.Conn) {
			c.Write(loginDone)
			b := make([]byte, 4096)
			n, _ := c.Read(b) // the statement
			_ = n
			c.Write(wireFrame(typ, []byte{0, 0, 1, 0, 0}))
			all, _ := io.ReadAll(c)
			got <- string(all)
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err = db.ExecContext(ctx, "copy t from '"+secret+"'")
		cancel()
		if err == nil {
			t.Errorf("%q: no error", typ)
		}
		if sent := <-got; sent != "" && sent != "X\x00\x00\x00\x04" {
			t.Errorf("%q: the client went on to send %q", typ, sent)
		}
		db.Close()
	}
}

// A server tells the driver where the cluster's other instances are. With allowed_networks that leads
// nowhere else, by address or by name.
func TestServerCantLeadTheClientElsewhere(t *testing.T) {
	for _, c := range []struct {
		networks []netip.Prefix
		reached  bool
	}{
		{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, false},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, true},
		{nil, true},
	} {
		t.Run(fmt.Sprint(c.networks), func(t *testing.T) {
			cluster := picotest.Start(t, two)
			i1, i2 := cluster.Node("i1"), cluster.Node("i2")
			_, port, err := net.SplitHostPort(i2.Addr())
			if err != nil {
				t.Fatal(err)
			}
			i2.Advertise("localhost:" + port) // a name, that anybody's DNS may resolve to anything
			cfg, err := picodata.ParseDSN(i1.AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := picodata.NewConnector(cfg, options.WithAllowedNetworks(c.networks...), options.WithEjectionDuration(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(conn)
			defer db.Close()
			for range 40 {
				if _, err := db.ExecContext(t.Context(), "select 1"); err != nil {
					t.Fatal(err)
				}
			}
			if reached := i2.Counters().Ever > 0; reached != c.reached {
				t.Errorf("i2 had %d connections", i2.Counters().Ever)
			}
			_, err = db.ExecContext(picodata.ToInstance(t.Context(), "i2"), "select 1")
			if (err == nil) != c.reached {
				t.Errorf("to i2: %v", err)
			}
		})
	}
}

// The password is in no error, whatever the server answers to it.
func TestNoSecretInErrors(t *testing.T) {
	for _, answer := range []string{
		string(wireFrame('R', []byte{0, 0, 0, 3})),                                      // in clear text
		string(wireFrame('R', []byte{0, 0, 0, 5, 1, 2, 3, 4})),                          // MD5, then hangs up
		string(wireFrame('R', append([]byte{0, 0, 0, 10}, "SCRAM-SHA-256\x00\x00"...))), // SCRAM, then hangs up
		string(wireFrame('R', []byte{0, 0, 0, 99})),
		string(wireFrame('E', []byte("SFATAL\x00C28P01\x00Mno\x00\x00"))),
		"HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		db, err := sql.Open("picodata", listen(t, func(c net.Conn) { io.WriteString(c, answer) }))
		if err != nil {
			t.Fatal(err)
		}
		err = db.PingContext(t.Context())
		if err == nil {
			t.Errorf("%q: no error", answer)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, "s3cret") {
				t.Errorf("%q: the error shows the password: %s", answer, text)
			}
		}
		db.Close()
	}
}
