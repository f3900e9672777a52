package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest"
)

// Who answers is asked once, in the flight of the password where there is one, and judged before any statement.
func TestIdentity(t *testing.T) {
	for _, version := range []string{"25.2.1", "25.3.1", "26.2.1"} {
		for _, method := range []string{"md5", "scram-sha-256", "ldap"} {
			if method == "scram-sha-256" && version < "25.4" {
				continue
			}
			t.Run(version+" "+method, func(t *testing.T) {
				c, err := picotest.New(picotest.Config{Version: version, Users: []picotest.User{{Name: "u", Password: "Passw0rd", Method: method}}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				n := c.Nodes()[0]
				cfg := clusterConfig(c)
				cfg.Options.User, cfg.Options.Password, cfg.Options.AllowCleartextPassword = "u", "Passw0rd", true
				cfg.Options.Hosts = hostOf(n.Addr())
				stranger := errors.New("a stranger")
				for _, want := range []error{nil, stranger} {
					got := ""
					conn, err := Dial(bg, cfg, Target{Address: n.Addr(), Identify: func(uuid string, _ Ask) error { got = uuid; return want }})
					if got != n.UUID() {
						t.Fatalf("told %q, is %q: %v", got, n.UUID(), err)
					}
					if !errors.Is(err, want) {
						t.Fatal(err)
					}
					if err != nil {
						if e := wireError(t, err); e.Stage != StageLogin || e.LoginRefused() || e.Config {
							t.Errorf("%#v", e)
						}
						continue
					}
					rows, err := conn.Query(bg, "select 1", nil)
					if got := all(t, rows, err); got[0][0] != int64(1) || !conn.Usable() {
						t.Errorf("usable %v: %v", conn.Usable(), got)
					}
					conn.Close()
				}
			})
		}
	}
}

// The question goes out with the password: no round trip is added.
func TestIdentityCostsNoRoundTrip(t *testing.T) {
	s := newServer(t)
	var behind string
	s.login = func(p *peer) bool {
		if _, err := p.be.ReceiveStartupMessage(); err != nil {
			return false
		}
		p.be.Send(&pgproto3.AuthenticationMD5Password{Salt: [4]byte{1, 2, 3, 4}})
		p.be.SetAuthType(pgproto3.AuthTypeMD5Password)
		if p.be.Flush() != nil {
			return false
		}
		p.be.Receive()
		m, _ := p.be.Receive() // before anything is answered
		q, ok := m.(*pgproto3.Query)
		if !ok {
			return false
		}
		behind = q.String
		if !p.welcome() {
			return false
		}
		p.result(result{columns: []pgproto3.FieldDescription{column("uuid", 25)}, rows: [][][]byte{{[]byte("me")}}, tag: "SELECT 1"}, true, nil)
		return p.ready()
	}
	cfg := newConfig()
	cfg.Options.Password = "secret"
	target := s.target()
	told := ""
	target.Identify = func(uuid string, _ Ask) error { told = uuid; return nil }
	c, err := Dial(bg, cfg, target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if told != "me" || !strings.Contains(behind, "instance_uuid") || !c.Usable() || !c.Alive() {
		t.Errorf("told %q, asked %q, usable %v", told, behind, c.Usable())
	}
}

// A server that doesn't say who it is carries no statement.
func TestAnonymousServer(t *testing.T) {
	for name, r := range map[string]result{
		"an error": {err: serverError("XX000", "no")},
		"no row":   {columns: []pgproto3.FieldDescription{column("uuid", 25)}, tag: "SELECT 0"},
		"nothing":  {tag: "INSERT 0 1"},
		"empty":    {columns: []pgproto3.FieldDescription{column("uuid", 25)}, rows: [][][]byte{{{}}}, tag: "SELECT 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.run = func(*peer, string, [][]byte) result { return r }
			target := s.target()
			target.Identify = func(uuid string, _ Ask) error { t.Errorf("told %q", uuid); return nil }
			if _, err := Dial(bg, newConfig(), target); wireError(t, err).Stage != StageLogin {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server that doesn't know the question isn't Picodata; the dial's owner decides. Who knows one of its two forms is asked on.
func TestServerWithoutTheQuestion(t *testing.T) {
	for _, e := range []*pgproto3.ErrorResponse{serverError("XX000", "sbroad: SQL function instance_uuid not found"), serverError("42883", "function pico_instance_uuid() does not exist")} {
		s := newServer(t)
		s.run = func(_ *peer, sql string, _ [][]byte) result {
			if sql == "more" {
				return result{columns: []pgproto3.FieldDescription{column("n", 25)}, rows: [][][]byte{{[]byte("7")}}, tag: "SELECT 1"}
			}
			return result{err: e}
		}
		target := s.target()
		told, more := "untold", ""
		target.Identify = func(uuid string, ask Ask) (err error) {
			told = uuid
			more, err = ask("more")
			return err
		}
		c, err := Dial(bg, newConfig(), target)
		if err != nil {
			t.Fatal(err)
		}
		if told != "" || more != "7" || !c.Usable() {
			t.Errorf("%s: told %q, then %q; usable %v", e.Code, told, more, c.Usable())
		}
		c.Close()
	}
}
