package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/options"
)

// askPassword asks for the password in clear text and gives what came.
func askPassword(got chan<- string) func(*peer) bool {
	return func(p *peer) bool {
		m, err := p.be.ReceiveStartupMessage()
		if err != nil {
			return false
		}
		if _, ok := m.(*pgproto3.SSLRequest); ok {
			p.conn.Write([]byte{'N'})
			if _, err := p.be.ReceiveStartupMessage(); err != nil {
				return false
			}
		}
		p.be.Send(&pgproto3.AuthenticationCleartextPassword{})
		p.be.SetAuthType(pgproto3.AuthTypeCleartextPassword)
		if p.be.Flush() != nil {
			return false
		}
		pm, err := p.be.Receive()
		if err != nil {
			return false
		}
		if pm, ok := pm.(*pgproto3.PasswordMessage); ok {
			got <- pm.Password
		}
		return p.welcome()
	}
}

// hostOf is an address as the DSN's hosts name it.
func hostOf(address string) []options.Host {
	host, port, _ := net.SplitHostPort(address)
	n, _ := strconv.ParseUint(port, 10, 16)
	return []options.Host{{Name: host, Port: uint16(n)}}
}

// The password itself goes over verified TLS only, unless the configuration says otherwise, and then to hosts alone that
// the user named or whose network is allowed.
func TestCleartextPassword(t *testing.T) {
	a := newAuthority(t, "ca")
	here := netip.MustParsePrefix("127.0.0.0/8")
	for _, tt := range []struct {
		name     string
		mode     options.SSLMode // disable: plain
		allowed  bool
		named    bool
		networks []netip.Prefix
		want     error
	}{
		{"plain", options.SSLDisable, false, true, nil, ErrCleartext},
		{"plain, allowed", options.SSLDisable, true, true, nil, nil},
		{"plain, allowed, discovered", options.SSLDisable, true, false, nil, ErrCleartextDiscovered},
		{"plain, allowed, discovered in an allowed network", options.SSLDisable, true, false, []netip.Prefix{here}, nil},
		{"any certificate", options.SSLRequire, false, true, nil, ErrCleartext},
		{"any certificate, discovered", options.SSLRequire, false, false, []netip.Prefix{here}, ErrCleartext},
		{"any certificate, allowed", options.SSLRequire, true, true, nil, nil},
		{"any certificate, allowed, discovered", options.SSLRequire, true, false, nil, ErrCleartextDiscovered},
		{"verify-ca, discovered", options.SSLVerifyCA, false, false, nil, nil},
		{"verify-full", options.SSLVerifyFull, false, true, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			got := make(chan string, 1)
			s.login = askPassword(got)
			cfg := newConfig()
			if tt.mode != options.SSLDisable {
				s.login = func(p *peer) bool {
					p.be.ReceiveStartupMessage()
					p.conn.Write([]byte{'S'})
					return p.overTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}}) && askPassword(got)(p)
				}
			}
			cfg.Options.SSLMode = tt.mode
			if tt.mode >= options.SSLVerifyCA {
				cfg.Options.SSLRootCert = a.rootFile()
			}
			if tt.named {
				cfg.Options.Hosts = hostOf(s.ln.Addr().String())
			}
			cfg.Options.AllowedNetworks = tt.networks
			cfg.Options.Password = "T0psecret"
			cfg.Options.AllowCleartextPassword = tt.allowed
			c, err := Dial(bg, cfg, s.target())
			if tt.want != nil {
				if e := wireError(t, err); !errors.Is(err, tt.want) || e.Config != (tt.want == ErrCleartext) || e.Stage != StageLogin {
					t.Fatalf("got %#v", err)
				}
				s.stop()
				if len(got) != 0 {
					t.Fatal("the password was sent")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if p := <-got; p != "T0psecret" {
				t.Fatalf("got %q", p)
			}
		})
	}
}

