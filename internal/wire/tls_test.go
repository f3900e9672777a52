package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/options"
)

// Every sslmode against every server and every fault of a certificate.
func TestSSLModes(t *testing.T) {
	trusted, stranger := newAuthority(t, "trusted"), newAuthority(t, "stranger")
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	clientOnly := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	certs := map[string]tls.Certificate{
		"good":        trusted.issue(nil, "127.0.0.1"),
		"wrong name":  trusted.issue(nil, "node-b"),
		"untrusted":   stranger.issue(nil, "127.0.0.1"),
		"expired":     trusted.issue(expired, "127.0.0.1"),
		"client only": trusted.issue(clientOnly, "127.0.0.1"),
	}
	const (
		plain = "plain"
		enc   = "encrypted"
		tlsE  = "TLS error"
		login = "login refused"
	)
	modes := []options.SSLMode{options.SSLDisable, options.SSLAllow, options.SSLPrefer, options.SSLRequire, options.SSLVerifyCA, options.SSLVerifyFull}
	for _, tt := range []struct {
		server string // "off" or a certificate
		roots  bool
		want   [6]string // by mode
	}{
		{"off", false, [6]string{plain, plain, plain, tlsE, tlsE, tlsE}},
		{"off", true, [6]string{plain, plain, plain, tlsE, tlsE, tlsE}},
		// Without a root only the machine's authorities are known.
		{"good", false, [6]string{login, enc, enc, enc, tlsE, tlsE}},
		{"good", true, [6]string{login, enc, enc, enc, enc, enc}},
		{"wrong name", true, [6]string{login, enc, enc, enc, enc, tlsE}},
		{"untrusted", true, [6]string{login, tlsE, tlsE, tlsE, tlsE, tlsE}},
		{"expired", true, [6]string{login, tlsE, tlsE, tlsE, tlsE, tlsE}},
		{"client only", true, [6]string{login, tlsE, tlsE, tlsE, tlsE, tlsE}},
		{"expired", false, [6]string{login, enc, enc, enc, tlsE, tlsE}},
	} {
		for i, mode := range modes {
			t.Run(fmt.Sprintf("%s, roots %v, %v", tt.server, tt.roots, mode), func(t *testing.T) {
				s := newServer(t)
				if tt.server != "off" {
					s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{certs[tt.server]}})
				}
				cfg := newConfig()
				cfg.Options.SSLMode = mode
				if tt.roots {
					cfg.Options.SSLRootCert = trusted.rootFile()
				}
				c, err := Dial(bg, cfg, s.target())
				got := plain
				switch {
				case err != nil && wireError(t, err).LoginRefused():
					got = login
				case err != nil && wireError(t, err).Stage == StageTLS:
					got = tlsE
				case err != nil:
					got = err.Error()
				case c.Encrypted():
					got = enc
				}
				if got != tt.want[i] {
					t.Fatalf("got %s (%v), want %s", got, err, tt.want[i])
				}
				if err != nil && !strings.Contains(err.Error(), "i1") {
					t.Fatalf("the error doesn't name the node: %v", err)
				}
				wantConns := int32(1)
				if mode == options.SSLAllow && tt.server != "off" {
					wantConns = 2 // it tries in the clear first
				}
				if n := s.accepted.Load(); n != wantConns {
					t.Fatalf("%d connections, want %d", n, wantConns)
				}
				if err == nil {
					if err := c.Ping(bg); err != nil {
						t.Fatal(err)
					}
					c.Close()
				}
			})
		}
	}
}

// A server that says S and then can't do TLS gets no plain text, in any mode.
func TestNoDowngradeAfterFailedHandshake(t *testing.T) {
	for _, mode := range []options.SSLMode{options.SSLPrefer, options.SSLRequire, options.SSLVerifyFull} {
		s := newServer(t)
		saw := make(chan []byte, 10)
		s.login = func(p *peer) bool {
			if _, err := io.ReadFull(p.conn, make([]byte, 8)); err != nil {
				return false
			}
			p.conn.Write([]byte("S"))
			b := make([]byte, 5)
			io.ReadFull(p.conn, b)
			saw <- b
			p.conn.Write([]byte("this is no TLS record at all"))
			return false
		}
		cfg := newConfig()
		cfg.Options.SSLMode = mode
		_, err := Dial(bg, cfg, s.target())
		if e := wireError(t, err); e.Stage != StageTLS {
			t.Fatalf("got %v", err)
		}
		if b := <-saw; b[0] != 22 || s.accepted.Load() != 1 {
			t.Fatalf("after S came %x, on %d connections", b, s.accepted.Load())
		}
	}
}

