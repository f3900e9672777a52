package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/options"
)

// acquire gets a connection: the checkout's, or one of the node that the plan says.
func (r *run) acquire() error {
	l, ok, busy := r.c.pinned()
	if ok {
		if w := l.Conn(); w.Usable() && (!r.risky() || w.Alive()) {
			r.lease, r.extra = l, false
			if r.hint != nil && r.hint.Placed {
				return r.checkPin()
			}
			return nil
		}
		// The statement before was given up, its connection with it; or the connection has died since.
		r.c.drop(false)
		l.Release()
	}
	if tx := r.c.Tx; tx != nil && tx.tied && !busy {
		tx.Lost = true
		return ErrTxLost
	}
	for {
		req, err := r.request()
		if err != nil {
			return err
		}
		if l, err = r.leaseFor(req); err != nil {
			return err
		}
		if !r.x.dead.hurt.Load() || !r.overtaken() {
			break
		}
		l.Release()
	}
	r.x.routing.tally(&r.plan, l.Node())
	r.lease, r.extra = l, busy
	if !busy {
		r.c.pin(l)
	}
	return nil
}

// overtaken reports whether a leader has been found dead since the operation was planned, by the very dial perhaps that was
// refused before another node was taken. There it would hang: it is planned anew.
func (r *run) overtaken() bool {
	why, _ := r.heldUp()
	return why != nil
}

// risky reports whether the operation must not be handed to a connection whose peer is gone: its
// outcome would be unknown. A look costs a system call.
func (r *run) risky() bool { return (r.op == opQuery || r.op == opExec) && r.text.Writes }

// request says which connections may run it, once the cluster is known.
func (r *run) request() (req pool.Request, err error) {
	if !r.x.started.Load() {
		began := r.x.Clock.Now()
		err := r.x.Cluster.Start(r.ctx)
		r.waited += r.x.Clock.Now().Sub(began)
		if err != nil {
			return req, r.x.waitFailed(err)
		}
	}
	if err := r.decide(); err != nil {
		return req, err
	}
	if r.x.dead.hurt.Load() {
		if err := r.awaitLeader(); err != nil {
			return req, err
		}
	}
	r.planned = true
	if r.x.Tracer != nil {
		r.x.Tracer.Routed(r.ctx, &r.plan)
	}
	if r.plan.Kind != route.Balance {
		req = r.x.routing.request(&r.plan)
	}
	req.Avoid = r.avoid
	if r.risky() {
		req.Avoid, req.Look = r.x.roles.avoid(r.avoid), true
	}
	req.Avoid = r.x.avoidDead(req.Avoid)
	return req, nil
}

// checkPin refuses a hint that the checkout's node doesn't meet. What the key alone would say doesn't
// move a checkout.
func (r *run) checkPin() error {
	p := r.x.routing.plan(r.text, r.args, r.hint)
	n := r.lease.Node()
	req := r.x.routing.request(&p)
	if p.Kind == route.Filter && p.Strict && !req.Matches(n) {
		r.c.release(r.lease, false)
		return fmt.Errorf("picodata: the hint asks for another node than %s, which this checkout (sql.Conn or Tx) is tied to since its first statement", n)
	}
	return nil
}

