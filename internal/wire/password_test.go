package wire

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A password file names its hosts: another one, whoever told of it, gets no password and no login.
func TestPassFileIsForTheHostsItNames(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{})
	mine, other := cluster.Nodes()[0], cluster.Nodes()[1]
	file := filepath.Join(t.TempDir(), "pass")
	line := strings.Replace(mine.Addr(), "::", `\:\:`, 1) + ":*:*:T0psecret\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := clusterConfig(cluster)
	cfg.Options.Password, cfg.Options.PassFile = "", file
	dialNode(t, cfg, mine)
	_, err := Dial(bg, cfg, Target{Address: other.Addr(), NodeName: other.Name()})
	var fault *options.ConfigError
	if !errors.As(err, &fault) || fault.Key != "passfile" || !strings.Contains(err.Error(), other.Addr()) {
		t.Errorf("%v, want a fault of passfile that names %s", err, other.Addr())
	}
	if wireError(t, err).Config {
		t.Error("other nodes may be in the file: that is no fault of the whole configuration")
	}
	if n := other.Counters().Received["startup"]; n != 0 {
		t.Errorf("the other node was shown %d logins", n)
	}

	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		before := mine.Counters().Received["startup"]
		_, err := Dial(bg, cfg, Target{Address: mine.Addr(), NodeName: mine.Name()})
		if !errors.As(err, &fault) || fault.Key != "passfile" || !wireError(t, err).Config {
			t.Errorf("mode %v: %v, want a refusal of the file", mode, err)
		}
		if n := mine.Counters().Received["startup"] - before; n != 0 {
			t.Errorf("mode %v: %d logins", mode, n)
		}
	}
}

// A one-time password is good for one login: it is asked for once per dial, also where sslmode=allow connects twice.
func TestAPasswordIsAskedOncePerDial(t *testing.T) {
	for _, mode := range []options.SSLMode{options.SSLDisable, options.SSLPrefer, options.SSLAllow} {
		cluster := picotest.Start(t, picotest.Config{})
		cfg := clusterConfig(cluster)
		asked, admitted := 0, 0
		cfg.Options.SSLMode = mode
		cfg.Options.PasswordFunc = func(context.Context) (string, error) {
			asked++
			return "T0psecret", nil
		}
		n := cluster.Nodes()[0]
		var credentials []string
		for range 3 {
			c, err := Dial(bg, cfg, Target{Address: n.Addr(), Admit: func(credential string) error {
				admitted++
				credentials = append(credentials, credential)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		if asked != 3 || admitted != 3 {
			t.Errorf("sslmode=%s: asked %d times and admitted %d times for 3 dials", mode, asked, admitted)
		}
		if credentials[0] != credentials[2] || strings.Contains(credentials[0], "T0psecret") {
			t.Errorf("the credential isn't a digest of the password: %q", credentials)
		}
		before := n.Counters().Received["startup"]
		no := errors.New("not now")
		if _, err := Dial(bg, cfg, Target{Address: n.Addr(), Admit: func(string) error { return no }}); !errors.Is(err, no) {
			t.Errorf("%v, want what Admit said", err)
		}
		if got := n.Counters().Received["startup"] - before; got != 0 {
			t.Errorf("%d logins that weren't admitted", got)
		}
	}
}
