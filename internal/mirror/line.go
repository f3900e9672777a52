package mirror

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/options"
)

// closeGrace is how long a line goes on with what it was handed after its physical connection was closed. A
// caller who gives a statement up loses the connection, but the mirror still runs the statement.
const closeGrace = time.Second

// Line is the mirror side of one physical connection: a queue, and a worker with at most one
// connection. Offer comes from one goroutine at a time, Close from anywhere.
type Line struct {
	m       *Mirror
	targets []*target // in the order in which they are tried
	ctx     context.Context
	cancel  context.CancelFunc
	started atomic.Bool

	mu      sync.Mutex
	cond    sync.Cond
	q       queue
	bytes   int       // of the queue and of what is executed
	running time.Time // when what is executed was handed over; zero: nothing is
	closed  bool      // takes no more
	stopped bool      // and gives up what it has
	open    bool      // has a connection
	grace   options.Timer

	// The worker's own.
	conn   Conn
	limit  options.Timer // closes conn; runs while a statement does
	late   *atomic.Bool  // it has
	values []driver.Value
	digest digest
}

// Offer hands a statement over, or counts why not. query tells that it gives rows. What it returns, nil
// without comparison, wants to hear of the caller's result.
func (l *Line) Offer(sql string, args []driver.NamedValue, query bool) *Comparison {
	m := l.m
	m.count.offered.Add(1)
	switch {
	case m.off.Load() != nil:
		m.drop(Refused)
		return nil
	case !m.sample.take():
		m.drop(Sampled)
		return nil
	}
	if !l.started.Load() && !l.start() {
		m.drop(Closed)
		return nil
	}
	u := unit{sql: sql, query: query, at: m.clock.Now(), size: sizeOf(sql, args)}
	l.mu.Lock()
	if why, ok := l.room(u.size); !ok {
		l.mu.Unlock()
		m.drop(why)
		return nil
	}
	u.args = copyArgs(args)
	if m.cfg.Options.MirrorCompare {
		u.cmp = &Comparison{m: m, sql: sql}
		u.cmp.digest.init(m.seed)
	}
	m.count.enqueued.Add(1)
	l.q.push(u)
	l.bytes += u.size
	l.mu.Unlock()
	l.cond.Signal()
	return u.cmp
}

// room says whether a unit of this size can be taken, else why not.
func (l *Line) room(size int) (Reason, bool) {
	o := l.m.cfg.Options
	switch {
	case l.closed:
		return Closed, false
	case l.q.n >= o.MirrorQueue:
		return Queue, false
	case l.bytes+size > o.MirrorQueueBytes:
		return Bytes, false
	}
	return 0, true
}

// start brings the worker to life.
func (l *Line) start() bool {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	l.started.Store(true)
	m.lines[l] = struct{}{}
	m.work.Go(l.work)
	return true
}

// Close ends the line: it takes no more statements, has a second for those that it has, and closes its
// connection. It waits for nothing.
func (l *Line) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	if l.q.n > 0 || !l.running.IsZero() {
		l.grace = l.m.clock.AfterFunc(closeGrace, l.stop)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.stop()
}

// stop ends the line at once.
func (l *Line) stop() {
	l.mu.Lock()
	l.closed, l.stopped = true, true
	l.mu.Unlock()
	l.cancel()
	l.cond.Broadcast()
}

// addTo adds the line's state to a snapshot.
func (l *Line) addTo(s *Stats, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Queued += l.q.n
	s.Bytes += l.bytes
	if l.open {
		s.Conns++
	}
	oldest := l.running
	if !oldest.IsZero() {
		s.Running++
	} else if l.q.n > 0 {
		oldest = l.q.at(0).at
	} else {
		return
	}
	s.Lag = max(s.Lag, now.Sub(oldest))
}

// identityTimeout bounds the questions of identify.
const identityTimeout = 5 * time.Second

// The questions that tell whose instance is at the other end. The first two need no privilege; the second
// is the first one's name before 25.3. The last one also finds an instance that the snapshot of the
// topology doesn't know yet; a user who may not ask it goes without.
var (
	whoAreYou  = []string{"SELECT pico_instance_uuid()", "SELECT instance_uuid()"}
	whoIsThere = "SELECT uuid FROM _pico_instance"
)

// identify turns mirroring off if the connection leads to the very cluster whose traffic is mirrored: every
// write would happen twice. A server that knows none of the functions isn't Picodata, so it is another one.
func (m *Mirror) identify(ctx context.Context, conn Conn) error {
	limit := m.clock.AfterFunc(identityTimeout, func() { _ = conn.Close() })
	defer limit.Stop()
	for _, sql := range whoAreYou {
		uuids, err := texts(ctx, conn, sql)
		if isAnswer(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.foreign(uuids); err != nil {
			return err
		}
		uuids, err = texts(ctx, conn, whoIsThere)
		if err != nil && !isAnswer(err) {
			return err
		}
		return m.foreign(uuids)
	}
	return nil
}

// foreign refuses instances of our own.
func (m *Mirror) foreign(uuids []string) error {
	for _, uuid := range uuids {
		if m.cfg.Ours(uuid) {
			err := SameCluster()
			m.TurnOff(err)
			return err
		}
	}
	return nil
}

// SameCluster is why a mirror is refused that is the cluster itself.
func SameCluster() error {
	return &options.ConfigError{Key: "mirror", Msg: "this is the very cluster whose traffic is to be mirrored, so every statement would run on it twice: name another cluster"}
}

func isAnswer(err error) bool {
	var p *pq.Error
	return errors.As(err, &p)
}

// texts reads the only column of a query.
func texts(ctx context.Context, conn Conn, sql string) ([]string, error) {
	rows, err := conn.Query(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	var all []string
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if err == io.EOF {
			return all, rows.Close()
		}
		if err != nil {
			_ = rows.Close() // the first error tells more
			return nil, err
		}
		if len(row) > 0 {
			switch v := row[0].(type) {
			case string:
				all = append(all, v)
			case []byte:
				all = append(all, string(v))
			}
		}
	}
}
