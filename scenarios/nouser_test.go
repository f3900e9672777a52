package scenarios_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// A DSN without a user says so before anything is dialled; the server would close the socket without a word.
func TestNoUser(t *testing.T) {
	t.Setenv("PGUSER", "")
	c := picotest.Start(t, picotest.Config{})
	_, err := sql.Open("picodata", "picodata://"+c.Nodes()[0].Addr()+"/?sslmode=disable")
	if err == nil || !strings.Contains(err.Error(), "no user") {
		t.Errorf("%v", err)
	}
	if n := c.Counters().Received["startup"]; n != 0 {
		t.Errorf("%d logins were begun", n)
	}
}
