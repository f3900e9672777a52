package picotest_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// FuzzStartup sends whatever to a node that expects a startup packet and closes: the node must neither fall nor hang.
func FuzzStartup(f *testing.F) {
	for _, s := range []string{
		"", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x00", "\xff\xff\xff\xff\x00\x03\x00\x00",
		string(packet(startupBody("admin", nil))),
		string(packet(startupBody("admin", map[string]string{"options": "read_preference=any,forward=off,x=,=,sql_motion_row_max=1"}))),
		string(packet(startupBody("nobody", nil))) + "p\x00\x00\x00\x36SCRAM-SHA-256\x00\x00\x00\x00 n,,n=,r=rOprNGfwEbeRWgbNEkqO",
		string(packet([]byte("\x00\x03\x00\x00user\x00"))),
	} {
		f.Add([]byte(s))
	}
	c := picotest.Start(f, picotest.Config{Network: picotest.Memory, Tiers: []picotest.Tier{{}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := c.DialContext(t.Context(), "tcp", c.Node("i1").Addr())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_, _ = conn.Write(data)
		_ = conn.Close()
		if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
			t.Fatal(err)
		}
	})
}

func packet(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
}

// FuzzFrames logs in and sends whatever.
func FuzzFrames(f *testing.F) {
	frame := func(kind byte, body string) string {
		return string(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...))
	}
	for _, s := range []string{
		"", "Q", frame('Q', "select 1\x00"), frame('Q', ""), frame('P', "\x00select $1\x00\x00\x01\x00\x00\x00\x19"),
		frame('P', "\x00select $1::int\x00\x00\x00") + frame('B', "\x00\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00") +
			frame('D', "P\x00") + frame('E', "\x00\x00\x00\x00\x01") + frame('S', ""),
		frame('D', "Sx\x00") + frame('C', "P\x00") + frame('H', "") + frame('S', ""), frame('d', "x"), frame('F', "x"), frame('!', ""), frame('X', ""),
	} {
		f.Add([]byte(s))
	}
	c := picotest.Start(f, picotest.Config{Network: picotest.Memory, Tiers: []picotest.Tier{{}}, Users: []picotest.User{{Name: "u", Method: "none"}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := openMemory(c, c.Node("i1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, end, err := w.login(startupBody("u", nil)); end != "ready" {
			t.Fatal(end, err)
		}
		var answer bytes.Buffer
		done := make(chan struct{})
		go func() { _, _ = io.Copy(&answer, w.conn); close(done) }()
		_, _ = w.conn.Write(data)
		w.close()
		<-done
		if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
			t.Fatal(err)
		}
	})
}
