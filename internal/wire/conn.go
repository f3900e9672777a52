package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// pqConn is what the driver uses of lib/pq's connection.
type pqConn interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnPrepareContext
}

// pqStmt is what the driver uses of lib/pq's statement.
type pqStmt interface {
	driver.StmtQueryContext
	driver.StmtExecContext
}

// Conn is one physical connection, logged in. It is used by one goroutine at a time; only
// Close and Interrupt may come from another one.
type Conn struct {
	cfg    *Config
	target Target
	g      *guard
	pq     pqConn
	stmts  stmtCache
	watch  watch

	busy          bool        // rows are open
	active        atomic.Bool // an operation is under way, rows included
	closed        atomic.Bool
	lingers       atomic.Bool // closed, and the server has not closed its end yet
	serverVersion string
	rowTypes      []uint32 // of the result under way, reused
	reads         []decoder
}

// background is the context that lib/pq gets: one that never ends, so that lib/pq starts no
// goroutine and dials no CancelRequest.
var background = context.Background()

// Node is the name of the node at the other end.
func (c *Conn) Node() string { return c.target.node() }

// ServerVersion is the parameter server_version. Picodata answers with the version of
// PostgreSQL whose protocol it speaks.
func (c *Conn) ServerVersion() string { return c.serverVersion }

// Encrypted says whether the connection is over TLS.
func (c *Conn) Encrypted() bool { return c.g.encrypted }

// Usable says whether the connection may be used for another statement: nothing failed on
// the wire and the last answer was read to its end. It does no I/O.
func (c *Conn) Usable() bool {
	return !c.closed.Load() && !c.busy && c.g.ready() && c.g.status == 'I'
}

// closeBudget bounds the goodbye of Close. It is written to a socket that has nothing else
// to send, so it fits the buffer at once or the peer is gone.
const closeBudget = 100 * time.Millisecond

// Close says goodbye and closes the socket. It waits for nobody; a statement that is under
// way fails. Closing again does nothing.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		if c.lingers.Swap(false) {
			return c.g.sock.Close()
		}
		return nil
	}
	// While a statement is under way, a goodbye would mix with it, and the connection's
	// state is another goroutine's. begin looks at closed after it has set active.
	if c.active.Load() || !c.g.ready() {
		return c.g.sock.Close()
	}
	_ = c.g.nc.SetWriteDeadline(time.Now().Add(closeBudget))
	if _, err := c.g.nc.Write([]byte{'X', 0, 0, 0, 4}); err != nil {
		return c.g.sock.Close()
	}
	return c.g.nc.Close()
}

// begin starts an operation. Its error means that nothing was written.
func (c *Conn) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return c.unsent(err)
	}
	if c.busy {
		e := c.unsent(ErrBusy)
		e.Local = true
		return e
	}
	c.active.Store(true)
	if c.closed.Load() || !c.g.ready() {
		c.active.Store(false)
		if c.g.err != nil {
			// Not wrapped: an error that the server gave an earlier statement is no answer to this one.
			return c.unsent(fmt.Errorf("%w: %v", ErrClosed, c.g.err))
		}
		return c.unsent(ErrClosed)
	}
	if err := c.g.settle(); err != nil {
		c.active.Store(false)
		_ = c.g.sock.Close()
		return c.unsent(fmt.Errorf("%w: %v", ErrClosed, c.g.fail(err)))
	}
	c.g.startOp()
	c.watch.arm(ctx)
	return nil
}

// end finishes an operation and tells its outcome.
func (c *Conn) end(ctx context.Context, err error) error {
	defer c.active.Store(false)
	fired := c.watch.disarm()
	if err == nil {
		if fired {
			c.revive()
		}
		return nil
	}
	return c.failed(ctx, err, fired)
}

// NextOp is the number of the operation that will be begun next on the connection: of the next Query
// until its rows are closed, of the next Exec.
func (c *Conn) NextOp() uint64 { return c.watch.next() }

// Interrupt ends the operation of that number with ErrInterrupted, if it is under way, and
// reports whether it was. The connection is lost with it, unless the answer was complete by then. It may be
// called from any goroutine, waits for nothing, and never touches another operation.
func (c *Conn) Interrupt(op uint64) bool { return c.watch.interrupt(op) }

