package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// tap keeps what is written to a connection.
type tap struct {
	net.Conn
	mu      sync.Mutex
	written bytes.Buffer
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.written.Write(p)
	t.mu.Unlock()
	return t.Conn.Write(p)
}

// A server of 26.2 crashes at a Bind message that is shorter than its counts say. Whatever the arguments are, named or not, each that is
// sent holds exactly what it announces; a list that doesn't fit isn't sent.
func TestEveryBindIsWhole(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	var taps []*tap
	cfg.Options.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := cluster.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		taps = append(taps, &tap{Conn: c})
		return taps[len(taps)-1], nil
	}
	c := dialNode(t, cfg, cluster.Nodes()[0])
	rnd := rand.New(rand.NewPCG(3, 5))
	sent := 0
	for range 60 {
		args := make([]any, 1+rnd.IntN(20))
		marks := make([]string, len(args))
		for i := range args {
			marks[i] = fmt.Sprintf("$%d::text", i+1)
			switch rnd.IntN(4) {
			case 1:
				args[i] = strings.Repeat("ж", rnd.IntN(300))
			case 2:
				args[i] = ""
			case 3:
				args[i] = []byte("bytes")
			}
		}
		sql := "select " + strings.Join(marks, " || ")
		if len(args) > 6 {
			sql = "select " + strings.Join(marks, ", ")
		}
		for range 1 + 3*rnd.IntN(2) { // unnamed, or up to a name
			mustExec(t, c, sql, args...)
			sent++
		}
	}
	if _, err := c.Exec(bg, "select 1", checked(t, make([]any, 1<<16)...)); err == nil || !wireError(t, err).Local {
		t.Errorf("65,536 arguments: %v", err)
	}
	binds := 0
	out := taps[0].written.Bytes()
	out = out[be32(out):] // the startup message has no type
	for len(out) > 0 {
		size := int(be32(out[1:])) + 1
		if out[0] == 'B' {
			binds++
			if err := wholeBind(out[frameHeader:size]); err != nil {
				t.Fatal(err)
			}
		}
		out = out[size:]
	}
	if binds != sent {
		t.Errorf("%d Binds for %d statements", binds, sent)
	}
}

// wholeBind compares a Bind's counts and lengths with what is there.
func wholeBind(body []byte) error {
	for range 2 { // portal and statement
		i := bytes.IndexByte(body, 0)
		if i < 0 {
			return fmt.Errorf("a name without end")
		}
		body = body[i+1:]
	}
	word := func() (n int) {
		if len(body) >= 2 {
			n, body = int(binary.BigEndian.Uint16(body)), body[2:]
			return n
		}
		body = nil
		return -1
	}
	formats := word()
	if formats < 0 || len(body) < 2*formats {
		return fmt.Errorf("%d formats are announced", formats)
	}
	body = body[2*formats:]
	params := word()
	for i := range params {
		if len(body) < 4 {
			return fmt.Errorf("parameter %d of %d is missing", i+1, params)
		}
		n := int(int32(be32(body)))
		body = body[4:]
		if n > len(body) {
			return fmt.Errorf("parameter %d announces %d bytes, %d are there", i+1, n, len(body))
		}
		body = body[max(n, 0):]
	}
	results := word()
	if params < 0 || results < 0 || len(body) != 2*results {
		return fmt.Errorf("%d parameters, %d result formats, %d bytes are left", params, results, len(body))
	}
	return nil
}
