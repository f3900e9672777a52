//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// outliveTheTerminal makes a read of a terminal that another job has fail, instead of stopping the process:
// with pico sim & a shell keeps the terminal for itself.
func outliveTheTerminal() { signal.Ignore(syscall.SIGTTIN) }
