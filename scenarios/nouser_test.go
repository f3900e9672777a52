package scenarios_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// A DSN without a user says so at first use; the server would close the socket without a word.
func TestNoUser(t *testing.T) {
	t.Setenv("PGUSER", "")
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", "picodata://"+c.Nodes()[0].Addr()+"/?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no user") {
		t.Errorf("%v", err)
	}
	if n := c.Counters().Received["startup"]; n != 0 {
		t.Errorf("%d logins were begun", n)
	}
}