// The password function is asked for each dial, with its context, and its error ends it.
func TestPasswordFunction(t *testing.T) {
	s := newServer(t)
	got := make(chan string, 3)
	s.login = askPassword(got)
	cfg := newConfig()
	cfg.Options.AllowCleartextPassword = true
	cfg.Options.Hosts = hostOf(s.ln.Addr().String())
	n := 0
	cfg.Options.PasswordFunc = func(ctx context.Context) (string, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the function's context has no bound")
		}
		if n++; n == 3 {
			return "", errors.New("the vault is shut")
		}
		return fmt.Sprint("password ", n), nil
	}
	for i := range 2 {
		c, err := Dial(bg, cfg, s.target())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if p := <-got; p != fmt.Sprint("password ", i+1) {
			t.Fatalf("got %q", p)
		}
	}
	_, err := Dial(bg, cfg, s.target())
	if e := wireError(t, err); e.Stage != StageLogin || e.LoginRefused() {
		t.Fatalf("got %v", err)
	}
}

// Nothing of Picodata's own is sent if nothing was asked for.
func TestPlainStartup(t *testing.T) {
	s := newServer(t)
	cfg := newConfig()
	cfg.Options.Database, cfg.Options.ApplicationName = "", ""
	s.dial(cfg)
	want := map[string]string{"user": "admin", "client_encoding": "UTF8", "datestyle": "ISO, MDY"}
	if got := <-s.startup; !maps.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	cfg.StartupOptions = "read_preference=any,forward=on"
	cfg.Options.Database, cfg.Options.ApplicationName = "db", "app"
	s.dial(cfg)
	want["options"], want["database"], want["application_name"] = cfg.StartupOptions, "db", "app"
	if got := <-s.startup; !maps.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
}

// What lib/pq would take from the environment stays out.
func TestEnvironmentStaysOut(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".pgpass"), []byte("*:*:*:*:from-home\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"HOME": home, "PGPASSFILE": filepath.Join(home, ".pgpass"), "PGPASSWORD": "from-env", "PGUSER": "someone", "PGDATABASE": "other",
		"PGOPTIONS": "x=y", "PGAPPNAME": "app", "PGSSLMODE": "verify-full", "PGHOST": "nowhere", "PGPORT": "1", "PGTZ": "Asia/Tokyo",
		"PGCONNECT_TIMEOUT": "1", "PGREQUIREAUTH": "scram-sha-256", "PGCHANNELBINDING": "require", "PGTARGETSESSIONATTRS": "read-write",
		"PGSERVICE": "none", "PGCLIENTENCODING": "LATIN1",
	} {
		t.Setenv(k, v)
	}
	s := newServer(t)
	got := make(chan string, 1)
	s.login = askPassword(got)
	cfg := newConfig()
	cfg.Options.AllowCleartextPassword = true
	cfg.Options.Hosts = hostOf(s.ln.Addr().String())
	c, err := Dial(bg, cfg, s.target())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if p := <-got; p != "" {
		t.Fatalf("password %q", p)
	}
	s = newServer(t)
	s.dial(cfg)
	if got := <-s.startup; len(got) != 3 || got["user"] != "admin" || got["client_encoding"] != "UTF8" {
		t.Fatalf("got %v", got)
	}
}

// A password file is read if it is named.
func TestPassFile(t *testing.T) {
	s := newServer(t)
	got := make(chan string, 1)
	s.login = askPassword(got)
	cfg := newConfig()
	cfg.Options.AllowCleartextPassword = true
	cfg.Options.Hosts = hostOf(s.ln.Addr().String())
	cfg.Options.PassFile = writeFile(t, []byte("127.0.0.1:*:*:admin:from-file\n"))
	c, err := Dial(bg, cfg, s.target())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if p := <-got; p != "from-file" {
		t.Fatalf("got %q", p)
	}
}

// A refused login is the server's word, once.
func TestRefusedLogin(t *testing.T) {
	s := newServer(t)
	s.login = func(p *peer) bool {
		p.be.ReceiveStartupMessage()
		p.be.Send(&pgproto3.AuthenticationMD5Password{Salt: [4]byte{1, 2, 3, 4}})
		p.be.SetAuthType(pgproto3.AuthTypeMD5Password)
		p.be.Flush()
		p.be.Receive()
		p.be.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "28P01", Message: "authentication failed for user 'admin'"})
		p.be.Flush()
		return false
	}
	cfg := newConfig()
	cfg.Options.Password = "wrong"
	_, err := Dial(bg, cfg, s.target())
	e := wireError(t, err)
	pe, ok := e.Server()
	if !ok || pe.Code != "28P01" || !e.LoginRefused() || s.accepted.Load() != 1 {
		t.Fatalf("got %v on %d connections", err, s.accepted.Load())
	}
}

