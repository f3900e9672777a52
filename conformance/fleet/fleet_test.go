package fleet

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	clientsFlag   = flag.String("fleet.clients", "1,10,50", "numbers of clients, in a list")
	instancesFlag = flag.Int("fleet.instances", 12, "instances of the cluster")
	chartFlag     = flag.String("fleet.chart", "", "a file for the picture of docs/scale.md")
)

// TestFleet prints what the servers see, and holds what docs/scale.md promises.
func TestFleet(t *testing.T) {
	var table []string
	var all []Load
	list := *clientsFlag
	if testing.Short() {
		list = "1,10"
	}
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, *instancesFlag)
				for _, l := range f.run(t, n) {
					table, all = append(table, l.String()), append(all, l)
					l.check(t)
				}
			})
		})
	}
	t.Logf("\n%s\n%s", Header, strings.Join(table, "\n"))
	if *chartFlag != "" {
		if err := os.WriteFile(*chartFlag, []byte(Chart(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
		if l.ConnsMost > 3*int(l.ConnsMean)+4 {
			t.Errorf("%s: %d connections on one node, %.1f on each on average", l.Scenario, l.ConnsMost, l.ConnsMean)
		}
		if l.Failed > 0 {
			t.Errorf("%s: %d statements failed", l.Scenario, l.Failed)
		}
	}
	// What a client does at once when a cluster comes back: probes, hedged dials of one statement, and one attempt for the topology.
	const most = 12
	if l.LoginPeak > most*l.Clients {
		t.Errorf("%s: %d logins in a second by %d clients", l.Scenario, l.LoginPeak, l.Clients)
	}
}
