package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// dsn-password-specials: The server gets the exact bytes of a password, by every method and from both forms
// of a DSN. (What the parser makes of them, and of passwords that aren't encoded, is tested in options.)
func TestPasswordSpecials(t *testing.T) {
	passwords := []string{"p@s:s/w?r#d", "%s123", "a b+c", "[x]", `кл'юч\`, "a,b=c&d;e\"f", " x ", "100%25", strings.Repeat("ж", 300)}
	methods := []string{"md5", "scram-sha-256", "ldap"}
	var users, byLDAP []picotest.User
	for _, method := range methods {
		for i, password := range passwords {
			users = append(users, picotest.User{Name: fmt.Sprintf("u%d_%.3s", i, method), Password: password, Method: method})
			if method == "ldap" {
				byLDAP = append(byLDAP, users[len(users)-1])
			}
		}
	}
	c := picotest.Start(t, picotest.Config{Users: byLDAP})
	for _, setting := range []string{"length_min = 0", "enforce_uppercase = false", "enforce_lowercase = false", "enforce_digits = false", "enforce_specialchars = false"} {
		if err := c.Exec("alter system set auth_password_" + setting); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range users {
		if u.Method == "ldap" {
			continue
		}
		if err := c.Exec(fmt.Sprintf(`create user "%s" with password '%s' using %s`, u.Name, strings.ReplaceAll(u.Password, "'", "''"), strings.Replace(u.Method, "sha-", "sha", 1))); err != nil {
			t.Fatal(err)
		}
	}
	host, port, _ := strings.Cut(c.Node("i1").Addr(), ":")
	for _, u := range users {
		words := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(u.Password) + "'"
		encoded := strings.ReplaceAll(url.QueryEscape(u.Password), "+", "%20")
		for _, dsn := range []string{
			fmt.Sprintf("picodata://%s:%s@%s:%s/?allow_cleartext_password=on", u.Name, encoded, host, port),
			fmt.Sprintf("postgres://%s:%s/?user=%s&password=%s&allow_cleartext_password=on", host, port, u.Name, encoded),
			fmt.Sprintf("host=%s port=%s user=%s allow_cleartext_password=on password = %s", host, port, u.Name, words),
		} {
			db, err := sql.Open("picodata", dsn)
			if err != nil {
				t.Errorf("%s, password %q: %v", u.Method, u.Password, err)
				continue
			}
			if err := db.PingContext(t.Context()); err != nil {
				t.Errorf("%s, password %q: %v", u.Method, u.Password, err)
			}
			db.Close()
		}
	}
}

// one-time-tokens: A password that is good for one login is asked for once per login, and a refusal asks for no other one while its
// statement lasts.
func TestOneTimePasswords(t *testing.T) {
	t.Run("once per login", func(t *testing.T) {
		var asked atomic.Int32
		token := "T0psecret"
		c, db, _ := startDB(t, picotest.Config{}, options.WithMaxConnsPerInstance(2), options.WithPasswordFunc(func(context.Context) (string, error) {
			asked.Add(1)
			return token, nil
		}))
		inParallel(16, 64, func(i int) {
			if _, err := db.Exec("select $1::int", i); err != nil {
				t.Error(err)
			}
		})
		if logins := c.Counters().Received["startup"]; int(asked.Load()) != logins {
			t.Errorf("asked %d times for %d logins", asked.Load(), logins)
		}
	})

	var wrong atomic.Int32
	c, db, _ := startDB(t, picotest.Config{}, options.WithPasswordFunc(func(context.Context) (string, error) {
		return fmt.Sprint("never the same ", wrong.Add(1)), nil
	}))
	_, err := db.Exec("select 1")
	var auth *picodata.AuthError
	if !errors.As(err, &auth) {
		t.Errorf("%v", err)
	}
	if n := c.Counters().LoginFailures; int(wrong.Load()) != n || n > len(c.Nodes()) {
		t.Errorf("asked %d times for %d refused logins at %d nodes", wrong.Load(), n, len(c.Nodes()))
	}
}

// log-stderr: A program that gives no logger hears of the driver by a key of its DSN, and by default not at all.
func TestLogKey(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	for _, want := range []bool{false, true} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		stderr := os.Stderr
		os.Stderr = write
		dsn := c.DSN()
		if want {
			dsn = with(dsn, "log=stderr")
		}
		db, err := sql.Open("picodata", dsn)
		if err == nil {
			_, err = db.Exec("select 1")
			_ = db.Close()
		}
		os.Stderr = stderr
		_ = write.Close()
		text, _ := io.ReadAll(read)
		if err != nil || strings.Contains(string(text), "picodata: ") != want {
			t.Errorf("log %v: %q, %v", want, text, err)
		}
	}
}

// with adds a key to a DSN.
func with(dsn, key string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&" + key
	}
	return dsn + "?" + key
}