// revive lifts the deadline that a context or an interruption has set after the answer was complete.
func (c *Conn) revive() {
	if c.g.ready() {
		if err := c.g.nc.SetDeadline(time.Time{}); err != nil {
			c.g.fail(err)
		}
	}
}

// failed makes the *Error of an operation. Unless the server answered to the end, the
// connection is lost with it.
func (c *Conn) failed(ctx context.Context, err error, fired bool) error {
	if mistake, ok := err.(callerError); ok && c.g.ready() {
		if fired {
			c.revive()
		}
		e := c.error(mistake.error)
		e.Local = true
		return e
	}
	if c.g.fatal != nil { // lib/pq goes by the localised severity
		err = c.g.fail(c.g.fatal)
	}
	var pe *pq.Error
	if errors.As(err, &pe) && c.g.ready() {
		if fired {
			c.revive()
		}
		return c.error(err)
	}
	if errors.Is(err, driver.ErrBadConn) {
		err = errGivenUp
	}
	// A fault that was found before anything went out and without any fault of the socket is on
	// this side: the number of arguments, a value that can't be encoded.
	local := !fired && c.g.written == 0 && c.g.err == nil && c.g.fatal == nil && err != errGivenUp
	switch {
	case pe != nil: // the server's answer came before the end
	case fired && ctx.Err() != nil:
		c.g.fail(err)
		err = ctx.Err()
	case c.watch.cut:
		c.g.fail(err)
		err = ErrInterrupted
	case c.g.fatal != nil:
		err = c.g.fatal
	case c.g.err != nil:
		err = c.g.err
	}
	c.g.fail(err)
	if errors.Is(err, io.EOF) {
		err = errEOF
	}
	c.g.sock.hangUp()
	e := c.error(err)
	e.Local = local
	return e
}

// undecodable is the error of an operation whose answer came to its end but for what can't be decoded.
func (c *Conn) undecodable() error {
	if c.g.spoilt == nil {
		return nil
	}
	return c.error(c.g.spoilt)
}

// errGivenUp stands for lib/pq's driver.ErrBadConn where nothing tells more.
var errGivenUp = errors.New("lib/pq gave up the connection")

// errEOF is a server that hung up.
var errEOF = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)

func (c *Conn) error(cause error) *Error {
	return &Error{
		Stage: StageQuery, Node: c.target.node(), Address: c.target.Address,
		Sent: c.g.written > 0, Answered: c.g.answered, Saw: c.g.saw, Cause: cause,
	}
}

func (c *Conn) unsent(cause error) *Error {
	return &Error{Stage: StageQuery, Node: c.target.node(), Address: c.target.Address, Cause: cause}
}

// recovered turns a panic of lib/pq into an error; nothing can be said about the
// connection then.
func (c *Conn) recovered(err *error) {
	if p := recover(); p != nil {
		if re, ok := p.(error); ok {
			*err = fmt.Errorf("lib/pq panicked: %w", re)
		} else {
			*err = fmt.Errorf("lib/pq panicked: %v", p)
		}
		c.g.fail(*err)
	}
}

// callerError is a statement that can't be sent. It was found before lib/pq heard of it, so
// the connection is as good as before.
type callerError struct{ error }

// checkText refuses what would break the framing.
func checkText(sql string) error {
	if strings.IndexByte(sql, 0) >= 0 {
		return callerError{errors.New("the statement contains a NUL byte")}
	}
	return nil
}

// connectTimeout is the error of a login that outlasted connect_timeout. It isn't a
// context's error: the caller had more time to give.
type connectTimeout time.Duration

func (t connectTimeout) Error() string {
	return fmt.Sprintf("no connection within connect_timeout=%v", time.Duration(t))
}