// Only 28000 makes allow try again: a wrong password is never sent twice.
func TestAllowDoesNotRepeatALogin(t *testing.T) {
	s := newServer(t)
	s.login = func(p *peer) bool {
		p.be.ReceiveStartupMessage()
		p.be.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "28P01", Message: "authentication failed for user 'admin'"})
		p.be.Flush()
		return false
	}
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLAllow
	_, err := Dial(bg, cfg, s.target())
	if e := wireError(t, err); !e.LoginRefused() || s.accepted.Load() != 1 {
		t.Fatalf("%d connections: %v", s.accepted.Load(), err)
	}
}

// tls-name-of-discovered-node: the name is the node's own, or the override.
func TestNameOfTheNode(t *testing.T) {
	a := newAuthority(t, "ca")
	for _, tt := range []struct {
		name, serverName, override string
		cert                       []string
		ok                         bool
		sni                        string
	}{
		{"address with its SAN", "", "", []string{"127.0.0.1"}, true, ""},
		{"address without", "", "", []string{"node-b"}, false, ""},
		{"advertised name", "node-b", "", []string{"node-b"}, true, "node-b"},
		{"another node's certificate", "node-b", "", []string{"node-a"}, false, "node-b"},
		{"override", "node-b", "cluster.local", []string{"cluster.local"}, true, "cluster.local"},
		{"zone", "::1%lo", "", []string{"::1"}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			sni := make(chan string, 1)
			s.login = loginTLS(&tls.Config{
				Certificates: []tls.Certificate{a.issue(nil, tt.cert...)},
				GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					sni <- h.ServerName
					return nil, nil
				},
			})
			cfg := newConfig()
			cfg.Options.SSLMode = options.SSLVerifyFull
			cfg.Options.SSLRootCert = a.rootFile()
			cfg.Options.TLSServerName = tt.override
			target := s.target()
			target.ServerName = tt.serverName
			c, err := Dial(bg, cfg, target)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				c.Close()
			} else if e := wireError(t, err); e.Stage != StageTLS || e.Node != "i1" || e.Config {
				t.Fatalf("got %#v", e)
			}
			if got := <-sni; got != tt.sni {
				t.Fatalf("SNI %q, want %q", got, tt.sni)
			}
		})
	}
}

func TestSNIOff(t *testing.T) {
	a := newAuthority(t, "ca")
	s := newServer(t)
	sni := make(chan string, 1)
	s.login = loginTLS(&tls.Config{
		Certificates: []tls.Certificate{a.issue(nil, "node-b")},
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			sni <- h.ServerName
			return nil, nil
		},
	})
	cfg := newConfig()
	cfg.Options.SSLMode, cfg.Options.SSLSNI, cfg.Options.SSLRootCert = options.SSLVerifyFull, false, a.rootFile()
	target := s.target()
	target.ServerName = "node-b"
	c, err := Dial(bg, cfg, target)
	if err != nil {
		t.Fatalf("the name is still verified, and right: %v", err)
	}
	c.Close()
	if got := <-sni; got != "" {
		t.Fatalf("SNI %q", got)
	}
}

// A server with ca_file wants a certificate; TLS 1.3 tells the client after the handshake.
func TestClientCertificates(t *testing.T) {
	a, clients, stranger := newAuthority(t, "ca"), newAuthority(t, "clients"), newAuthority(t, "stranger")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, tt := range []struct {
			name string
			from *authority
			ok   bool
		}{{"none", nil, false}, {"accepted", clients, true}, {"unknown authority", stranger, false}} {
			t.Run(fmt.Sprintf("%s, %s", tt.name, tls.VersionName(version)), func(t *testing.T) {
				s := newServer(t)
				s.login = loginTLS(&tls.Config{
					Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")},
					ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: clients.pool(), MaxVersion: version,
				})
				cfg := newConfig()
				cfg.Options.SSLMode = options.SSLRequire
				if tt.from != nil {
					cfg.Options.SSLCert, cfg.Options.SSLKey = files(t, tt.from.issue(nil))
				}
				c, err := Dial(bg, cfg, s.target())
				if (err == nil) != tt.ok {
					t.Fatalf("got %v", err)
				}
				if err != nil {
					if e := wireError(t, err); e.Stage != StageTLS {
						t.Fatalf("stage %v: %v", e.Stage, err)
					}
					return
				}
				c.Close()
			})
		}
	}
}

