package exec

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/picodata/go-picodata/internal/pool"
)

// Checkout is the state of one session. The first operation of a checkout leases a physical
// connection, later ones use the same, and End gives it back.
type Checkout struct {
	x *Executor
	// Tx is the transaction that the checkout belongs to; nil: none. It is the session's own goroutine's.
	Tx *Tx
	// exec is the Exec under way, again and again: a run is large. Rows outlive their call and have runs of their own.
	exec run

	// mu guards what follows against goEager and wake, which come from other goroutines. Nothing slow
	// happens under it.
	mu    sync.Mutex
	lease pool.Lease
	busy  int // operations and open rows on lease
	// flight is what a server has been asked and hasn't answered yet, see stuck.
	flight flight
}

// Tx is what transactions=autocommit makes of a transaction: a checkout whose statements take effect
// one by one on one connection.
type Tx struct {
	ReadOnly bool
	Wrote    bool // a statement that may write was handed to a server
	Lost     bool // the connection that it was tied to is gone
	tied     bool // a statement was answered: the connection is its own from here on
}

// ErrTxLost is what statements of a Tx give whose connection is gone, and its Commit.
var ErrTxLost = errors.New("picodata: the connection that the transaction was tied to is lost: what its statements did before stays done, and no further one runs")

// admit refuses what a Tx can't run and remembers that it wrote.
func (t *Tx) admit(x *Text) error {
	if t.Lost {
		return ErrTxLost
	}
	if !x.Writes {
		return nil
	}
	if t.ReadOnly {
		return fmt.Errorf("picodata: a read-only transaction refuses the statement: %s isn't recognised as a read", x.Info.Class)
	}
	t.Wrote = true
	return nil
}

// NewCheckout makes one. Forget it when the session is closed.
func (x *Executor) NewCheckout() *Checkout {
	c := &Checkout{x: x}
	x.mu.Lock()
	x.checkouts[c] = struct{}{}
	x.mu.Unlock()
	return c
}

// Forget ends the checkout for good.
func (c *Checkout) Forget() {
	c.End()
	c.x.mu.Lock()
	delete(c.x.checkouts, c)
	c.x.mu.Unlock()
}

// Node is the node that the checkout is tied to; nil before its first statement.
func (c *Checkout) Node() *pool.NodeInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lease.Valid() {
		return nil
	}
	return c.lease.Node()
}

// Text is what is known of an SQL text.
func (c *Checkout) Text(query string) *Text { return c.x.texts.get(query) }

// Query runs a statement and gives its rows.
func (c *Checkout) Query(ctx context.Context, query string, args []driver.NamedValue) (*Rows, error) {
	r := &Rows{run: run{c: c, x: c.x, op: opQuery, ctx: ctx, hint: HintOf(ctx), args: args, text: c.x.texts.get(query)}}
	if c.x.Tracer != nil {
		r.trace()
	}
	if err := r.do(); err != nil {
		r.gone(err)
		return nil, err
	}
	r.columns = len(r.answer.Columns())
	return r, nil
}

// Exec runs a statement and gives the number of rows that it touched.
func (c *Checkout) Exec(ctx context.Context, query string, args []driver.NamedValue) (int64, error) {
	r := &c.exec
	*r = run{c: c, x: c.x, op: opExec, ctx: ctx, hint: HintOf(ctx), args: args, text: c.x.texts.get(query)}
	err := r.perform()
	n := r.affected
	*r = run{} // what the caller passed isn't kept
	return n, err
}

// Ping makes one flight to a node, chosen as for a statement without a shard.
func (c *Checkout) Ping(ctx context.Context) error {
	r := run{c: c, x: c.x, op: opPing, ctx: ctx, hint: HintOf(ctx), text: c.x.texts.get("")}
	return r.perform()
}

// Prepare has a node parse a text.
func (c *Checkout) Prepare(ctx context.Context, t *Text) error {
	r := run{c: c, x: c.x, op: opPrepare, ctx: ctx, hint: HintOf(ctx), text: t}
	return r.perform()
}

// End gives the lease back. The next operation leases anew.
func (c *Checkout) End() {
	c.mu.Lock()
	l := c.lease
	c.lease = pool.Lease{}
	c.busy = 0
	c.mu.Unlock()
	l.Release()
}

// Reset ends the checkout that nobody ended: if its lease is still there, some wrapper hides
// driver.Validator.
func (c *Checkout) Reset() {
	c.mu.Lock()
	held := c.lease.Valid()
	c.mu.Unlock()
	if held {
		c.x.goEager()
		c.End()
	}
}

// releaseIfIdle gives the lease back unless an operation, open rows or a Tx need it.
func (c *Checkout) releaseIfIdle() {
	c.mu.Lock()
	var l pool.Lease
	if c.busy == 0 && c.Tx == nil {
		l, c.lease = c.lease, pool.Lease{}
	}
	c.mu.Unlock()
	l.Release()
}

// pinned returns the checkout's lease if there is one and it is free and usable. While rows are open on it,
// an operation gets a connection of its own: Picodata keeps no session state that would tie them together.
func (c *Checkout) pinned() (l pool.Lease, ok, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.lease.Valid():
		return pool.Lease{}, false, false
	case c.busy > 0:
		return pool.Lease{}, false, true
	}
	c.busy = 1
	return c.lease, true, false
}

// pin makes a new lease the checkout's own.
func (c *Checkout) pin(l pool.Lease) {
	c.mu.Lock()
	c.lease, c.busy = l, 1
	c.mu.Unlock()
}

// release ends an operation that went well, or whose connection is as good as before.
func (c *Checkout) release(l pool.Lease, extra bool) {
	if extra {
		l.Release()
		return
	}
	c.mu.Lock()
	c.busy = 0
	if c.x.eager.Load() && c.Tx == nil {
		c.lease = pool.Lease{}
		c.mu.Unlock()
		l.Release()
		return
	}
	c.mu.Unlock()
}

// drop takes a lease from the checkout, to be released or discarded by the caller.
func (c *Checkout) drop(extra bool) {
	if extra {
		return
	}
	c.mu.Lock()
	c.lease, c.busy = pool.Lease{}, 0
	c.mu.Unlock()
}
