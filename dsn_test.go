package picodata_test

import (
	"testing"

	"github.com/picodata/go-picodata"
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