// What is wrong with the configuration is found before anybody is dialled.
func TestTLSConfigurationErrors(t *testing.T) {
	a := newAuthority(t, "ca")
	cert, key := files(t, a.issue(nil))
	for name, change := range map[string]func(*options.Config){
		"no root file":      func(o *options.Config) { o.SSLRootCert = "/nowhere/ca.crt" },
		"root isn't one":    func(o *options.Config) { o.SSLRootCert = key },
		"key without cert":  func(o *options.Config) { o.SSLKey = key },
		"cert without key":  func(o *options.Config) { o.SSLCert = cert },
		"cert is a key":     func(o *options.Config) { o.SSLCert, o.SSLKey = key, key },
		"no key file":       func(o *options.Config) { o.SSLCert, o.SSLKey = cert, "/nowhere/key" },
		"system and weak":   func(o *options.Config) { o.SSLRootCert = "system" },
		"unknown version":   func(o *options.Config) { o.SSLMinProtocolVersion = "SSLv3" },
		"unknown version 2": func(o *options.Config) { o.SSLMaxProtocolVersion = "TLSv9" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			cfg := newConfig()
			cfg.Options.SSLMode = options.SSLRequire
			change(cfg.Options)
			_, err := Dial(bg, cfg, s.target())
			if e := wireError(t, err); !e.Config || e.Stage != StageTLS {
				t.Fatalf("got %#v", e)
			}
			if s.accepted.Load() != 0 {
				t.Fatal("dialled all the same")
			}
		})
	}
}

func TestSystemRoots(t *testing.T) {
	o := newConfig().Options
	o.SSLMode, o.SSLRootCert = options.SSLVerifyFull, "system"
	p, err := tlsFor(o, Target{Address: "localhost:4327"})
	if err != nil || p.config == nil || p.config.ServerName != "localhost" {
		t.Fatalf("%+v, %v", p, err)
	}
	// A certificate of nobody's isn't among them.
	a := newAuthority(t, "ca")
	s := newServer(t)
	s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}})
	cfg := &Config{Options: o}
	o.User = "admin"
	_, err = Dial(bg, cfg, s.target())
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v", err)
	}
}

func TestProtocolVersions(t *testing.T) {
	a := newAuthority(t, "ca")
	for _, tt := range []struct {
		min, max string
		server   uint16
		ok       bool
	}{
		{"", "", tls.VersionTLS12, true},
		{"TLSv1.3", "", tls.VersionTLS12, false},
		{"TLSv1.2", "TLSv1.2", tls.VersionTLS13, true},
		{"TLSv1.3", "TLSv1.3", tls.VersionTLS13, true},
	} {
		s := newServer(t)
		s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}, MaxVersion: tt.server})
		cfg := newConfig()
		cfg.Options.SSLMode = options.SSLRequire
		cfg.Options.SSLMinProtocolVersion, cfg.Options.SSLMaxProtocolVersion = tt.min, tt.max
		c, err := Dial(bg, cfg, s.target())
		if (err == nil) != tt.ok {
			t.Fatalf("%+v: %v", tt, err)
		}
		if err == nil {
			c.Close()
		}
	}
}

// sslnegotiation=direct begins with the handshake; a server without it hangs up.
func TestDirectNegotiation(t *testing.T) {
	a := newAuthority(t, "ca")
	s := newServer(t)
	alpn := make(chan []string, 1)
	s.login = func(p *peer) bool {
		return p.overTLS(&tls.Config{
			Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}, NextProtos: []string{"postgresql"},
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				alpn <- h.SupportedProtos
				return nil, nil
			},
		}) && p.trust()
	}
	cfg := newConfig()
	cfg.Options.SSLMode, cfg.Options.SSLNegotiation = options.SSLRequire, options.SSLDirect
	c, err := Dial(bg, cfg, s.target())
	if err != nil || !c.Encrypted() {
		t.Fatal(err)
	}
	c.Close()
	if got := <-alpn; len(got) != 1 || got[0] != "postgresql" {
		t.Fatalf("ALPN %v", got)
	}
	// Picodata can't read a ClientHello and closes.
	s = newServer(t)
	s.login = func(p *peer) bool { p.conn.Read(make([]byte, 100)); return false }
	_, err = Dial(bg, cfg, s.target())
	if e := wireError(t, err); e.Stage != StageTLS || !strings.Contains(err.Error(), "sslnegotiation=postgres") {
		t.Fatalf("got %v", err)
	}
}

// A tls.Config of the program's is used as it is, with the node's name, and never leaves a
// connection plain.
func TestOwnTLSConfig(t *testing.T) {
	a := newAuthority(t, "ca")
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLPrefer
	cfg.Options.TLSConfig = &tls.Config{RootCAs: a.pool()}
	s := newServer(t)
	s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "node-b")}})
	target := s.target()
	target.ServerName = "node-b"
	c, err := Dial(bg, cfg, target)
	if err != nil || !c.Encrypted() {
		t.Fatal(err)
	}
	c.Close()
	if cfg.Options.TLSConfig.ServerName != "" {
		t.Fatal("the program's tls.Config was changed")
	}
	target.ServerName = "node-c"
	if _, err := Dial(bg, cfg, target); err == nil {
		t.Fatal("another name was accepted")
	}
	if _, err := Dial(bg, cfg, newServer(t).target()); err == nil {
		t.Fatal("a plain connection was accepted")
	}
}

