package main

import (
	"context"

	"github.com/picodata/go-picodata/picotest"
)

// simulated are the hooks of a simulated cluster.
func simulated(c *picotest.Cluster) hooks {
	quick := func(f func(*picotest.Node)) func(context.Context, string) error {
		return func(_ context.Context, instance string) error {
			f(c.Node(instance))
			return nil
		}
	}
	wait := func(f func(*picotest.Node) <-chan struct{}) func(context.Context, string) error {
		return func(ctx context.Context, instance string) error {
			select {
			case <-f(c.Node(instance)):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return hooks{
		stop: wait((*picotest.Node).Stop), start: wait((*picotest.Node).Start),
		kill: quick((*picotest.Node).Kill), freeze: quick((*picotest.Node).Freeze), thaw: quick((*picotest.Node).Thaw),
		switchover: func(_ context.Context, replicaset, instance string) error {
			c.SwitchLeader(replicaset, instance)
			return nil
		},
	}
}
