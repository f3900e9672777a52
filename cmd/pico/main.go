// Command pico is the tool around the Picodata driver.
//
//	pico sim    a simulated cluster to connect to
//	pico route  where the driver would send a statement, and why
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, in *os.File, out, err *os.File) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(err)
	if failed := root.ExecuteContext(ctx); failed != nil {
		fmt.Fprintln(err, "pico:", failed)
		return 1
	}
	return 0
}
