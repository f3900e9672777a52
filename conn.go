package picodata

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/hazard"
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
	c        *Connector
	checkout *exec.Checkout
	owns     bool // made by Driver.Open: the connector is the session's alone
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
func (s *session) Node() Node { return nodeOf(s.checkout.Node()) }

// Connector implements Conn.
func (s *session) Connector() *Connector { return s.c }

// QueryContext runs a statement and gives its rows.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.checkout.Query(ctx, query, args)
	if err != nil {
		return nil, err // not rows, which would be an interface that holds a nil
	}
	return rows, nil
}

// ExecContext runs a statement and gives the number of rows that it touched.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if s.c.cfg.SplitInserts {
		if n, split, err := s.splitInsert(ctx, query, args); split {
			return result{n}, err
		}
	}
	n, err := s.checkout.Exec(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return result{n}, nil
}

// ErrLastInsertID is what LastInsertId gives: Picodata has no sequences.
var ErrLastInsertID = errors.New("picodata: LastInsertId isn't supported: Picodata has no sequences; make the key in the client (a UUID, for instance)")

// result is what an Exec gives.
type result struct{ affected int64 }

// LastInsertId is refused.
func (result) LastInsertId() (int64, error) { return 0, ErrLastInsertID }

// RowsAffected is the number of rows that the statement touched.
func (r result) RowsAffected() (int64, error) { return r.affected, nil }

// Ping makes one flight to a node, chosen as for a statement without a shard.
func (s *session) Ping(ctx context.Context) error { return s.checkout.Ping(ctx) }

// Prepare is PrepareContext without a deadline.
func (s *session) Prepare(query string) (driver.Stmt, error) {
	return s.PrepareContext(context.Background(), query)
}

// PrepareContext makes a statement. Under prepare=lazy nothing goes over the wire; under eager
// a node parses it now.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	t := s.checkout.Text(query)
	if s.c.cfg.Prepare == options.PrepareEager {
		if err := s.checkout.Prepare(ctx, t); err != nil {
			return nil, err
		}
	}
	return &stmt{s: s, text: t}, nil
}

// CheckNamedValue makes an argument fit to be sent.
func (s *session) CheckNamedValue(nv *driver.NamedValue) error { return s.c.checkArgument(nv) }

// checkArgument makes an argument fit to be sent, or refuses it.
func (c *Connector) checkArgument(nv *driver.NamedValue) error {
	if nv.Name != "" {
		return errNamed
	}
	if err := wire.CheckNamedValue(nv); err != nil {
		return err
	}
	switch nv.Value.(type) {
	case float64, string: // no other value is anybody's danger
		guards := hazard.Guards{Floats: c.cfg.FloatGuard, UUIDs: c.cfg.UUIDGuard}
		if err := guards.Value(nv.Ordinal, nv.Value); err != nil {
			return faults{}.Hazard(err)
		}
	}
	return nil
}

var errNamed = errors.New("picodata: named arguments (sql.Named) aren't supported: Picodata knows $1, $2… and ? only")

// IsValid is called by database/sql when a checkout is over: the lease ends. The session itself
// is always good.
func (s *session) IsValid() bool {
	s.checkout.End()
	return true
}

// ResetSession is called before the next checkout. If the last one's lease is still there, nobody called
// IsValid: some wrapper hides it.
func (s *session) ResetSession(context.Context) error {
	s.checkout.Reset()
	return nil
}

// Close ends the session. It does no I/O.
func (s *session) Close() error {
	s.checkout.Forget()
	if s.owns {
		return s.c.Close()
	}
	return nil
}

// GuardError refuses what a Picodata server would take and spoil: a number that it would store as another one, a UUID that it
// can't read again, a text that keeps the cluster busy. Nothing of the statement was sent. docs/failure.md lists what is refused.
type GuardError struct {
	Hazard  string // float, uuid or text
	Ordinal int    // of the argument, from 1; 0: the text
	Why     string // what the server would do; it shows no value
	Setting string // the DSN key and value that send it all the same
}

// Error says what would happen and what to do.
func (e *GuardError) Error() string {
	what := "the statement"
	if e.Ordinal > 0 {
		what = fmt.Sprintf("argument $%d", e.Ordinal)
	}
	return fmt.Sprintf("picodata: %s isn't sent: %s (%s switches this check off)", what, e.Why, e.Setting)
}
