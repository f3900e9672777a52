package mirror

import (
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/wire"
)

// statementTimeout is how long a mirror may take for one statement. A node that hangs for ever must not
// take its line with it.
const statementTimeout = time.Minute

// work executes units in order until the line ends.
func (l *Line) work() {
	defer l.finish()
	for {
		u, ok := l.next()
		if !ok {
			return
		}
		l.execute(&u)
		l.mu.Lock()
		l.running = time.Time{}
		l.bytes -= u.size
		l.mu.Unlock()
	}
}

// next waits for a unit. False: there will be none.
func (l *Line) next() (unit, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.q.n == 0 && !l.closed {
		l.cond.Wait()
	}
	if l.q.n == 0 || l.stopped {
		return unit{}, false
	}
	u := l.q.pop()
	l.running = u.at
	return u, true
}

// finish drops what is left and closes the connection.
func (l *Line) finish() {
	l.hangUp()
	l.cancel()
	l.mu.Lock()
	left := l.q // nothing is added any more
	if l.grace != nil {
		l.grace.Stop()
	}
	l.mu.Unlock()
	for i := range left.n {
		l.m.dropUnit(left.at(i), Closed)
	}
	l.mu.Lock()
	l.q, l.bytes = queue{}, 0 // now that all are counted
	l.mu.Unlock()
	l.m.mu.Lock()
	delete(l.m.lines, l)
	l.m.mu.Unlock()
}

func (m *Mirror) dropUnit(u *unit, why Reason) {
	m.drop(why)
	if u.cmp != nil {
		u.cmp.settle(&u.cmp.mirror, outcome{})
	}
}

// Executed tells how a statement fared on the mirror.
type Executed struct {
	SQL    string
	Waited time.Duration // from when it was handed over until it was sent
	Took   time.Duration
	Err    error
}

// execute runs a unit, or drops it if there is no connection. A connection that turns out to be dead before a byte
// was written is replaced once.
func (l *Line) execute(u *unit) {
	for again := true; ; again = false {
		if why, ok := l.connect(); !ok {
			l.m.dropUnit(u, why)
			return
		}
		var began time.Time
		if l.m.cfg.OnExecuted != nil {
			began = l.m.clock.Now()
		}
		o, err := l.run(u)
		if err != nil && unsent(err) && l.ctx.Err() == nil {
			l.hangUp()
			if again {
				continue
			}
			l.m.dropUnit(u, Down)
			return
		}
		l.m.count.sent.Add(1)
		if err == nil {
			l.m.count.ok.Add(1)
		} else {
			l.m.count.failed(l.code(err))
			o = failure(err)
		}
		if u.cmp != nil {
			u.cmp.settle(&u.cmp.mirror, o)
		}
		if hear := l.m.cfg.OnExecuted; hear != nil {
			hear(Executed{SQL: u.sql, Waited: began.Sub(u.at), Took: l.m.clock.Now().Sub(began), Err: err})
		}
		return
	}
}

// connect makes sure that there is a connection, to the first target that gives one.
func (l *Line) connect() (Reason, bool) {
	if l.m.off.Load() != nil {
		l.hangUp()
		return Refused, false
	}
	if l.conn != nil {
		if l.conn.Usable() && l.conn.Alive() {
			return 0, true
		}
		l.hangUp()
	}
	for _, t := range l.targets {
		conn, reason := l.m.dial(l.ctx, t)
		if conn != nil {
			l.take(conn)
			return 0, true
		}
		if reason != Down {
			return reason, false
		}
	}
	return Down, false
}

// take makes conn the line's connection, to be closed by a statement that takes too long.
func (l *Line) take(conn Conn) {
	late := new(atomic.Bool)
	l.conn, l.late = conn, late
	l.limit = l.m.clock.AfterFunc(statementTimeout, func() {
		late.Store(true)
		_ = conn.Close()
	})
	l.setOpen(true)
}

func (l *Line) hangUp() {
	if l.conn == nil {
		return
	}
	l.limit.Stop()
	_ = l.conn.Close() // its last word helps nobody
	l.conn = nil
	l.setOpen(false)
}

