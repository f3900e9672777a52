package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// The password itself goes over TLS only, unless the configuration says otherwise.
func TestCleartextPassword(t *testing.T) {
	a := newAuthority(t, "ca")
	for _, tt := range []struct {
		name    string
		tls     bool
		allowed bool
		ok      bool
	}{{"plain", false, false, false}, {"plain, allowed", false, true, true}, {"TLS", true, false, true}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			got := make(chan string, 1)
			s.login = askPassword(got)
			cfg := newConfig()
			if tt.tls {
				s.login = func(p *peer) bool {
					p.be.ReceiveStartupMessage()
					p.conn.Write([]byte{'S'})
					return p.overTLS(&tls.Config{Certificates: []tls.Certificate{a.issue(nil, "127.0.0.1")}}) && askPassword(got)(p)
				}
				cfg.Options.SSLMode = options.SSLRequire
			}
			cfg.Options.Password = "T0psecret"
			cfg.Options.AllowCleartextPassword = tt.allowed
			c, err := Dial(bg, cfg, s.target())
			if !tt.ok {
				if e := wireError(t, err); !errors.Is(err, ErrCleartext) || !e.Config || e.Stage != StageLogin {
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
