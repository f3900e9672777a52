package picotest_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picodata/go-picodata/picotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dialer lets lib/pq dial a cluster's network.
type dialer struct{ c *picotest.Cluster }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.c.DialContext(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.c.DialContext(ctx, network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.c.DialContext(ctx, network, address)
}