// decide plans the statement; where nothing may run before its key is known, it asks for the key first.
func (r *run) decide() error {
	if (r.op == opPing || r.op == opPrepare) && (r.hint == nil || !r.hint.Placed) {
		r.plan = route.Plan{}
		return nil
	}
	for {
		r.plan = r.x.routing.plan(r.text, r.args, r.hint)
		switch r.plan.Kind {
		case route.Balance, route.Leader, route.Filter:
		case route.Invalid:
			return r.x.Faults.Plan(r.plan.Err)
		case route.NoShard:
			r.x.routing.counter(string(r.plan.Reason)).Add(1)
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
		if _, err = wireOf(l.Conn()).Describe(r.ctx, r.text.SQL); err == nil {
			l.Release()
			r.x.routing.asked(r.text)
			return nil
		}
		// It may be asked again as often as any other operation that changes nothing.
		ask := run{c: r.c, x: r.x, op: opPrepare, ctx: r.ctx, hint: r.hint, text: r.text, lease: l, extra: true, avoid: r.avoid, tries: r.tries}
		if err := ask.weigh(err, false); err != nil {
			return err
		}
		r.avoid, r.tries = ask.avoid, ask.tries
	}
}

// leaseFor waits for a connection. While no node can be connected to it tries on: max_retries times, or as long as
// the caller's deadline says if some node was reached before. acquire_timeout bounds all of the statement's waits
// together.
func (r *run) leaseFor(req pool.Request) (pool.Lease, error) {
	x := r.x
	lease := x.Pool.Lease
	if x.Tracer != nil {
		lease = r.tracedLease
	}
	var dials *pool.DialError
	began := x.Clock.Now()
	for n := 0; ; n++ {
		if x.Options.AcquireTimeout > 0 && r.waited > 0 {
			req.Timeout = max(x.Options.AcquireTimeout-r.waited, 1)
		}
		l, err := lease(r.ctx, req)

		if err == nil {
			if !x.reached.Load() {
				x.reached.Store(true)
			}
			return l, nil
		}
		now := x.Clock.Now()
		r.waited, began = r.waited+now.Sub(began), now
		if !errors.As(err, &dials) {
			if e := (*pool.AcquireTimeoutError)(nil); errors.As(err, &e) {
				x.routing.checkoutFailed(r.plan.ReplicasetUUID)
				e.Waited = x.Options.AcquireTimeout
				if e.Dial == nil {
					e.Dial = dials
				}
			}
			return pool.Lease{}, x.waitFailed(err)
		}
		x.routing.dialFailed(dials)
		x.Cluster.Hint(schema.HintConnectionLost)
		_, timed := r.ctx.Deadline()
		timed = timed && x.reached.Load()
		pause := backoff(n, dialBackoff, dialBackoffMax)
		spent := x.Options.AcquireTimeout > 0 && r.waited+pause >= x.Options.AcquireTimeout
		if spent || !timed && (n >= x.Options.MaxRetries || r.waited > dialsWithin) {
			return pool.Lease{}, x.Faults.Pool(err)
		}
		x.Logger.LogAttrs(x.done, slog.LevelDebug, "picodata: no node can be connected to, trying on", slog.Int("attempt", n+1), slog.Any("error", err))
		if werr := x.sleep(r.ctx, pause); werr != nil {
			return pool.Lease{}, fmt.Errorf("%w; %w", werr, x.Faults.Pool(err))
		}
		now = x.Clock.Now()
		r.waited, began = r.waited+now.Sub(began), now
	}
}

// dialsWithin is when the tries end of a caller who hasn't said how long to wait.
const dialsWithin = time.Second

// tracedLease is Pool.Lease with the tracer told.
func (r *run) tracedLease(ctx context.Context, req pool.Request) (pool.Lease, error) {
	x := r.x
	ctx, end := x.Tracer.Lease(ctx, r.plan.Counter())
	l, err := x.Pool.Lease(ctx, req)
	if end != nil {
		end(l.Node(), x.Faults.Pool(err))
	}
	return l, err
}

// waitFailed finds the words for a wait that ended without a connection.
func (x *Executor) waitFailed(err error) error {
	var nn *pool.NoNodeError
	if errors.As(err, &nn) {
		x.Cluster.Hint(schema.HintNoNode)
		t := x.Cluster.Topology()
		if grants := t.MissingGrants(x.Options.User); len(grants) > 0 && !t.RolesKnown && (nn.Roleless > 0 || x.Options.InstanceRole != options.RoleAny) {
			return x.Faults.RolesUnknown(grants, x.Faults.Pool(err))
		}
	}
	return x.Faults.Pool(err)
}
