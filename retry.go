package picodata

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
)

// action is what the driver does about a failed attempt.
type action uint8

const (
	giveUp  action = iota // hand the error to the caller
	again                 // run it again, elsewhere if there is an elsewhere
	reroute               // run it again where it belongs: its key is known now
	revive                // run it again: it was interrupted for that, outside all bounds
)

// attempt is what is known of one run of a statement that failed.
type attempt struct {
	op         operation
	node       Node
	text       *text
	oneBucket  bool // known to touch one bucket at most
	delivered  bool // a row has reached the caller
	idempotent bool
	noRetry    bool
	routable   bool // a forward refusal can be met by routing
	tx         bool // inside a Tx, whose writes stay where they are
}

// verdict is what judge decided.
type verdict struct {
	action  action
	err     error // what the caller gets if the action is giveUp, or the tries are used up
	refresh bool  // the topology snapshot may be behind
	connErr bool  // the node's health suffers
	// doubt is set if the attempt may have taken effect although it is run again: whatever the
	// next attempts bring but success, the caller must hear of it.
	doubt *OutcomeUnknownError
}

// judge is the table "Failure" of the design: it alone decides what may be run again. The wire says what
// happened to the bytes, the kind what the server's answer proves.
func judge(err error, a *attempt) verdict {
	v := judgeFreely(err, a)
	if v.action != giveUp && (a.noRetry || a.delivered) {
		v.action = giveUp
		if v.doubt != nil {
			v.err = v.doubt
		}
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
	if errors.As(w.Cause, &p) && !servererr.Ends(string(p.Code), p.Severity) {
		return judgeAnswer(newError(p, a.node), a)
	}
	switch {
	case w.Cancelled():
		// Never the node's fault, and never run again: nobody waits for it any more.
		if w.Sent && a.mayHaveWritten() {
			return verdict{err: a.unknown(contextCause(w.Cause), false)}
		}
		return verdict{err: contextCause(w.Cause)}
	case w.Config, w.Local:
		return verdict{err: err}
	case errors.Is(w.Cause, wire.ErrInterrupted):
		return a.judgeLost(verdict{action: revive}, errLeaderChanged)
	case !w.Sent:
		return verdict{action: again, err: &notSentError{node: a.node, cause: w}, refresh: true, connErr: true}
	}
	return a.judgeLost(verdict{action: again, refresh: true, connErr: true}, w.Cause)
}

// errLeaderChanged is the cause when a statement was ended because it had waited since before a leader
// changed: such a statement never wakes.
var errLeaderChanged = errors.New("it had waited since before its tier got another leader, and the server doesn't wake such statements")

// judgeLost decides about a statement that was sent and whose answer will not come.
func (a *attempt) judgeLost(v verdict, cause error) verdict {
	switch {
	case a.harmless():
		v.err = a.lost(cause)
		if a.mayHaveWritten() {
			v.doubt = a.unknown(cause, false)
			v.err = v.doubt
		}
	case a.op.executes() && a.text.info.Class != sqltext.Tx:
		v.action, v.err = giveUp, a.unknown(cause, false)
	default:
		v.action, v.err = giveUp, a.lost(cause)
	}
	return v
}

func judgeAnswer(e *Error, a *attempt) verdict {
	v := verdict{action: again, err: e, refresh: e.report.Kind.StaleRole()}
	switch e.Kind {
	case KindStale, KindLostStatement, KindCapacity:
		// Refused before anything ran. The wire has prepared it anew once; another node needn't be as unlucky.
		return v
	case KindForward:
		v.action = giveUp
		if a.routable {
			v.action = reroute
		}
		return v
	case KindSwitchover, KindRoute, KindSchema:
		switch {
		case !a.mayHaveWritten() || a.oneBucket:
			// The refusal of the one replicaset proves that nothing of it ran. A Tx is tied to its
			// node: its writes don't wander.
			if a.tx && a.mayHaveWritten() {
				v.action = giveUp
			}
		case a.idempotent:
			v.doubt = a.unknown(e, true)
			v.err = v.doubt
		default:
			v.action, v.err = giveUp, a.unknown(e, true)
		}
		return v
	case KindTimeout:
		v.refresh = true
		switch {
		case a.harmless() && a.mayHaveWritten():
			v.doubt = a.unknown(e, !a.oneBucket)
			v.err = v.doubt
		case a.harmless():
		case a.mayHaveWritten():
			v.action, v.err = giveUp, a.unknown(e, !a.oneBucket)
		default:
			v.action = giveUp
		}
		return v
	}
	v.action = giveUp
	return v
}

// executes reports whether the operation runs its text.
func (op operation) executes() bool { return op == opQuery || op == opExec }

// harmless reports whether running the operation twice is the same as running it once.
func (a *attempt) harmless() bool {
	return a.idempotent || !a.op.executes() || a.text.info.PlainRead || a.text.info.Class == sqltext.Empty
}

func (a *attempt) mayHaveWritten() bool { return a.op.executes() && a.text.writes() }

func (a *attempt) unknown(cause error, partly bool) *OutcomeUnknownError {
	return &OutcomeUnknownError{Node: a.node, Fingerprint: a.text.fingerprint(), Partly: partly, cause: cause}
}

func (a *attempt) lost(cause error) error {
	return fmt.Errorf("picodata: connection to %s lost before the answer was complete: %w", a.node, cause)
}

// inDoubt is the caller's error of a statement that was run again after an attempt of unknown outcome:
// the last attempt's error alone would pass the first one over in silence.
func inDoubt(doubt *OutcomeUnknownError, last error) error {
	if doubt == nil || last == error(doubt) {
		return last
	}
	return &OutcomeUnknownError{
		Node: doubt.Node, Fingerprint: doubt.Fingerprint, Partly: doubt.Partly,
		cause: fmt.Errorf("%w; run again: %w", doubt.cause, last),
	}
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
