package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// hooks make faults. Each returns when it's made, and may be nil: the events that need it are left out.
type hooks struct {
	stop, kill, freeze, thaw, start func(ctx context.Context, instance string) error
	// switchover begins to make an instance the leader of its replicaset.
	switchover func(ctx context.Context, replicaset, instance string) error
}

// command is a hook that a shell runs; {instance} and {replicaset} in its text are replaced. nil if the text is "".
func command(text string) func(ctx context.Context, replicaset, instance string) error {
	if text == "" {
		return nil
	}
	return func(ctx context.Context, replicaset, instance string) error {
		line := strings.NewReplacer("{instance}", quote(instance), "{replicaset}", quote(replicaset)).Replace(text)
		if out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
		return nil
	}
}

// quote keeps a name one word of a shell, whatever is in it.
func quote(name string) string { return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'" }

// onInstance is a command that needs no replicaset.
func onInstance(text string) func(ctx context.Context, instance string) error {
	f := command(text)
	if f == nil {
		return nil
	}
	return func(ctx context.Context, instance string) error { return f(ctx, "", instance) }
}
