package picodata

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

type operation uint8

const (
	opQuery operation = iota
	opExec
	opPing
	opPrepare
)

// run is one operation on its way: planned, leased, handed to the wire, judged, and run again where
// that is safe.
type run struct {
	s    *session
	op   operation
	ctx  context.Context
	text *text
	args []driver.NamedValue

	lease    pool.Lease
	extra    bool // lease is for this operation only, not the checkout's
	plan     route.Plan
	avoid    [4]string
	tries    int                  // attempts that failed
	doubt    *OutcomeUnknownError // the first attempt that may have taken effect
	flight   *flight
	learned  bool
	answer   *wire.Rows
	affected int64
	offered  bool               // to the mirror
	shadow   *mirror.Comparison // nil: not compared with the mirror

	// For tracers.
	attempts int
	lastNode Node
	planned  bool
}

// perform is do for an operation that is over with its answer.
func (r *run) perform() error {
	sp, ctx := r.startSpan()
	r.ctx = ctx
	err := r.do()
	if err == nil {
		r.s.release(r.lease, r.extra)
	}
	r.compare(err)
	r.endSpan(sp, r.affected, err)
	return err
}

// do runs the operation until it succeeds or the table "Failure" of the design says stop. On success
// the lease is held.
func (r *run) do() error {
	if err := r.s.tx.admit(r.text); err != nil {
		return err
	}
	h := hintOf(r.ctx)
	for {
		if err := r.acquire(h); err != nil {
			return r.over(err)
		}
		err := r.once(h)
		if err == nil {
			if r.op != opQuery {
				r.s.c.count.succeeded()
			}
			if len(r.args) > 0 {
				r.s.c.routing.asked(r.text)
			}
			if r.text.info.Class == sqltext.DDL && r.op.executes() {
				r.s.c.watcher.Hint(schema.HintTables)
			}
			return nil
		}
		if err = r.failed(err, h, false); err != nil {
			return err
		}
	}
}

// over counts an operation that failed for good and finds the caller's error.
func (r *run) over(err error) error {
	err = inDoubt(r.doubt, err)
	r.s.c.count.failed(err)
	return err
}

// once hands the operation to the wire.
func (r *run) once(h *hint) (err error) {
	w := wireOf(r.lease.Conn())
	if r.s.c.mirror != nil {
		r.offer()
	}
	r.attempts++
	if r.s.c.trace.statement != nil {
		r.lastNode = nodeOf(r.lease.Node())
	}
	if len(r.args) > 0 && r.s.c.routing.wants(r.text) {
		w.ParseAnew(r.text.sql)
	}
	switch r.op {
	case opQuery:
		r.depart(w, h)
		if r.answer, err = w.Query(r.ctx, r.text.sql, r.args); err != nil {
			r.arrive()
		}
	case opExec:
		r.depart(w, h)
		defer r.arrive()
		var res driver.Result
		if res, err = w.Exec(r.ctx, r.text.sql, r.args); err == nil {
			r.affected, _ = res.RowsAffected() // the wire's results always know
		}
	case opPing:
		err = w.Ping(r.ctx)
	case opPrepare:
		err = w.Prepare(r.ctx, r.text.sql)
	}
	return err
}

// depart notes that a server is about to be asked; for a query until its first row, or its end, is there.
func (r *run) depart(w *wire.Conn, h *hint) {
	rerun, tier := r.text.info.PlainRead, ""
	if h != nil {
		rerun = (rerun || h.idempotent) && !h.noRetry
	}
	if r.plan.OneBucket() {
		tier = r.plan.Tier
	}
	r.flight = r.s.depart(w, tier, rerun)
}

// arrive ends what depart began.
func (r *run) arrive() {
	if r.flight != nil {
		r.s.arrive(r.flight)
		r.flight = nil
	}
}

