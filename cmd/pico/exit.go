package main

import (
	"errors"
	"strings"

	"github.com/picodata/go-picodata"
)

// The exit codes of all commands; docs/pico.md lists them.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitWarnings = 3
	exitFaults   = 4
)

// usageError is wrong usage.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// verdict ends a command that did its work and found something. Everything is said already.
type verdict int

func (verdict) Error() string { return "" }

// exitCode is the exit code of an error.
func exitCode(err error) int {
	var (
		v verdict
		u *usageError
		c *picodata.ConfigError
	)
	switch {
	case errors.As(err, &v):
		return int(v)
	case errors.As(err, &u), errors.As(err, &c):
		return exitUsage
	}
	for _, cobras := range []string{"unknown command ", "if any flags in the group "} { // which have no types
		if strings.HasPrefix(err.Error(), cobras) {
			return exitUsage
		}
	}
	return exitFailed
}
