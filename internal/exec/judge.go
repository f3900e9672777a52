package exec

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
)

// action is what the driver does about a failed attempt.
type action uint8

const (
	giveUp  action = iota // hand the error to the caller
	retry                 // run it again, elsewhere if there is an elsewhere
	reroute               // run it again where it belongs: its key is known now
	revive                // run it again: it was interrupted for that, outside all bounds
	actions
)

// actionNames are how logs name them.
var actionNames = [actions]string{giveUp: "give up", retry: "retry", reroute: "reroute", revive: "leader_changed"}

// ending is what the caller gets if the statement isn't run again.
type ending uint8

const (
	asItIs      ending = iota // the error of the wire, or of the arguments
	byServer                  // the server's error
	byCtx                     // the context's own error
	early                     // the same, before a server ran anything
	notSent                   // lost before a byte of it was sent
	lost                      // the answer is lost; nothing was written
	unknown                   // nobody can tell whether it took effect
	undecodable               // it ran, and the client can't decode the answer
)

// attempt is what is known of one run of a statement that failed.
type attempt struct {
	op         operation
	text       *Text
	oneBucket  bool // known to touch one bucket at most
	delivered  bool // a row has reached the caller
	idempotent bool
	anyTime    bool // idempotent, also after what came later
	noRetry    bool
	routable   bool // a forward refusal can be met by routing
	tx         bool // inside a Tx, whose writes stay where they are
}

// verdict is what judge decided.
type verdict struct {
	action  action
	ending  ending // what the caller gets if the action is giveUp, or the tries are used up
	cause   error  // of the ending
	partly  bool   // of the unknown and the server's: some replicasets may have applied their part
	kind    servererr.Kind
	refresh bool // the topology snapshot may be behind
	connErr bool // the node's health suffers
	// doubt is set if the attempt may have taken effect although it is run again: whatever the
	// next attempts bring but success, the caller must hear of it.
	doubt bool
}

// judge is the table "Failure" of docs/failure.md: it alone decides what may be run again. The wire says what
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
		return verdict{cause: err}
	}
	var p *pq.Error
	if errors.As(w.Cause, &p) && !servererr.Ends(string(p.Code), p.Severity) {
		return judgeAnswer(w, a)
	}
	switch {
	case w.Cancelled():
		// Never the node's fault, and never run again: nobody waits for it any more.
		v := verdict{ending: byCtx, cause: contextCause(w.Cause)}
		switch {
		case !w.Sent || !a.op.executes():
			v.ending = early
		case a.mayHaveWritten():
			v.ending = unknown
		}
		return v
	case w.Config, w.Local:
		return verdict{cause: err}
	case errors.As(w.Cause, new(*wire.DecodeError)):
		// No other node would answer otherwise, and this one did nothing wrong.
		return verdict{ending: undecodable, cause: w}
	case malformed(w.Cause):
		v := a.judgeLost(verdict{cause: w.Cause})
		v.action = giveUp
		return v
	case errors.Is(w.Cause, wire.ErrInterrupted):
		v := a.judgeLost(verdict{action: revive, cause: errLeaderChanged})
		if a.asleep() {
			v.action = giveUp
		}
		return v
	case !w.Sent:
		return verdict{action: retry, ending: notSent, cause: w, refresh: true, connErr: true}
	}
	return a.judgeLost(verdict{action: retry, cause: w.Cause, refresh: true, connErr: true})
}

// malformed reports whether a message within a good stream made no sense: another node would say the same.
func malformed(err error) bool {
	var f *wire.FrameError
	return errors.As(err, &f) && f.Framed
}

// errLeaderChanged is the cause when a statement was ended because it had waited since before a leader
// changed: such a statement never wakes.
var errLeaderChanged = errors.New("it had waited since before its tier got another leader, and the server doesn't wake such statements")

// judgeLost decides about a statement that was sent and whose answer will not come.
func (a *attempt) judgeLost(v verdict) verdict {
	v.ending = lost
	switch {
	case a.harmless():
		if a.mayHaveWritten() {
			v.ending, v.doubt = unknown, true
		}
	case a.op.executes() && a.text.Info.Class != sqltext.Tx:
		v.action, v.ending = giveUp, unknown
	default:
		v.action = giveUp
	}
	return v
}

// judgeAnswer decides about a statement that a server refused.
func judgeAnswer(w *wire.Error, a *attempt) verdict {
	report, _ := servererr.Of(w)
	v := verdict{action: retry, ending: byServer, cause: w, kind: report.Kind, refresh: report.Kind.StaleRole()}
	switch report.Kind {
	case servererr.Stale, servererr.LostStatement, servererr.Capacity:
		// Refused before anything ran. The wire has prepared it anew once; another node needn't be as unlucky.
	case servererr.Forward:
		v.action = giveUp
		if a.routable {
			v.action = reroute
		}
	case servererr.Unreachable, servererr.TableBusy:
		// Said by the instance that was asked, before anything ran, unless it passes on what a storage said.
		if report.Replicaset != "" {
			a.judgePart(&v)
		}
	case servererr.Switchover, servererr.Route, servererr.Schema:
		a.judgePart(&v)
	case servererr.Timeout:
		again := a.harmless() && !a.asleep()
		v.refresh = true
		if a.mayHaveWritten() {
			v.ending, v.partly, v.doubt = unknown, !a.oneBucket, again
		}
		if !again {
			v.action = giveUp
		}
	default:
		v.action, v.partly = giveUp, a.begun(w, &report)
	}
	return v
}

