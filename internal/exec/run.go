package exec

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/picodata/go-picodata/internal/hazard"
	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
)

type operation uint8

const (
	opQuery operation = iota
	opExec
	opPing
	opPrepare
	operations
)

var operationNames = [operations]string{opQuery: "query", opExec: "exec", opPing: "ping", opPrepare: "prepare"}

// run is one operation on its way: planned, leased, handed to the wire, judged, and run again where
// that is safe.
type run struct {
	c    *Checkout
	x    *Executor
	op   operation
	ctx  context.Context
	hint *Hint
	text *Text
	sql  string // text as it is sent with args
	args []driver.NamedValue

	lease     pool.Lease
	extra     bool // lease is for this operation only, not the checkout's
	plan      route.Plan
	avoid     [4]string
	refusals  int       // by a cluster on its way to another state
	refusedAt time.Time // the first of them
	tries     int       // attempts that failed
	begun     bool      // one of them may have run, in whole or in part
	doubt     *Unknown  // the first attempt that may have taken effect
	doubtErr  error     // what the caller would get of doubt alone
	flight    *flight
	learned   bool
	waited    time.Duration // for a connection, in vain
	asks      bool          // a server was asked for the text's sharding key
	answer    *wire.Rows
	affected  int64
	local     bool               // the text forbids the server to forward a part of it
	offered   bool               // to the mirror
	shadow    *mirror.Comparison // nil: not compared with the mirror

	// For tracers.
	end      func(*Ended) // nil: nobody listens
	attempts int
	lastNode *pool.NodeInfo
	planned  bool
}

// perform is do for an operation that is over with its answer.
func (r *run) perform() error {
	if r.x.Tracer != nil {
		r.trace()
	}
	err := r.do()
	if err == nil {
		r.x.budget.succeeded()
		r.c.release(r.lease, r.extra)
	}
	if r.shadow != nil {
		r.compare(err)
	}
	if r.end != nil {
		r.over(r.affected, err)
	}
	return err
}

// trace tells the tracer that the operation begins.
func (r *run) trace() {
	r.ctx, r.end = r.x.Tracer.Statement(r.ctx, &Started{Operation: operationNames[r.op], Text: r.text, Args: len(r.args)})
}

// over tells the tracer that the operation is over.
func (r *run) over(rows int64, err error) {
	e := Ended{Attempts: r.attempts, Rows: rows, Err: err, Node: r.lastNode}
	if r.planned {
		e.Reason = r.plan.Counter()
	}
	r.end(&e)
}

// settle decides what text is sent for the operation: with the limits that the context asks for, checked for what servers
// can't bear, and with the blanks that its arguments need. Once is enough.
func (r *run) settle() error {
	if r.sql != "" {
		return nil // of an attempt before: a read that runs again
	}
	if r.hint != nil && r.hint.Limits != (Limits{}) && r.op != opPing {
		t, err := r.x.texts.limited(r.text, r.hint.Limits)
		if err != nil {
			return err
		}
		r.text = t
	}
	if most := r.x.Options.MaxChainedOperators; most > 0 {
		if err := hazard.CheckText(r.text.SQL, most); err != nil {
			return r.x.Faults.Hazard(err)
		}
	}
	r.sql = r.text.SQL
	if r.x.Options.FloatGuard {
		for i := range r.args {
			switch r.args[i].Value.(type) {
			case float64, string: // of an infinity, perhaps
				r.sql = r.x.texts.variant(r.text, r)
			default:
				continue
			}
			break
		}
	}
	return nil
}

