package picotest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestPsql lets psql, where it is installed, connect and ask; over TLS too.
func TestPsql(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql isn't installed; install a PostgreSQL client to run this test")
	}
	for _, mode := range []picotest.TLSMode{picotest.TLSOff, picotest.TLSMutual} {
		c := picotest.Start(t, picotest.Config{TLS: mode})
		out, err := exec.CommandContext(t.Context(), psql, "-X", "-A", "-t", c.Node("i1").DSN(),
			"-c", "create table t (id int primary key, s text) distributed by (id)",
			"-c", "insert into t values (1,'x'),(2,null)",
			"-c", "select id, s from t order by id").CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != "CREATE TABLE\nINSERT 0 2\n1|x\n2|" {
			t.Errorf("psql said %q, %v", got, err)
		}
	}
}