func (l *Line) setOpen(open bool) {
	l.mu.Lock()
	l.open = open
	l.mu.Unlock()
}

// errTooLong is what a statement that took too long ends with.
var errTooLong = errors.New("the mirror took too long")

// run executes a unit and reads its result to the end.
func (l *Line) run(u *unit) (outcome, error) {
	l.limit.Reset(statementTimeout)
	o, err := l.ask(u)
	l.limit.Stop()
	if err != nil && l.late.Load() {
		err = errTooLong
	}
	return o, err
}

func (l *Line) ask(u *unit) (outcome, error) {
	if !u.query {
		res, err := l.conn.Exec(l.ctx, u.sql, u.args)
		if err != nil {
			return outcome{}, err
		}
		n, _ := res.RowsAffected() // the wire's results always know
		return outcome{complete: true, exec: true, rows: uint64(n)}, nil
	}
	rows, err := l.conn.Query(l.ctx, u.sql, u.args)
	if err != nil {
		return outcome{}, err
	}
	n := len(rows.Columns())
	if cap(l.values) < n {
		l.values = make([]driver.Value, n)
	}
	l.values = l.values[:n]
	if u.cmp != nil {
		l.digest.init(l.m.seed)
		l.digest.rows, l.digest.sum = 0, 0
	}
	for {
		if err = rows.Next(l.values); err != nil {
			break
		}
		if u.cmp != nil {
			l.digest.row(l.values)
		}
	}
	clear(l.values)
	if cerr := rows.Close(); err == io.EOF {
		err = cerr
	}
	return outcome{complete: true, rows: l.digest.rows, sum: l.digest.sum}, err
}

// unsent tells that nothing of the statement was written because the connection had died.
func unsent(err error) bool {
	var w *wire.Error
	return errors.As(err, &w) && !w.Sent && !w.Local && !isAnswer(err)
}

// code is what an error counts as in Stats.Errors.
func (l *Line) code(err error) string {
	var p *pq.Error
	var w *wire.Error
	switch {
	case errors.As(err, &p):
		return string(p.Code)
	case errors.Is(err, errTooLong):
		return errTimeout
	case l.ctx.Err() != nil:
		return errClosed
	case errors.As(err, &w) && w.Local:
		return errLocal
	}
	return errLost
}

// unit is one statement that was handed over. Nobody else holds what it points to.
type unit struct {
	sql   string
	args  []driver.NamedValue
	query bool // it gives rows
	at    time.Time
	size  int
	cmp   *Comparison // nil: not compared
}

// unitOverhead is what a unit costs beside its text and arguments.
const unitOverhead = 128

// sizeOf is the memory that a unit takes, roughly: text, arguments and the unit itself.
func sizeOf(sql string, args []driver.NamedValue) int {
	n := unitOverhead + len(sql)
	for i := range args {
		n += argOverhead
		switch v := args[i].Value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// argOverhead is the size of a driver.NamedValue.
const argOverhead = 40

// copyArgs makes arguments the unit's own. database/sql's slice, and the bytes in it, are the caller's.
func copyArgs(args []driver.NamedValue) []driver.NamedValue {
	if len(args) == 0 {
		return nil
	}
	own := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if b, ok := a.Value.([]byte); ok && b != nil {
			a.Value = append(make([]byte, 0, len(b)), b...)
		}
		own[i] = a
	}
	return own
}

// queue is a ring of units that grows as it fills.
type queue struct {
	ring []unit
	head int
	n    int
}

func (q *queue) push(u unit) {
	if q.n == len(q.ring) {
		grown := make([]unit, max(8, 2*q.n))
		for i := range q.n {
			grown[i] = *q.at(i)
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = u
	q.n++
}

// at is the i-th unit of those that wait, counted from 0.
func (q *queue) at(i int) *unit { return &q.ring[(q.head+i)%len(q.ring)] }

func (q *queue) pop() unit {
	u := q.ring[q.head]
	q.ring[q.head] = unit{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return u
}