// Picodata hangs up on startup options that it can't read.
func TestServerHangsUpAtLogin(t *testing.T) {
	s := newServer(t)
	s.login = func(p *peer) bool { p.be.ReceiveStartupMessage(); return false }
	_, err := Dial(bg, newConfig(), s.target())
	if e := wireError(t, err); e.Stage != StageLogin || e.LoginRefused() || e.Config {
		t.Fatalf("got %#v", e)
	}
}

func TestNobodyListens(t *testing.T) {
	s := newServer(t)
	target := s.target()
	s.stop()
	_, err := Dial(bg, newConfig(), target)
	if e := wireError(t, err); e.Stage != StageDial || e.Config || e.Cancelled() {
		t.Fatalf("got %#v", e)
	}
}

func TestNULInStartup(t *testing.T) {
	s := newServer(t)
	cfg := newConfig()
	cfg.Options.ApplicationName = "a\x00user\x00root"
	_, err := Dial(bg, cfg, s.target())
	if e := wireError(t, err); !e.Config || s.accepted.Load() != 0 {
		t.Fatalf("got %#v", e)
	}
}

// dialAs logs in with a password to a server that sends these Authentication messages, one for each of the client's.
func dialAs(t *testing.T, requests ...string) (*Conn, error) {
	t.Helper()
	s := newServer(t)
	s.login = func(p *peer) bool {
		if _, err := p.be.ReceiveStartupMessage(); err != nil {
			return false
		}
		for i, r := range requests {
			if i > 0 {
				if _, err := io.ReadFull(p.conn, make([]byte, 1)); err != nil {
					return false
				}
				p.conn.Read(make([]byte, 1000))
			}
			io.WriteString(p.conn, frame('R', r))
		}
		io.Copy(io.Discard, p.conn)
		return false
	}
	cfg := newConfig()
	cfg.Options.Password = "secret"
	return Dial(bg, cfg, s.target())
}

// Every message of a login is checked before lib/pq sees it.
func TestLoginMessages(t *testing.T) {
	const md5, sasl, final = "\x00\x00\x00\x05salt", "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00", "\x00\x00\x00\x0cv=YWJj"
	first := func(iterations string) string { return "\x00\x00\x00\x0br=abc,s=c2FsdHNhbHQ=,i=" + iterations }
	for name, requests := range map[string][]string{
		"too short":                  {"\x00\x00"},
		"an OK with more":            {"\x00\x00\x00\x00x"},
		"no salt":                    {"\x00\x00\x00\x05"},
		"long salt":                  {"\x00\x00\x00\x05saltsalt"},
		"two requests of MD5":        {md5, md5},
		"MD5, then SCRAM":            {md5, sasl},
		"Kerberos":                   {"\x00\x00\x00\x02"},
		"GSS":                        {"\x00\x00\x00\x07"},
		"no list of mechanisms":      {"\x00\x00\x00\x0aSCRAM-SHA-256"},
		"no known mechanism":         {"\x00\x00\x00\x0aPLAIN\x00\x00"},
		"channel binding alone":      {"\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00\x00"},
		"SCRAM in the middle":        {first("4096")},
		"SCRAM at its end":           {final},
		"SCRAM that ends too early":  {sasl, "\x00\x00\x00\x00"},
		"SCRAM without a salt":       {sasl, "\x00\x00\x00\x0br=abc,i=4096"},
		"a salt that isn't base64":   {sasl, "\x00\x00\x00\x0br=abc,s=!,i=4096"},
		"an extension":               {sasl, first("4096") + ",m=x"},
		"no iterations":              {sasl, first("0")},
		"iterations below 0":         {sasl, first("-4096")},
		"iterations that are a word": {sasl, first("many")},
		"60 million iterations":      {sasl, first("60000000")},
		"one iteration too many":     {sasl, first("600001")},
		"2⁶³−1 iterations":           {sasl, first("9223372036854775807")},
		"more than 64 bits":          {sasl, first("99999999999999999999999")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dialAs(t, requests...)
			e := wireError(t, err)
			if f := new(FrameError); e.Stage != StageLogin || !errors.As(err, &f) && !errors.Is(err, ErrIterations) || e.LoginRefused() {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(name, "million") && !strings.Contains(err.Error(), "600000") {
				t.Errorf("%v doesn't say the bound", err)
			}
		})
	}
}
