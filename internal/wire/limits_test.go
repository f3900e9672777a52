package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The limits of SECURITY.md, to the byte: a header that announces one byte more ends the connection, one that announces
// as much as may come is waited for.
func TestMessageLimits(t *testing.T) {
	begin := frame('1', "") + frame('2', "") + frame('T', oneColumn)
	for _, c := range []struct {
		before string
		typ    byte
		limit  uint32
	}{
		{begin, 'D', 1<<30 - 1},
		{"", 'T', 16 << 20},
		{"", 't', 16 << 20},
		{"", 'E', 16 << 20},
		{"", 'N', 16 << 20},
		{begin, 'C', 64 << 10},
		{"", 'S', 64 << 10},
		{"", 'n', 64 << 10},
	} {
		for over, want := range []bool{false, true} {
			header := binary.BigEndian.AppendUint32([]byte{c.typ}, c.limit+4+uint32(over))
			s := newServer(t)
			s.handle = func(p *peer) {
				for {
					m, err := p.receive()
					if err != nil {
						return
					}
					if _, ok := m.(*pgproto3.Sync); ok {
						_, _ = io.WriteString(p.conn, c.before+string(header)) // who refuses it may be gone
						_ = p.conn.Close()
						return
					}
				}
			}
			conn, _ := s.dial(newConfig())
			rows, err := conn.Query(bg, "select $1", named(int64(1)))
			if err == nil {
				err = rows.Close()
			}
			var fe *FrameError
			refused := errors.As(err, &fe) && strings.Contains(fe.Reason, "the length must be")
			if err == nil || refused != want {
				t.Errorf("message %q of %d bytes beyond its limit: %v", c.typ, over, err)
			}
			if conn.Usable() {
				t.Errorf("message %q: usable", c.typ)
			}
		}
	}
}

// Every address that a name has is asked about before it is connected to, and one that isn't allowed gets no byte.
func TestAllowedIsAskedBeforeConnecting(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan struct{}, 16)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = nc.Close()
		}
	})
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		for _, allow := range []bool{false, true} {
			var mu sync.Mutex
			var asked []netip.Addr
			cfg := newConfig()
			cfg.Allowed = func(address string, ip netip.Addr) bool {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, ip)
				if address != net.JoinHostPort(host, port) {
					t.Errorf("asked about %q", address)
				}
				return allow
			}
			_, err := Dial(context.Background(), cfg, Target{Address: net.JoinHostPort(host, port), NodeName: "i1"})
			if err == nil {
				t.Fatal("nobody is there, and it connected")
			}
			if !slices.Contains(asked, netip.MustParseAddr("127.0.0.1")) {
				t.Errorf("%s: asked about %v", host, asked)
			}
			if refused := strings.Contains(err.Error(), "outside allowed_networks"); refused == allow {
				t.Errorf("%s, allowed is %v: %v", host, allow, err)
			}
			if allow {
				<-accepted
			} else if len(accepted) != 0 {
				t.Errorf("%s: connected to though it isn't allowed", host)
			}
		}
	}
	_ = ln.Close()
	accepting.Wait()
}