// A look goes beneath TLS and keeps what it reads there.
func TestLookBeneathTLS(t *testing.T) {
	a := newAuthority(t, "ca")
	s := newServer(t)
	s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}})
	notices := make(chan options.Notice, 10)
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLRequire
	cfg.OnNotice = func(_ *Conn, n options.Notice) { notices <- n }
	next := make(chan struct{})
	s.handle = func(p *peer) {
		<-next
		p.be.Send(&pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: "over TLS"})
		p.be.Flush()
		p.answerOne()
		<-next
		p.conn.Close()
	}
	c, _ := s.dial(cfg)
	for range 2 {
		if !c.Alive() {
			t.Fatal("session tickets are no end")
		}
	}
	next <- struct{}{}
	until(t, "the notice", func() bool {
		if !c.Alive() {
			t.Fatal("not alive")
		}
		return len(notices) == 1
	})
	rows, err := c.Query(bg, "select 1", nil)
	if got := all(t, rows, err); got[0][0] != int64(1) {
		t.Fatalf("rows: %v", got)
	}
	next <- struct{}{}
	until(t, "the end is seen", func() bool { return !c.Alive() })
}

// A look may find a part of a TLS record. It is no end, and the rest of it comes later.
func TestLookAtHalfARecord(t *testing.T) {
	a := newAuthority(t, "ca")
	s := newServer(t)
	half, rest := make(chan struct{}), make(chan struct{})
	s.login = func(p *peer) bool {
		if _, err := io.ReadFull(p.conn, make([]byte, 8)); err != nil {
			return false
		}
		p.conn.Write([]byte{'S'})
		p.conn = &halving{Conn: p.conn, half: half, rest: rest}
		return p.overTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}}) && p.trust()
	}
	notices := make(chan options.Notice, 10)
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLRequire
	cfg.OnNotice = func(_ *Conn, n options.Notice) { notices <- n }
	begin := make(chan struct{})
	s.handle = func(p *peer) {
		raw := p.conn.(*tls.Conn).NetConn().(*halving)
		<-begin
		raw.on = true
		p.be.Send(&pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: "in two parts"})
		p.be.Flush()
		p.answer()
	}
	c, _ := s.dial(cfg)
	close(begin)
	<-half
	for range 100 {
		if !c.Alive() {
			t.Fatal("half a record isn't the end")
		}
	}
	close(rest)
	rows, err := c.Query(bg, "select $1", named(int64(5)))
	if got := all(t, rows, err); got[0][0] != int64(5) {
		t.Fatalf("rows: %v", got)
	}
	if n := <-notices; n.Message != "in two parts" {
		t.Fatalf("got %+v", n)
	}
}

// halving sends its next write in two parts once it is on.
type halving struct {
	net.Conn
	on         bool
	half, rest chan struct{}
}

func (h *halving) Write(p []byte) (int, error) {
	if !h.on {
		return h.Conn.Write(p)
	}
	h.on = false
	n, err := h.Conn.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	close(h.half)
	<-h.rest
	m, err := h.Conn.Write(p[n:])
	return n + m, err
}

// answerOne answers one simple query.
func (p *peer) answerOne() {
	if m, err := p.receive(); err == nil {
		if q, ok := m.(*pgproto3.Query); ok {
			p.result(p.execute(q.String, nil), true, nil)
			p.ready()
		}
	}
}

// Statements and cancellation over TLS are as they are without.
func TestStatementsOverTLS(t *testing.T) {
	a := newAuthority(t, "ca")
	s := newServer(t)
	s.login = loginTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}})
	s.run = sized(200_000)
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLRequire
	c, _ := s.dial(cfg)
	for range 6 {
		rows, err := c.Query(bg, "select $1", named(int64(1)))
		if got := all(t, rows, err); len(got) != 200 {
			t.Fatalf("%d rows", len(got))
		}
		if !c.Alive() {
			t.Fatal("not alive")
		}
	}
}

// sslmode-fallback-wrong-node: a configuration that served one node dials another; the node
// that is meant is the one that is reached, on one connection, TLS or not.
func TestFallbackStaysOnTheNode(t *testing.T) {
	a, b := newServer(t), newServer(t)
	cfg := newConfig()
	cfg.Options.SSLMode = options.SSLPrefer
	first, err := Dial(bg, cfg, a.target())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Dial(bg, cfg, b.target())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, want := second.g.RemoteAddr().String(), b.target().Address; got != want {
		t.Fatalf("connected to %s, want %s", got, want)
	}
	if x, y := a.accepted.Load(), b.accepted.Load(); x != 1 || y != 1 {
		t.Fatalf("%d and %d connections", x, y)
	}
}
