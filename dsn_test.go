package picodata_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

func TestParseDSNReadsTheEnvironmentOnlyForWhatIsLeftOut(t *testing.T) {
	for name, value := range map[string]string{"PGHOST": "env", "PGPORT": "1", "PGUSER": "env", "PGPASSWORD": "env", "PGSSLMODE": "require", "PGOPTIONS": "x=1", "PGDATABASE": "env"} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct{ dsn, want string }{
		{"picodata://u:p@h/db", "picodata://u:p@h:4327/db"},
		{"picodata://u:@h/db", "picodata://u@h:4327/db"},
		{"picodata://u@h/db", "picodata://u:env@h:4327/db"},
		{"picodata://h/db", "picodata://env:env@h:4327/db"},
		{"", "picodata://env:env@env:1/"},
	} {
		cfg, err := picodata.ParseDSN(tt.dsn)
		if err != nil {
			t.Fatalf("ParseDSN(%q): %v", tt.dsn, err)
		}
		if got := picodata.FormatDSN(cfg); got != tt.want {
			t.Errorf("ParseDSN(%q) = %s, want %s", tt.dsn, got, tt.want)
		}
	}
}

func TestRedactDSNHidesThePassword(t *testing.T) {
	for dsn, want := range map[string]string{
		"picodata://u:QXZW@h/": "picodata://u:***@h:4327/",
		"picodata://u:QX?ZW@h": "picodata://***",
		"password=QXZW host":   "***",
	} {
		if got := picodata.RedactDSN(dsn); got != want {
			t.Errorf("RedactDSN(%q) = %q, want %q", dsn, got, want)
		}
	}
}

// A variable that isn't set makes an empty DSN: sql.Open says so, instead of a wait for nodes that nobody named.
func TestOpenNeedsAHost(t *testing.T) {
	t.Setenv("PGUSER", "")
	t.Setenv("PGHOST", "")
	for _, dsn := range []string{"", "picodata:///db", "user=app password=x"} {
		_, err := sql.Open("picodata", dsn)
		var fault *picodata.ConfigError
		if !errors.As(err, &fault) || fault.Key != "host" || !strings.Contains(fault.Msg, "PGHOST") {
			t.Errorf("sql.Open(%q) = %v, want that no host is given", dsn, err)
		}
	}
	t.Setenv("PGHOST", "h")
	t.Setenv("PGUSER", "app")
	db, err := sql.Open("picodata", "")
	if err != nil {
		t.Fatalf("with PGHOST: %v", err)
	}
	_ = db.Close()
	t.Setenv("PGHOST", "")
	c, err := picodata.NewConnector(nil, options.WithHosts(options.Host{Name: "h", Port: 4327}), options.WithUser("app"))
	if err != nil {
		t.Fatalf("with WithHosts: %v", err)
	}
	_ = c.Close()
}
