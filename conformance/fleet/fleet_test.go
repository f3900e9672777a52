package fleet

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	clientsFlag   = flag.String("fleet.clients", "1,10,50", "numbers of clients, in a list")
	instancesFlag = flag.Int("fleet.instances", 12, "instances of the cluster")
)

// TestFleet prints what the servers see, and holds what docs/scale.md promises.
func TestFleet(t *testing.T) {
	var table []string
	for _, text := range strings.Split(*clientsFlag, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, *instancesFlag)
				for _, l := range f.run(t, n) {
					table = append(table, l.String())
					l.check(t)
				}
			})
		})
	}
	t.Logf("\n%s\n%s", Header, strings.Join(table, "\n"))
}

// check holds a load to the promises.
func (l Load) check(t *testing.T) {
	clients := float64(l.Clients)
	if l.Scenario == "quiet" {
		if l.Queries > 0.2*clients {
			t.Errorf("%s: %.2f queries/s of %d clients, want 0.2 each at most", l.Scenario, l.Queries, l.Clients)
		}
		if l.Bytes > 1024*clients {
			t.Errorf("%s: %.0f bytes/s of %d clients, want 1 KB each at most", l.Scenario, l.Bytes, l.Clients)
		}
		if l.Failed > 0 {
			t.Errorf("%s: %d statements failed", l.Scenario, l.Failed)
		}
	}
}
