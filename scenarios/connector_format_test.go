package scenarios_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Whatever a program prints of what it holds, the password isn't in it.
func TestNothingPrintsThePassword(t *testing.T) {
	c := picotest.Start(t, three)
	dsn, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn.Mirror = c.AdminDSN()
	conn, err := picodata.NewConnector(dsn, options.WithSSLPassword(""))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	defer db.Close()
	session, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := func(what, text string) {
		t.Helper()
		for _, secret := range []string{"T0psecret", fmt.Sprintf("%x", "T0psecret"), fmt.Sprintf("%X", "T0psecret"), fmt.Sprint([]byte("T0psecret"))} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the password", what)
			}
		}
	}
	if err := session.Raw(func(inner any) error {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			for _, x := range []any{conn, dsn, *dsn, conn.Driver(), inner, conn.Stats(), conn.Topology(), []any{conn}, struct{ C *picodata.Connector }{conn}} {
				check(fmt.Sprintf("%s of %T", verb, x), fmt.Sprintf(verb, x))
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "connector", conn, "config", dsn)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "connector", conn, "config", dsn)
	check("slog", out.String())
	if text, err := asJSON(conn); err == nil {
		check("JSON", string(text))
	}
	if got := fmt.Sprint(conn); !strings.Contains(got, "admin:***@") {
		t.Errorf("a connector prints as %s, want its redacted DSN", got)
	}
}

// asJSON is what a careless caller may do with anything.
func asJSON(v any) ([]byte, error) { return json.Marshal(v) }
