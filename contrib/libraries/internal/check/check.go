// Package check runs an example on a simulated cluster.
package check

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// Output runs a program's run function as the administrator of a cluster and compares what it prints. It returns the cluster, for what the
// caller wants to know of the statements that arrived.
func Output(t *testing.T, run func(ctx context.Context, dsn string, out io.Writer) error, want string) *picotest.Cluster {
	t.Helper()
	c := picotest.Start(t, picotest.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, c.AdminDSN(), &out); err != nil {
		t.Fatalf("%v\nafter:\n%s", err, out.String())
	}
	if got := strings.TrimSpace(out.String()); got != strings.TrimSpace(want) {
		t.Errorf("the program printed\n%s\nwant\n%s", got, want)
	}
	for _, n := range c.Nodes() {
		if err := c.WaitConnections(ctx, n.Name(), 0); err != nil {
			t.Errorf("connections were left open: %v", err)
		}
	}
	return c
}
