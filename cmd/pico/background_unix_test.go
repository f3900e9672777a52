//go:build unix

package main

import (
	"os/signal"
	"syscall"
	"testing"
)

// pico sim & in a shell must go on serving: the read of its commands would stop it.
func TestSimOutlivesTheTerminal(t *testing.T) {
	outliveTheTerminal()
	defer signal.Reset(syscall.SIGTTIN)
	if !signal.Ignored(syscall.SIGTTIN) {
		t.Fatal("a read of the terminal stops the process")
	}
}
