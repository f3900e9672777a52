package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// childArgs is the environment variable that makes the test binary the tool itself, with these arguments, one a line.
const childArgs = "PICO_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childArgs); args != "" {
		os.Args = append([]string{"pico"}, strings.Split(args, "\n")...)
		main()
	}
	goleak.VerifyTestMain(m)
}

// secrets are the passwords of all tests: no command but sim may show one.
var secrets = []string{"Passw0rd", "T0psecret", "hunter2"}

// bench for commands: what they read, and the environment.
type session struct {
	tool *tool
	env  map[string]string
	in   io.Reader
}

// newSession runs commands against a cluster, which the environment names.
func newSession(c *picotest.Cluster) *session {
	s := &session{env: map[string]string{}, in: strings.NewReader("")}
	s.tool = newTool()
	s.tool.env = func(name string) string { return s.env[name] }
	if c != nil {
		s.env[dsnVariable] = c.DSN()
		s.tool.options = append(s.tool.options, options.WithDialFunc(c.DialContext))
	}
	return s
}

// run runs a command to its end.
func (s *session) run(t *testing.T, args ...string) (out, diag string, code int) {
	t.Helper()
	return s.runContext(context.WithoutCancel(t.Context()), t, args...)
}

func (s *session) runContext(ctx context.Context, t *testing.T, args ...string) (string, string, int) {
	t.Helper()
	var out, diag bytes.Buffer
	code := s.tool.run(ctx, args, s.in, &out, &diag)
	for _, secret := range secrets {
		if strings.Contains(out.String()+diag.String(), secret) {
			t.Errorf("pico %s shows a password:\n%s%s", strings.Join(args, " "), out.String(), diag.String())
		}
	}
	return out.String(), diag.String(), code
}

// must is run for a command that has to succeed.
func (s *session) must(t *testing.T, args ...string) string {
	t.Helper()
	out, diag, code := s.run(t, args...)
	if code != exitDone {
		t.Fatalf("pico %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, diag)
	}
	return out
}

// wants reports each text that isn't there.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// with adds settings to a DSN that has some already.
func with(dsn, settings string) string { return dsn + "&" + settings }
