package wire

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

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
