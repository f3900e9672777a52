// Command pico is the tool around the Picodata driver.
//
//	pico topology  who there is in the cluster, and how the driver sees it
//	pico check     what is wrong with a cluster, a DSN or a user's rights, and what to do
//	pico route     where the driver would send a statement, and why
//	pico bench     how fast it is, and what happens meanwhile
//	pico load      a CSV file into a table
//	pico dump      a table into a CSV file
//	pico drain     move the leadership away from an instance that is to be stopped
//	pico shell     a SQL prompt that goes through the driver
//	pico sim       a simulated cluster to connect to
//
// docs/pico.md describes all of it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	code := newTool().run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
