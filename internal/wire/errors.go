package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/servererr"
)

// Stage says how far an operation came before it failed.
type Stage uint8

// The stages of a connection's life, in order.
const (
	StageDial  Stage = iota // resolving and connecting
	StageTLS                // asking for TLS and the handshake
	StageLogin              // startup packet to the first ReadyForQuery
	StageQuery              // everything after
)

// String names the stage as errors do.
func (s Stage) String() string {
	switch s {
	case StageDial:
		return "dial"
	case StageTLS:
		return "TLS"
	case StageLogin:
		return "login"
	default:
		return "query"
	}
}

// Error is every failure of an operation. errors.As finds the *pq.Error of a server that
// answered, errors.Is the context's error; driver.ErrBadConn is never in it.
type Error struct {
	Stage    Stage
	Node     string             // the target's name
	Address  string             // the target's host:port
	Sent     bool               // a byte of the statement was written (StageQuery only)
	Answered bool               // a byte of the answer arrived (StageQuery only)
	Config   bool               // no node would do better: the configuration is at fault
	Saw      servererr.Evidence // of the flight that failed (StageQuery only)
	Local    bool               // the arguments or the text are at fault: nothing was sent, no node would do better
	Cause    error
}

// Error says which node, what was tried and why it failed.
func (e *Error) Error() string {
	where := e.Node
	if e.Address != "" && e.Address != e.Node {
		where = fmt.Sprintf("%s (%s)", e.Node, e.Address)
	}
	return fmt.Sprintf("picodata: %s: %s: %v", where, e.Stage, e.Cause)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Server gives the server's own error, if the server sent one.
func (e *Error) Server() (*pq.Error, bool) {
	var pe *pq.Error
	ok := errors.As(e.Cause, &pe)
	return pe, ok
}

// Cancelled says that the caller's context ended the operation: nobody's fault.
func (e *Error) Cancelled() bool {
	return errors.Is(e.Cause, context.Canceled) || errors.Is(e.Cause, context.DeadlineExceeded)
}

// Evidence is what the connection saw of the flight that failed.
func (e *Error) Evidence() servererr.Evidence { return e.Saw }

// LoginRefused says that the server turned the user away (SQLSTATE class 28). Trying again
// with the same password, here or on another node, only brings the user's lock-out nearer.
func (e *Error) LoginRefused() bool {
	if e.Stage != StageLogin {
		return false
	}
	r, _ := servererr.Of(e.Cause)
	return r.Kind == servererr.Login
}

// Errors that a caller may want to tell apart.
var (
	// ErrBusy is a statement on a connection whose last result isn't closed.
	ErrBusy = errors.New("the connection is busy: close the rows of its last query first")
	// ErrClosed is the use of a connection that was closed or has failed.
	ErrClosed = errors.New("the connection is closed")
	// ErrInterrupted is an operation that Interrupt ended. Nobody's fault.
	ErrInterrupted = errors.New("the statement was interrupted while it waited for an answer")
	// ErrCleartext is a server that wants the password itself over a connection of which nobody has verified where it ends.
	ErrCleartext = errors.New("the server asks for the password in clear text, and TLS hasn't verified that it is the right one: use sslmode=verify-full (or verify-ca), or set allow_cleartext_password=on")
	// ErrCleartextDiscovered is ErrCleartext of a host that only the cluster's tables name.
	ErrCleartextDiscovered = errors.New("the server asks for the password in clear text, and only the cluster's tables say that this host is one of its own: use sslmode=verify-full, set allowed_networks, or name the host in the DSN")
	// ErrIterations is a server that would keep the client busy.
	ErrIterations = fmt.Errorf("SCRAM with more than %d iterations", scramIterations)
)
