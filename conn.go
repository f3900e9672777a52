package picodata

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

// Conn is what (*sql.Conn).Raw hands to its function.
//
//	conn.Raw(func(dc any) error {
//		fmt.Println(dc.(picodata.Conn).Node())
//		return nil
//	})
type Conn interface {
	driver.Conn
	// Node is the node that the checkout is tied to. It is zero before the checkout's first statement.
	Node() Node
	// Connector is the cluster client that the session belongs to.
	Connector() *Connector
}

// session is a driver.Conn that owns no socket. The first operation of a checkout leases a physical
// connection, later ones use the same, and IsValid, which database/sql calls when a checkout
// ends, gives it back.
type session struct {
	c    *Connector
	owns bool // made by Driver.Open: the connector is the session's alone
	tx   *tx

	// mu guards what follows against goEager, which may come from another session. Nothing slow
	// happens under it.
	mu    sync.Mutex
	lease pool.Lease
	busy  int // operations and open rows on lease
	// flight is what a server has been asked and hasn't answered yet, see stuck.
	flight flight
}

var (
	_ Conn                      = (*session)(nil)
	_ driver.ConnBeginTx        = (*session)(nil)
	_ driver.ConnPrepareContext = (*session)(nil)
	_ driver.ExecerContext      = (*session)(nil)
	_ driver.NamedValueChecker  = (*session)(nil)
	_ driver.Pinger             = (*session)(nil)
	_ driver.QueryerContext     = (*session)(nil)
	_ driver.SessionResetter    = (*session)(nil)
	_ driver.Validator          = (*session)(nil)
)

// Node implements Conn.
func (s *session) Node() Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lease.Valid() {
		return Node{}
	}
	return nodeOf(s.lease.Node())
}

// Connector implements Conn.
func (s *session) Connector() *Connector { return s.c }

// QueryContext runs a statement and gives its rows.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r := &rows{run: run{s: s, op: opQuery, ctx: ctx, args: args, text: s.c.texts.get(query)}}
	r.span, r.ctx = r.startSpan()
	if err := r.start(); err != nil {
		r.compare(err)
		r.endSpan(r.span, 0, err)
		return nil, err
	}
	return r, nil
}

// ExecContext runs a statement and gives the number of rows that it touched.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r := run{s: s, op: opExec, ctx: ctx, args: args, text: s.c.texts.get(query)}
	if err := r.perform(); err != nil {
		return nil, err
	}
	return result{r.affected}, nil
}

// Ping makes one flight to a node, chosen as for a statement without a shard.
func (s *session) Ping(ctx context.Context) error {
	r := run{s: s, op: opPing, ctx: ctx, text: s.c.texts.get("")}
	return r.perform()
}

// Prepare is PrepareContext without a deadline.
func (s *session) Prepare(query string) (driver.Stmt, error) {
	return s.PrepareContext(context.Background(), query)
}

// PrepareContext makes a statement. Under prepare=lazy nothing goes over the wire; under eager
// a node parses it now.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	t := s.c.texts.get(query)
	if s.c.cfg.Prepare == options.PrepareEager {
		r := run{s: s, op: opPrepare, ctx: ctx, text: t}
		if err := r.perform(); err != nil {
			return nil, err
		}
	}
	return &stmt{s: s, text: t}, nil
}

// CheckNamedValue makes an argument fit to be sent.
func (s *session) CheckNamedValue(nv *driver.NamedValue) error {
	if nv.Name != "" {
		return errNamed
	}
	return wire.CheckNamedValue(nv)
}

var errNamed = errors.New("picodata: named arguments (sql.Named) aren't supported: Picodata knows $1, $2… and ? only")

// IsValid is called by database/sql when a checkout is over: the lease ends. The session itself
// is always good.
func (s *session) IsValid() bool {
	s.end()
	return true
}

// ResetSession is called before the next checkout. If the last one's lease is still there, nobody called
// IsValid: some wrapper hides it.
func (s *session) ResetSession(context.Context) error {
	s.mu.Lock()
	held := s.lease.Valid()
	s.mu.Unlock()
	if held {
		s.c.goEager()
		s.end()
	}
	return nil
}

// Close ends the session. It does no I/O.
func (s *session) Close() error {
	s.end()
	s.c.forget(s)
	if s.owns {
		return s.c.Close()
	}
	return nil
}

// end gives the checkout's lease back.
func (s *session) end() {
	s.mu.Lock()
	l := s.lease
	s.lease = pool.Lease{}
	s.busy = 0
	s.mu.Unlock()
	l.Release()
}

// releaseIfIdle gives the lease back unless an operation, open rows or a Tx need it.
func (s *session) releaseIfIdle() {
	s.mu.Lock()
	var l pool.Lease
	if s.busy == 0 && s.tx == nil {
		l, s.lease = s.lease, pool.Lease{}
	}
	s.mu.Unlock()
	l.Release()
}

// pinned returns the checkout's lease if there is one and it is free and usable. While rows are open on it,
// an operation gets a connection of its own: Picodata keeps no session state that would tie them together.
func (s *session) pinned() (l pool.Lease, ok, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.lease.Valid():
		return pool.Lease{}, false, false
	case s.busy > 0:
		return pool.Lease{}, false, true
	}
	s.busy = 1
	return s.lease, true, false
}

// pin makes a new lease the checkout's own.
func (s *session) pin(l pool.Lease) {
	s.mu.Lock()
	s.lease, s.busy = l, 1
	s.mu.Unlock()
}

// release ends an operation that went well, or whose connection is as good as before.
func (s *session) release(l pool.Lease, extra bool) {
	if extra {
		l.Release()
		return
	}
	s.mu.Lock()
	s.busy = 0
	if s.c.eager.Load() && s.tx == nil {
		s.lease = pool.Lease{}
		s.mu.Unlock()
		l.Release()
		return
	}
	s.mu.Unlock()
}

// drop takes a lease from the checkout, to be released or discarded by the caller.
func (s *session) drop(extra bool) {
	if extra {
		return
	}
	s.mu.Lock()
	s.lease, s.busy = pool.Lease{}, 0
	s.mu.Unlock()
}

func nodeOf(n *pool.NodeInfo) Node {
	if n == nil {
		return Node{}
	}
	if n.Name == n.Address {
		return Node{Address: n.Address} // a node of the DSN that nobody has identified
	}
	return Node{Name: n.Name, Address: n.Address}
}
