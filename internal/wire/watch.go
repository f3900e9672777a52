package wire

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// past is a deadline that has passed: it wakes every reader and writer of a socket.
var past = time.Unix(1, 0)

// watch ends the I/O of a connection when a context is done. No goroutine waits for the
// context; one runs for the moment in which it ends.
type watch struct {
	conn  net.Conn
	stop  func() bool
	fired atomic.Bool
	ran   chan struct{} // the callback has run to its end
	call  func()        // callback, made once
}

func newWatch(conn net.Conn) watch {
	return watch{conn: conn, ran: make(chan struct{}, 1)}
}

// arm watches ctx until disarm. A context that can't end costs nothing.
func (w *watch) arm(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	if w.call == nil {
		w.call = w.done
	}
	w.fired.Store(false)
	w.stop = context.AfterFunc(ctx, w.call)
}

func (w *watch) done() {
	w.fired.Store(true)
	if err := w.conn.SetDeadline(past); err != nil {
		_ = w.conn.Close()
	}
	w.ran <- struct{}{}
}

// disarm ends the watch and says whether the context ended before. The callback isn't
// running any more when it returns: no context can hurt a later operation.
func (w *watch) disarm() (fired bool) {
	if w.stop == nil {
		return false
	}
	stop := w.stop
	w.stop = nil
	if stop() {
		return false
	}
	<-w.ran
	return true
}