// Timeout, Temporary and Is make it a timeout like any other of the network.
func (connectTimeout) Timeout() bool        { return true }
func (connectTimeout) Temporary() bool      { return true }
func (connectTimeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// CloseWait is Close for a caller that counts connections: it returns true once the server has closed its end as well, and
// false after d. A server that is still at a statement which its caller gave up may take longer than any d: CloseWait may then be
// called again to wait on, and Close ends that. A statement that is under way here fails at once, and nothing is waited for.
func (c *Conn) CloseWait(d time.Duration) bool {
	sock := c.g.sock
	half, ok := sock.Conn.(interface{ CloseWrite() error })
	if !ok {
		_ = c.Close()
		return true
	}
	if !c.closed.Swap(true) {
		if c.active.Load() {
			_ = sock.Close()
			return true
		}
		_ = sock.SetDeadline(time.Now().Add(d))
		if c.g.ready() {
			_, _ = c.g.nc.Write([]byte{'X', 0, 0, 0, 4}) // the end of the stream says it too
		}
		if half.CloseWrite() != nil {
			_ = sock.Close()
			return true
		}
		c.lingers.Store(true)
	} else {
		if !c.lingers.Load() {
			return true
		}
		_ = sock.SetReadDeadline(time.Now().Add(d))
	}
	// What still comes is the end of an answer that nobody wants.
	if _, err := io.Copy(io.Discard, sock.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.lingers.Store(false)
	_ = sock.Close()
	return true
}

// hangUp tells the server that nothing more comes. The socket is closed by Close or CloseWait, so that
// a caller who counts connections can wait until the server has noticed.
func (s *socket) hangUp() {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		return
	}
	_ = s.Close()
}

// past is a deadline that has passed: it wakes every reader and writer of a socket.
var past = time.Unix(1, 0)

// watch ends the I/O of a connection when a context is done, or when somebody interrupts the
// operation. No goroutine waits for the context; one runs for the moment in which it ends.
type watch struct {
	conn  net.Conn
	stop  func() bool
	fired atomic.Bool
	ran   chan struct{} // the callback has run to its end
	call  func()        // callback, made once

	// op is the number of the operation under way or last ended, times four, plus its phase. A change
	// of phase is one compare-and-swap, so that an interruption meets its own operation or none.
	op  atomic.Uint64
	cut bool          // the operation that ended last was interrupted
	hit chan struct{} // the interruption has run to its end
}

// The phases of an operation.
const (
	opOver uint64 = iota
	opRunning
	opCut
	opPhases = 4
)

func newWatch(conn net.Conn) watch {
	return watch{conn: conn, ran: make(chan struct{}, 1), hit: make(chan struct{}, 1)}
}

// next is the number of the operation that arm will begin.
func (w *watch) next() uint64 { return w.op.Load()/opPhases + 1 }

// interrupt ends the I/O of operation op if it is under way, and reports whether it was.
func (w *watch) interrupt(op uint64) bool {
	if !w.op.CompareAndSwap(op*opPhases+opRunning, op*opPhases+opCut) {
		return false
	}
	if err := w.conn.SetDeadline(past); err != nil {
		_ = w.conn.Close()
	}
	w.hit <- struct{}{}
	return true
}

// interrupted reports whether the operation under way was interrupted.
func (w *watch) interrupted() bool { return w.op.Load()%opPhases == opCut }

// endOp ends the operation's number. An interruption isn't running any more when it returns.
func (w *watch) endOp() {
	op := w.op.Load() / opPhases * opPhases
	w.cut = false
	switch {
	case w.op.CompareAndSwap(op+opRunning, op):
	case w.op.CompareAndSwap(op+opCut, op):
		<-w.hit
		w.cut = true
	}
}

// arm watches ctx until disarm. A context that can't end costs nothing.
func (w *watch) arm(ctx context.Context) {
	w.op.Store(w.next()*opPhases + opRunning)
	w.fired.Store(false)
	if ctx.Done() == nil {
		return
	}
	if w.call == nil {
		w.call = w.done
	}
	w.stop = context.AfterFunc(ctx, w.call)
}

func (w *watch) done() {
	w.fired.Store(true)
	if err := w.conn.SetDeadline(past); err != nil {
		_ = w.conn.Close()
	}
	w.ran <- struct{}{}
}

// disarm ends the watch and says whether the socket's deadline was moved into the past: the context
// ended before, or the operation was interrupted. Neither is at it any more when disarm returns: nothing
// can hurt a later operation.
func (w *watch) disarm() (fired bool) {
	w.endOp()
	if w.stop == nil {
		return w.cut
	}
	stop := w.stop
	w.stop = nil
	if stop() {
		return w.cut
	}
	<-w.ran
	return true
}