// acquire gets a connection: the checkout's, or one of the node that the plan says.
func (r *run) acquire(h *hint) error {
	l, ok, busy := r.s.pinned()
	if ok {
		if w := l.Conn(); w.Usable() && (!r.risky() || w.Alive()) {
			r.lease, r.extra = l, false
			return r.checkPin(h)
		}
		// The statement before was given up, its connection with it; or the connection has died since.
		r.s.drop(false)
		l.Release()
	}
	if err := r.s.c.start(r.ctx); err != nil {
		return r.s.c.waitFailed(r.ctx, err)
	}
	if err := r.decide(h); err != nil {
		return err
	}
	r.planned = true
	r.tracedRoute()
	l, err := r.leaseFor(r.request())
	if err != nil {
		return err
	}
	r.s.c.routing.tally(&r.plan, l.Node())
	r.lease, r.extra = l, busy
	if !busy {
		r.s.pin(l)
	}
	return nil
}

// risky reports whether the operation must not be handed to a connection whose peer is gone: its
// outcome would be unknown. A look costs a system call.
func (r *run) risky() bool { return r.op.executes() && r.text.writes() }

func (r *run) request() pool.Request {
	req := r.s.c.routing.request(&r.plan)
	req.Avoid = r.avoid
	if r.risky() {
		req.Avoid, req.Look = r.s.c.roles.avoid(r.avoid), true
	}
	return req
}

// checkPin refuses a hint that the checkout's node doesn't meet. What the key alone would say doesn't
// move a checkout.
func (r *run) checkPin(h *hint) error {
	if h == nil || !h.placed {
		return nil
	}
	p := r.s.c.routing.plan(r.text, r.args, h)
	n := r.lease.Node()
	if p.Kind == route.Filter && p.Strict && !met(&p, n) {
		r.s.release(r.lease, false)
		return fmt.Errorf("picodata: the hint asks for another node than %s, which this checkout (sql.Conn or Tx) is tied to since its first statement", nodeOf(n))
	}
	return nil
}

// decide plans the statement; where nothing may run before its key is known, it asks for the key first.
func (r *run) decide(h *hint) error {
	if r.op == opPing || r.op == opPrepare {
		if h == nil || !h.placed {
			r.plan = route.Plan{}
			return nil
		}
	}
	for {
		r.plan = r.s.c.routing.plan(r.text, r.args, h)
		switch r.plan.Kind {
		case route.Invalid:
			return r.plan.Err
		case route.NoShard:
			r.s.c.routing.counter(string(r.plan.Reason)).Add(1)
			return fmt.Errorf("%w (%s)", ErrNoShard, r.plan.Detail)
		case route.Learn:
			if r.learned {
				return ErrNoShard
			}
			r.learned = true
			if err := r.learn(); err != nil {
				return err
			}
			continue
		}
		return nil
	}
}

// learn has a node parse the text, so that its notice tells the key, and runs nothing.
func (r *run) learn() error {
	for {
		l, err := r.leaseFor(pool.Request{Avoid: r.avoid})
		if err != nil {
			return err
		}
		if _, err = wireOf(l.Conn()).Describe(r.ctx, r.text.sql); err == nil {
			l.Release()
			r.s.c.routing.asked(r.text)
			return nil
		}
		// It may be asked again as often as any other operation that changes nothing.
		ask := run{s: r.s, op: opPrepare, ctx: r.ctx, text: r.text, lease: l, extra: true, avoid: r.avoid, tries: r.tries}
		if err := ask.weigh(err, hintOf(r.ctx), false); err != nil {
			return err
		}
		r.avoid, r.tries = ask.avoid, ask.tries
	}
}

// leaseFor waits for a connection. While no node can be connected to it tries on, as long as the caller has
// given time: with a deadline until that, else max_retries times.
func (r *run) leaseFor(req pool.Request) (pool.Lease, error) {
	c := r.s.c
	for n := 0; ; n++ {
		l, err := c.tracedLease(r.ctx, req, r.plan.Counter)
		if err == nil {
			return l, nil
		}
		var de *pool.DialError
		if !errors.As(err, &de) {
			if e := (*pool.AcquireTimeoutError)(nil); errors.As(err, &e) {
				c.routing.checkoutFailed(r.plan.ReplicasetUUID)
			}
			return pool.Lease{}, c.waitFailed(r.ctx, err)
		}
		c.routing.dialFailed(de)
		c.watcher.Hint(schema.HintConnectionLost)
		_, timed := r.ctx.Deadline()
		if !timed && n >= c.cfg.MaxRetries {
			return pool.Lease{}, err
		}
		c.logNoConnection(n, err)
		if werr := c.sleep(r.ctx, backoff(n, dialBackoff, dialBackoffMax)); werr != nil {
			return pool.Lease{}, fmt.Errorf("%w; %w", werr, err)
		}
	}
}

