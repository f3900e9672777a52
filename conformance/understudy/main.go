// Command understudy takes an instance's place in a container where no Picodata image is to be had: it reads the environment
// that Picodata documents, as far as the suite's launcher uses it, and fails as an instance would if that
// is incomplete. The first instance, the one that is its own peer, simulates the whole cluster; the
// others stand by. So the launcher of one container per instance is tried for real, though not the server.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/picodata/go-picodata/picotest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := stand(ctx, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "understudy:", err)
		os.Exit(1)
	}
}

// stand does what the environment says until ctx is done.
func stand(ctx context.Context, env func(string) string) error {
	for _, name := range []string{"PICODATA_INSTANCE_NAME", "PICODATA_INSTANCE_DIR", "PICODATA_PEER", "PICODATA_IPROTO_LISTEN", "PICODATA_PG_LISTEN", "PICODATA_ADMIN_PASSWORD"} {
		if env(name) == "" {
			return fmt.Errorf("%s isn't set", name)
		}
	}
	host, port, err := net.SplitHostPort(env("PICODATA_PG_LISTEN"))
	if err != nil {
		return fmt.Errorf("PICODATA_PG_LISTEN: %w", err)
	}
	// Every instance holds its own iproto port, as a real one does.
	iproto, err := net.Listen("tcp", env("PICODATA_IPROTO_LISTEN"))
	if err != nil {
		return fmt.Errorf("PICODATA_IPROTO_LISTEN: %w", err)
	}
	defer iproto.Close()
	if env("PICODATA_PEER") == env("PICODATA_IPROTO_ADVERTISE") {
		base, err := strconv.Atoi(port)
		if err != nil {
			return fmt.Errorf("PICODATA_PG_LISTEN: %w", err)
		}
		factor, err := strconv.Atoi(env("PICODATA_INIT_REPLICATION_FACTOR"))
		if err != nil {
			return fmt.Errorf("PICODATA_INIT_REPLICATION_FACTOR: %w", err)
		}
		c, err := picotest.New(picotest.Config{
			Host: host, BasePort: base, AdminPassword: env("PICODATA_ADMIN_PASSWORD"),
			Tiers: []picotest.Tier{{Name: "default", Replicasets: 4 / factor, ReplicationFactor: factor}},
		})
		if err != nil {
			return err
		}
		defer c.Close()
	}
	<-ctx.Done()
	return nil
}
