package picodata

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/wire"
)

// action is what the driver does about a failed attempt.
type action uint8

const (
	giveUp  action = iota // hand the error to the caller
	again                 // run it again, elsewhere if there is an elsewhere
	reroute               // run it again where it belongs: its key is known now
)

// attempt is what is known of one run of a statement that failed.
type attempt struct {
	node       Node
	text       *text
	oneBucket  bool // known to touch one bucket at most
	delivered  bool // a row has reached the caller
	idempotent bool
	noRetry    bool
	routable   bool // a forward refusal can be met by routing
}

// verdict is what judge decided.
type verdict struct {
	action  action
	err     error // what the caller gets if the action is giveUp, or the tries are used up
	refresh bool  // the topology snapshot may be behind
	connErr bool  // the node's health suffers
}

// judge is the table "Failure" of the design: it alone decides what may be run again. The wire says what
// happened to the bytes, the kind what the server's answer proves.
func judge(err error, a *attempt) verdict {
	v := judgeFreely(err, a)
	if v.action != giveUp && (a.noRetry || a.delivered) {
		v.action = giveUp
	}
	return v
}

func judgeFreely(err error, a *attempt) verdict {
	var w *wire.Error
	if !errors.As(err, &w) {
		// Neither sent nor refused by a server: a fault of the arguments, say.
		return verdict{err: err}
	}
	var p *pq.Error
	if errors.As(w.Cause, &p) {
		return judgeAnswer(newError(p, a.node), a)
	}
	switch {
	case w.Cancelled():
		// Never the node's fault, and never run again: nobody waits for it any more.
		if w.Sent && a.mayHaveWritten() {
			return verdict{err: a.unknown(contextCause(w.Cause), false)}
		}
		return verdict{err: contextError(w)}
	case w.Config:
		return verdict{err: err}
	case w.Local:
		return verdict{err: err}
	case !w.Sent:
		return verdict{action: again, err: &notSentError{node: a.node, cause: w}, refresh: true, connErr: true}
	case a.idempotent || a.text.info.PlainRead:
		return verdict{action: again, err: a.lost(w), refresh: true, connErr: true}
	case !a.mayHaveWritten():
		return verdict{err: a.lost(w), refresh: true, connErr: true}
	}
	return verdict{err: a.unknown(w, false), refresh: true, connErr: true}
}

func judgeAnswer(e *Error, a *attempt) verdict {
	switch e.Kind {
	case KindStale, KindLostStatement:
		// The wire has prepared it anew once; another node needn't be as unlucky.
		return verdict{action: again, err: e}
	case KindForward:
		if a.routable {
			return verdict{action: reroute, err: e}
		}
		return verdict{err: e}
	case KindSwitchover, KindRoute, KindSchema:
		v := verdict{action: again, err: e, refresh: e.Kind.staleRole()}
		if !a.repeatable() {
			v.action, v.err = giveUp, a.unknown(e, true)
		}
		return v
	case KindTimeout:
		if a.repeatable() && !a.mayHaveWritten() || a.idempotent {
			return verdict{action: again, err: e, refresh: true}
		}
		if a.mayHaveWritten() {
			return verdict{err: a.unknown(e, !a.oneBucket), refresh: true}
		}
		return verdict{err: e, refresh: true}
	}
	return verdict{err: e}
}

// repeatable reports whether a refusal by one replicaset proves that nothing of the statement took effect.
func (a *attempt) repeatable() bool {
	return a.idempotent || !a.mayHaveWritten() || a.oneBucket
}

func (a *attempt) mayHaveWritten() bool { return a.text.writes() }

func (a *attempt) unknown(cause error, partly bool) error {
	return &OutcomeUnknownError{Node: a.node, Fingerprint: a.text.fingerprint(), Partly: partly, cause: cause}
}

func (a *attempt) lost(w *wire.Error) error {
	return fmt.Errorf("picodata: connection to %s lost before the answer was complete: %w", a.node, w.Cause)
}

// contextCause is the context's own error within err: callers compare with ==.
func contextCause(err error) error {
	for _, c := range [...]error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, c) {
			return c
		}
	}
	return err
}

func contextError(w *wire.Error) error { return contextCause(w.Cause) }