// judgePart decides about a refusal that proves of one replicaset that it has run nothing.
func (a *attempt) judgePart(v *verdict) {
	switch {
	case !a.mayHaveWritten() || a.oneBucket:
		// So nothing of the statement ran. A Tx is tied to its node: its writes don't wander.
		if a.tx && a.mayHaveWritten() {
			v.action = giveUp
		}
	default:
		v.ending, v.partly, v.doubt = unknown, true, a.idempotent
		if !a.idempotent {
			v.action = giveUp
		}
	}
}

// begun reports whether a write of several buckets may have been applied by others when one refused it.
func (a *attempt) begun(w *wire.Error, report *servererr.Report) bool {
	switch {
	case !a.mayHaveWritten() || a.oneBucket || a.text.Info.Class == sqltext.DDL:
		return false
	case !w.Saw.Simple:
		return w.Saw.Bound
	case report.Replicaset != "":
		return true
	}
	// A simple Query tells no stages. These are found before anything runs.
	return report.Cause != servererr.Syntax && report.Kind != servererr.Unsupported && report.Kind != servererr.Permission
}

// executes reports whether the operation runs its text.
func (op operation) executes() bool { return op == opQuery || op == opExec }

// harmless reports whether running the operation twice is the same as running it once.
func (a *attempt) harmless() bool {
	return a.idempotent || !a.op.executes() || a.text.Info.PlainRead || a.text.Info.Class == sqltext.Empty
}

// asleep reports whether the statement, if it isn't over yet on a server that lives, could undo there later what was
// written since: running it again now would be acknowledged all the same.
func (a *attempt) asleep() bool {
	return a.idempotent && !a.anyTime && a.mayHaveWritten() && a.text.Overwrites
}

func (a *attempt) mayHaveWritten() bool { return a.op.executes() && a.text.Writes }

// callersError is what the caller gets of a verdict.
func (x *Executor) callersError(v *verdict, t *Text, n *pool.NodeInfo) error {
	switch v.ending {
	case byServer:
		return x.Faults.Server(refusedOf(v, t, n))
	case undecodable:
		return x.Faults.Undecodable(v.cause, n)
	case early:
		return &NotRunError{v.cause}
	case notSent:
		return &NotSentError{node: n, cause: v.cause}
	case lost:
		return fmt.Errorf("picodata: connection to %s lost before the answer was complete: %w", n, v.cause)
	case unknown:
		return x.Faults.Unknown(x.unknownOf(v, t, n))
	case asItIs, byCtx:
	}
	return v.cause
}

// refusedOf describes a server's refusal.
func refusedOf(v *verdict, t *Text, n *pool.NodeInfo) *Refused {
	r := &Refused{Err: v.cause, Node: n, Partly: v.partly}
	if report, _ := servererr.Of(v.cause); report.Kind == servererr.Query || report.Kind == servererr.Unsupported {
		r.Help = sqltext.Missing(t.SQL)
	}
	return r
}

func (x *Executor) unknownOf(v *verdict, t *Text, n *pool.NodeInfo) *Unknown {
	u := &Unknown{Node: n, Fingerprint: t.Fingerprint(), Partly: v.partly, Cause: v.cause}
	var p *pq.Error
	if v.kind != servererr.Other && errors.As(v.cause, &p) {
		u.Cause = x.Faults.Server(refusedOf(v, t, n))
	}
	return u
}

// inDoubt is the description of a statement that was run again after an attempt of unknown outcome: the last
// attempt's error alone would pass the first one over in silence.
func inDoubt(doubt *Unknown, last error) *Unknown {
	u := *doubt
	u.Cause = fmt.Errorf("%w; run again: %w", doubt.Cause, last)
	return &u
}

// contextCause is the context's own error within err.
func contextCause(err error) error {
	for _, c := range [...]error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, c) {
			return c
		}
	}
	return err
}

// budget counts statements and holds the retry budget.
type budget struct {
	ok, bad, unknown, retries, revived, reroutes, spent atomic.Uint64
	// budget is in thousandths of a retry and starts full: see mayRetry. Kept as what is missing.
	missing atomic.Int64
}

// A retry takes budgetRetry from a budget of budgetFull, a statement that succeeds puts budgetGain back: in
// the long run one statement in ten may be run again, and a storm of failures can't multiply the load.
const (
	budgetFull  = 100_000
	budgetRetry = 1_000
	budgetGain  = 100
)

func (b *budget) succeeded() {
	b.ok.Add(1)
	if b.missing.Load() > 0 {
		b.missing.Add(-budgetGain)
	}
}

func (b *budget) failed(unknown bool) {
	b.bad.Add(1)
	if unknown {
		b.unknown.Add(1)
	}
}

func (b *budget) mayRetry() bool {
	if b.missing.Load() <= budgetFull-budgetRetry {
		return true
	}
	b.spent.Add(1)
	return false
}

// retried counts an attempt after the first. free: time bounds it, not the budget.
func (b *budget) retried(a action, free bool) {
	b.retries.Add(1)
	if free {
		return
	}
	switch a {
	case revive: // there is one of these per statement and change of a leader at most
		b.revived.Add(1)
		return
	case reroute:
		b.reroutes.Add(1)
	case retry, giveUp:
	}
	b.missing.Add(budgetRetry)
}

func (b *budget) stats() StatementStats {
	return StatementStats{
		Succeeded: b.ok.Load(), Failed: b.bad.Load(), OutcomeUnknown: b.unknown.Load(),
		Retries: b.retries.Load(), Revived: b.revived.Load(), Reroutes: b.reroutes.Load(), BudgetSpent: b.spent.Load(),
	}
}

// StatementStats counts statements by how they ended. A statement that was run again counts once.
type StatementStats struct {
	Succeeded      uint64
	Failed         uint64
	OutcomeUnknown uint64
	Retries        uint64
	Revived        uint64
	Reroutes       uint64
	BudgetSpent    uint64
}