// do runs the operation until it succeeds or the judge says stop. On success the lease is held.
func (r *run) do() error {
	if tx := r.c.Tx; tx != nil {
		if err := tx.admit(r.text); err != nil {
			return err
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	for {
		if err := r.acquire(); err != nil {
			return r.fail(r.unrun(err))
		}
		err := r.attempt()
		if err == nil {
			if tx := r.c.Tx; tx != nil {
				tx.tied = true
			}
			r.heed()
			return nil
		}
		if err = r.failed(err, false); err != nil {
			return err
		}
	}
}

// heed notes what an answer without an error tells.
func (r *run) heed() {
	if r.asks {
		r.x.routing.asked(r.text)
	}
	if r.text.Info.Class == sqltext.DDL && r.op.executes() {
		r.x.Cluster.Hint(schema.HintTables)
	}
}

// fail counts an operation that failed for good and finds the caller's error.
func (r *run) fail(err error) error {
	switch {
	case r.doubt == nil:
		r.x.budget.failed(false)
	case err == r.doubtErr:
		r.x.budget.failed(true)
	default:
		r.x.budget.failed(true)
		err = r.x.Faults.Unknown(inDoubt(r.doubt, err))
	}
	return err
}

// unrun says of a context's error that it came while the operation had no connection: nothing of it has run, unless
// an attempt before has.
func (r *run) unrun(err error) error {
	if r.begun || r.ctx.Err() == nil || !errors.Is(err, r.ctx.Err()) {
		return err
	}
	return &NotRunError{err}
}

// attempt hands the operation to the wire.
func (r *run) attempt() (err error) {
	w := wireOf(r.lease.Conn())
	if r.x.mirror != nil {
		r.offer()
	}
	r.attempts++
	r.lastNode = r.lease.Node()
	sql := r.sql
	if r.plan.Reason == route.StaleRead {
		sql, r.asks = r.staleText(), false
	} else if r.asks = len(r.args) > 0 && r.x.routing.wants(r.text); r.asks {
		w.ParseAnew(sql)
	}
	switch r.op {
	case opQuery:
		r.depart(w)
		if r.answer, err = w.Query(r.ctx, sql, r.args); err != nil {
			r.arrive()
		}
	case opExec:
		r.depart(w)
		defer r.arrive()
		var res driver.Result
		if res, err = w.Exec(r.ctx, sql, r.args); err == nil {
			r.affected, _ = res.RowsAffected() // the wire's results always know
		}
	case opPing:
		err = w.Ping(r.ctx)
	case opPrepare:
		err = w.Prepare(r.ctx, sql)
	}
	if h := &r.x.routing.health; err == nil && h.Troubled() {
		h.Success(r.lastNode.Replicaset, r.x.Clock.Now())
	}
	return err
}

// failed decides about an attempt that failed. nil: run it again. delivered: a row has reached the caller.
func (r *run) failed(err error, delivered bool) error {
	if err := r.weigh(err, delivered); err != nil {
		return r.fail(err)
	}
	return nil
}

// attempted is what the judge is told.
func (r *run) attempted(delivered bool) *attempt {
	a := &attempt{
		op: r.op, text: r.text, delivered: delivered, tx: r.c.Tx != nil,
		// By its key, as an INSERT of one row, as a block, which the server refuses to run over several, or because
		// it forbids the server to forward a part of it.
		oneBucket: r.plan.OneBucket() || r.text.Info.Rows == 1 || r.text.Info.Class == sqltext.Block || r.local ||
			r.x.routing.view.Load().OneBucket(&r.text.Info),
		routable: !r.plan.Routed() && (r.hint == nil || !r.hint.Placed) && r.op != opPrepare && !r.tied(),
	}
	if r.hint != nil {
		a.idempotent, a.anyTime, a.noRetry = r.hint.Idempotent, r.hint.AnyTime, r.hint.NoRetry
	}
	return a
}

// tied reports whether the operation belongs to a Tx that a connection has run statements of.
func (r *run) tied() bool { return r.c.Tx != nil && r.c.Tx.tied && !r.extra }

// weigh is failed without the count.
func (r *run) weigh(err error, delivered bool) error {
	o := r.conclude(err, delivered)
	switch {
	case o.lost:
		r.c.drop(r.extra)
		r.lease.Discard(pool.Lost)
	case r.lease.Conn().Usable() && (o.stop || r.tied()): // a Tx runs it once more on the same connection
		r.c.release(r.lease, r.extra)
	default:
		r.c.drop(r.extra)
		r.lease.Release()
	}
	if o.stop {
		return o.cause
	}
	if o.wait == 0 {
		return nil
	}
	if serr := r.x.pause(r.ctx, o.wait, o.wake); serr != nil {
		return fmt.Errorf("%w; %w", serr, o.cause)
	}
	return nil
}

// outcome is what is done about an attempt that failed.
type outcome struct {
	stop  bool            // the caller gets cause
	lost  bool            // the connection is, by its node's fault
	wait  time.Duration   // before it is run again
	wake  <-chan struct{} // closed when that is pointless, as the cluster's picture has changed
	cause error           // what the caller gets if it isn't run again after all
}

// conclude decides about an attempt that failed, and tells whoever else has to know.
func (r *run) conclude(err error, delivered bool) outcome {
	x, n := r.x, r.lease.Node()
	v := judge(err, r.attempted(delivered))
	if v.ending == early && r.begun {
		v.ending = byCtx
	}
	r.begun = r.begun || v.ending == lost || v.ending == unknown || v.ending == byServer && !v.kind.NotRun()
	cause := x.callersError(&v, r.text, n)
	if r.doubt == nil && (v.doubt || v.ending == unknown) {
		r.doubt, r.doubtErr = x.unknownOf(&v, r.text, n), cause
	}
	if v.refresh {
		if v.kind == servererr.Switchover {
			x.demote(err, n)
		}
		x.Cluster.Hint(refreshReason(v.kind))
	}
	if v.connErr {
		x.routing.health.Error(n.Replicaset, x.Clock.Now())
		x.lostTo(n)
	}
	if v.kind == servererr.Stale || v.kind == servererr.Schema {
		x.routing.outdated(r.text)
	}
	usable := r.lease.Conn().Usable()
	if r.tied() && v.action != giveUp && !usable {
		// Elsewhere it would be no part of the Tx any more.
		v.action = giveUp
		if v.ending != unknown {
			cause = fmt.Errorf("%w: %w", ErrTxLost, cause)
		}
	}
	o := outcome{lost: v.connErr, cause: cause}
	patient := r.patient(&v)
	o.stop = v.action == giveUp || v.action != revive && !patient && (r.tries >= x.Options.MaxRetries || !x.budget.mayRetry())
	if tx := r.c.Tx; tx != nil && o.stop && !r.extra {
		// What it runs next would run elsewhere; what it has here is its own.
		tx.Lost, tx.tied = !usable, true
	}
	if o.stop {
		return o
	}
	x.budget.retried(v.action, patient)
	r.logRerun(v.action, n, err)
	if v.action == revive {
		return o
	}
	if patient {
		if v.kind != servererr.Switchover {
			r.avoid[r.refusals%len(r.avoid)] = n.ID
		}
		last, since := settleBackoffMax, x.Clock.Now().Sub(r.refusedAt)
		if since > settleSoon {
			last = retryBackoffMax
		}
		o.wait, o.wake = min(backoff(r.refusals, retryBackoff, last), x.Options.SwitchoverTimeout-since), x.changed.wait()
		r.refusals++
		return o
	}
	r.tries++
	if v.action == reroute {
		return o
	}
	if v.kind != servererr.Switchover {
		r.avoid[(r.tries-1)%len(r.avoid)] = n.ID // of those that refuse writes, roles knows more
	}
	wait := r.tries - 1
	if v.connErr {
		if wait == 0 {
			return o // another node is as good now as later
		}
		wait-- // but not if it fails too
	}
	o.wait = backoff(wait, retryBackoff, retryBackoffMax)
	return o
}

// patient reports whether the operation is one that is tried again until the cluster has settled: it is proved not to
// have run, and what refused it passes.
func (r *run) patient(v *verdict) bool {
	limit := r.x.Options.SwitchoverTimeout
	if v.action != retry || v.ending != byServer || !v.kind.Passes() || limit <= 0 || r.x.Options.MaxRetries == 0 {
		return false
	}
	now := r.x.Clock.Now()
	if r.refusals == 0 {
		r.refusedAt = now
	}
	return now.Sub(r.refusedAt) < limit
}

// logRerun says that a statement is run again, which its caller doesn't see. Of the text only the fingerprint
// shows: its literals are the user's.
func (r *run) logRerun(a action, n *pool.NodeInfo, err error) {
	if !r.x.Logger.Enabled(r.ctx, slog.LevelDebug) {
		return
	}
	r.x.Logger.LogAttrs(r.ctx, slog.LevelDebug, "picodata: statement is run again",
		slog.String("node", n.Name), slog.String("address", n.Address), slog.String("operation", operationNames[r.op]),
		slog.String("statement", r.text.Fingerprint()), slog.String("reason", actionNames[a]), slog.Int("attempt", r.attempts), slog.Any("error", err))
}

// refreshReason is why a server's refusal has the topology read again.
func refreshReason(kind servererr.Kind) schema.Reason {
	switch kind {
	case servererr.Switchover:
		return schema.HintSwitchover
	case servererr.Route:
		return schema.HintBuckets
	}
	return schema.HintConnectionLost
}

// The pauses before an attempt double from the first to the last value, each ± a quarter. A switchover takes
// 20 to 150 ms on a real cluster.
const (
	retryBackoff    = 30 * time.Millisecond
	retryBackoffMax = time.Second
	dialBackoff     = 50 * time.Millisecond
	dialBackoffMax  = time.Second
)

// While the cluster changes a statement is tried again at settleBackoffMax at most, for settleSoon; a state that lasts
// longer is met with the pauses of everything else.
const (
	settleBackoffMax = 120 * time.Millisecond
	settleSoon       = 3 * time.Second
)

func backoff(n int, first, last time.Duration) time.Duration {
	d := min(first<<min(n, 10), last)
	return d*3/4 + rand.N(d/2)
}
