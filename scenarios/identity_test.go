package scenarios_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A dead node's address belongs to another cluster that knows the same user. No statement goes there, no topology comes
// from there, the error names both instances, and the address isn't dialled in a tight loop.
func TestAddressOfAnotherCluster(t *testing.T) {
	bubble(t, two, func(t *testing.T, w *world) {
		other := picotest.Start(nil, picotest.Config{Network: picotest.Memory, Tiers: two.Tiers})
		defer other.Close()
		const table = "create table t (id int primary key) distributed by (id)"
		for _, c := range []*picotest.Cluster{w.cluster, other} {
			if err := c.Exec(table); err != nil {
				t.Fatal(err)
			}
		}
		dead := w.cluster.Node("i2")
		stranger := other.Node("i1")
		taken := false
		w.openVia(func(ctx context.Context, network, address string) (net.Conn, error) {
			if taken && address == dead.Addr() {
				return other.DialContext(ctx, network, stranger.Addr())
			}
			return w.dial(ctx, network, address)
		}, options.WithRouting(options.RoutingOff))
		w.must("insert into t values ($1)", -1)
		dead.DropConnections()
		taken = true
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // less than until the node is ejected
		_, err := w.QueryContext(picodata.ToInstance(ctx, "i2"), "select 1")
		cancel()
		var id *picodata.IdentityError
		if !errors.As(err, &id) || id.Want != dead.UUID() || id.Got != stranger.UUID() {
			t.Errorf("got %v", err)
		}
		before := other.Counters().Logins
		failed := 0
		for i := range 300 {
			if _, err := w.Exec("insert into t values ($1)", i); err != nil {
				t.Error(err)
				failed++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(other.Statements(picotest.SQL("insert into t"))); n > 0 {
			t.Errorf("%d INSERTs went to the other cluster", n)
		}
		if n := other.Counters().Logins - before; n == 0 || n > 20 {
			t.Errorf("%d logins at the other cluster in 3 s", n)
		}
	})
}

// Two nodes whose addresses lead to each other go on working: both are the cluster's own.
func TestSwappedAddresses(t *testing.T) {
	bubble(t, two, func(t *testing.T, w *world) {
		a, b := w.cluster.Node("i1").Addr(), w.cluster.Node("i2").Addr()
		w.route(a, b)
		w.route(b, a)
		w.open(nil)
		if errs := w.read("select 44", 100); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		if ran := w.ran("select 44"); len(ran) != 2 {
			t.Errorf("%v", ran)
		}
	})
}

// With a fixed list no snapshot tells who belongs to the cluster: the first that answered does. Other instances of its
// cluster serve, another cluster's don't.
func TestFixedListKnowsStrangers(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *world) {
		other := picotest.Start(nil, picotest.Config{Network: picotest.Memory, Tiers: two.Tiers})
		defer other.Close()
		stranger, dead := other.Node("i1"), w.cluster.Node("i3")
		taken := false
		hosts := []string{w.cluster.Node("i1").Addr(), w.cluster.Node("i2").Addr(), dead.Addr()}
		w.openAs("admin", hosts, options.WithMode(options.Bootstrap), options.WithTopology(false), options.WithRouting(options.RoutingOff),
			options.WithDialFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
				if taken && address == dead.Addr() {
					return other.DialContext(ctx, network, stranger.Addr())
				}
				return w.dial(ctx, network, address)
			}))
		for len(w.ran("select 45")) < 3 {
			w.must("select 45")
		}
		dead.DropConnections()
		taken = true
		if errs := w.read("select 46", 300); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		if ran := w.ran("select 46"); len(ran) != 2 {
			t.Errorf("%v", ran)
		}
		if n := len(other.Statements(picotest.SQL("select 46"))); n > 0 {
			t.Errorf("%d statements went to the other cluster", n)
		}
		if n := other.Counters().Logins; n == 0 || n > 20 {
			t.Errorf("%d logins at the other cluster", n)
		}
	})
}

// Servers without TLS under sslmode=require: the statement ends with that cause after the three looks of a start at both, or
// the four attempts of a fixed list, though its context has a minute left.
func TestNoTLSUnderRequireEndsAtOnce(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		bubble(t, two, func(t *testing.T, w *world) {
			opts := []options.Option{options.WithSSLMode(options.SSLRequire)}
			if fixed {
				opts = append(opts, options.WithMode(options.Bootstrap), options.WithTopology(false), options.WithRouting(options.RoutingOff))
			}
			w.open(nil, opts...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now() // virtual
			_, err := w.ExecContext(ctx, "select 1")
			if err == nil || !strings.Contains(err.Error(), "the server has no TLS, and sslmode=require needs it") || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if d := time.Since(began); d >= time.Second {
				t.Errorf("fixed %v: it took %v", fixed, d)
			}
			if n := w.dialled(w.cluster.Node("i1").Addr()) + w.dialled(w.cluster.Node("i2").Addr()); n != map[bool]int{true: 8, false: 6}[fixed] {
				t.Errorf("fixed %v: %d dials", fixed, n)
			}
		})
	}
}
