package scenarios_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// dnsServer answers every question for an IPv4 address with its records.
type dnsServer struct {
	conn net.PacketConn
	mu   sync.Mutex
	a    []netip.Addr
	ends chan struct{}
}

func (s *dnsServer) set(records ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.a = nil
	for _, r := range records {
		s.a = append(s.a, netip.MustParseAddr(r))
	}
}

func (s *dnsServer) serve() {
	defer close(s.ends)
	b := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(b)
		if err != nil {
			return
		}
		// A header of twelve bytes, then one question: labels, a zero, type and class.
		end := 12
		for end < n && b[end] != 0 {
			end += int(b[end]) + 1
		}
		if end+5 > n {
			continue
		}
		question := b[12 : end+5]
		answer := append([]byte(nil), b[:2]...)
		answer = append(answer, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
		answer = append(answer, question...)
		if binary.BigEndian.Uint16(question[len(question)-4:]) == 1 {
			s.mu.Lock()
			answer[7] = byte(len(s.a))
			for _, a := range s.a {
				ip := a.As4()
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, ip[:]...)
			}
			s.mu.Unlock()
		}
		_, _ = s.conn.WriteTo(answer, from)
	}
}

// startDNS makes the process ask a server of the test's for names.
func startDNS(t *testing.T) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{conn: conn, ends: make(chan struct{})}
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	go s.serve()
	t.Cleanup(func() {
		net.DefaultResolver = old
		conn.Close()
		<-s.ends
	})
	return s
}

// dial-budget-multi-target: All addresses of a name are tried, and a name is asked for anew with every dial.
func TestNameWithSeveralAddresses(t *testing.T) {
	dns := startDNS(t)
	c := picotest.Start(t, two)
	_, port, err := net.SplitHostPort(c.Node("i1").Addr())
	if err != nil {
		t.Fatal(err)
	}
	open := func() *sql.DB {
		dsn := strings.Replace(c.Node("i1").AdminDSN(), c.Node("i1").Addr(), "nodes.picodata.test:"+port, 1)
		db, err := sql.Open("picodata", dsn+"&mode=bootstrap&topology=off&routing=off&instance_ejection_failure_threshold=0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	ping := func(db *sql.DB) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return db.PingContext(ctx)
	}
	dns.set("127.0.0.77", "127.0.0.1") // nobody listens at the first
	if err := ping(open()); err != nil {
		t.Errorf("the second address wasn't tried: %v", err)
	}
	dns.set("127.0.0.77")
	db := open()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := db.PingContext(ctx); err == nil {
		t.Fatal("somebody listens at 127.0.0.77: the test's premise is wrong")
	}
	dns.set("127.0.0.1")
	if err := ping(db); err != nil {
		t.Errorf("the name's new address wasn't asked for: %v", err)
	}
}