// waitFailed finds the words for a wait that ended without a connection.
func (c *Connector) waitFailed(ctx context.Context, err error) error {
	if errors.Is(err, pool.ErrClosed) {
		return ErrClosed
	}
	var nn *pool.NoNodeError
	if errors.As(err, &nn) {
		c.watcher.Hint(schema.HintNoNode)
		t := c.Topology()
		if grants := t.MissingGrants(c.cfg.User); len(grants) > 0 && !t.RolesKnown && (nn.Roleless > 0 || c.cfg.InstanceRole != options.RoleAny) {
			return &RoleUnknownError{Grants: grants, cause: nn}
		}
	}
	return err
}

// failed decides about an attempt that failed. nil: run it again. delivered: a row has reached the caller.
func (r *run) failed(err error, h *hint, delivered bool) error {
	if err := r.weigh(err, h, delivered); err != nil {
		return r.over(err)
	}
	return nil
}

// oneBucket reports whether the statement is known to touch one bucket at most: by its key, as an INSERT of
// one row, or as a block, which the server refuses to run over several.
func (r *run) oneBucket() bool {
	return r.plan.OneBucket() || r.text.info.Rows == 1 || r.text.info.Class == sqltext.Block
}

// weigh is failed without the count.
func (r *run) weigh(err error, h *hint, delivered bool) error {
	c := r.s.c
	n := r.lease.Node()
	a := attempt{
		op: r.op, node: nodeOf(n), text: r.text, delivered: delivered, tx: r.s.tx != nil,
		oneBucket: r.oneBucket(),
		routable:  !r.plan.Routed() && (h == nil || !h.placed) && r.op != opPrepare,
	}
	if h != nil {
		a.idempotent, a.noRetry = h.idempotent, h.noRetry
	}
	v := judge(err, &a)
	if r.doubt == nil {
		r.doubt = v.doubt
	}
	kind := kindOf(err)
	if v.refresh {
		if kind == KindSwitchover {
			c.demote(asServerError(err), n)
		}
		c.watcher.Hint(hintReason(err))
	}
	if v.connErr {
		c.routing.health.Error(n.Replicaset, c.clock.Now())
	}
	if kind == KindStale || kind == KindSchema {
		c.routing.outdated(r.text)
	}
	w := r.lease.Conn()
	stop := v.action == giveUp || v.action != revive && (r.tries >= c.cfg.MaxRetries || !c.count.mayRetry())
	switch {
	case v.connErr:
		r.s.drop(r.extra)
		r.lease.Discard(pool.Lost)
	case stop && w.Usable():
		r.s.release(r.lease, r.extra)
	default:
		r.s.drop(r.extra)
		r.lease.Release()
	}
	if stop {
		return v.err
	}
	c.count.retried(v.action)
	r.logAgain(v.action, n, err)
	if v.action == revive {
		return nil
	}
	r.tries++
	if v.action == reroute {
		return nil
	}
	if kind != KindSwitchover {
		r.avoid[(r.tries-1)%len(r.avoid)] = n.ID // of those that refuse writes, roles knows more
	}
	wait := r.tries - 1
	if v.connErr {
		if wait == 0 {
			return nil // another node is as good now as later
		}
		wait-- // but not if it fails too
	}
	if serr := c.sleep(r.ctx, backoff(wait, retryBackoff, retryBackoffMax)); serr != nil {
		return fmt.Errorf("%w; %w", serr, v.err)
	}
	return nil
}

func hintReason(err error) schema.Reason {
	switch kindOf(err) {
	case KindSwitchover:
		return schema.HintSwitchover
	case KindRoute:
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

func backoff(n int, first, last time.Duration) time.Duration {
	d := min(first<<min(n, 10), last)
	return d*3/4 + rand.N(d/2)
}
