package main

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/picodata/go-picodata"
)

// errorKind names what went wrong in the words of the report. Unknown outcomes are told apart by their cause: what to do
// about a hundred lost connections isn't what to do about a hundred timeouts.
func errorKind(err error) string {
	var unknown *picodata.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		return causeKind(err)
	}
	kind := "outcome unknown"
	if unknown.Partly {
		kind += ", possibly partly applied"
	}
	if why := causeKind(unknown.Unwrap()); why != otherCause {
		return kind + ": " + why
	}
	return kind + ": connection lost"
}

// otherCause is the kind of what has none.
const otherCause = "other"

func causeKind(err error) string {
	var (
		acquire *picodata.AcquireTimeoutError
		dial    *picodata.DialError
		none    *picodata.NoNodeError
		server  *picodata.Error
	)
	switch {
	case err == nil:
		return otherCause
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &acquire):
		return "no connection became free"
	case errors.As(err, &none):
		return "no node"
	case errors.As(err, &server):
		return "server: " + server.Kind.String()
	case errors.As(err, &dial), errors.Is(err, syscall.ECONNREFUSED):
		return "could not connect"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), strings.HasSuffix(err.Error(), "EOF"):
		return "connection lost"
	}
	return otherCause
}
