package mirror

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"
)

// target is one address of the mirror. Its fields belong to Mirror.mu.
type target struct {
	address string
	pause   pause
}

// pause is a time without attempts that doubles with every failure in a row.
type pause struct {
	failures int
	until    time.Time
}

// The pauses after a failed dial, and after a refused login, which is a step towards the user's lock-out.
const (
	dialPause     = 250 * time.Millisecond
	dialPauseMax  = 30 * time.Second
	loginPause    = time.Minute
	loginPauseMax = time.Hour
)

func (p *pause) failed(now time.Time, first, last time.Duration) {
	d := min(first<<min(p.failures, 16), last)
	p.failures++
	p.until = now.Add(d*3/4 + rand.N(d/2))
}

func (p *pause) due(now time.Time) bool { return p.failures == 0 || !now.Before(p.until) }

// due tells whether a target may be dialled now.
func (m *Mirror) due(t *target) bool {
	now := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.login.due(now) && t.pause.due(now)
}

// dial connects to a target whose time it is and makes sure that another cluster is there. Without a connection
// the reason says what becomes of the statement.
func (m *Mirror) dial(ctx context.Context, t *target) (Conn, Reason) {
	if !m.due(t) {
		return nil, Down
	}
	right := m.several
	if !m.proven.Load() {
		right = m.alone
	}
	select {
	case right <- struct{}{}:
		defer func() { <-right }()
	case <-ctx.Done():
		return nil, Closed
	}
	switch {
	case m.off.Load() != nil:
		return nil, Refused
	case !m.due(t): // somebody found out while this one waited
		return nil, Down
	}
	m.count.dials.Add(1)
	conn, err := m.cfg.Dial(ctx, t.address)
	if err == nil {
		if err = m.identify(ctx, conn); err != nil {
			_ = conn.Close() // never used
		} else {
			m.proven.Store(true) // not before: until it is known whose cluster this is, nobody else dials
		}
	}
	switch {
	case err == nil:
		m.up(t)
		return conn, 0
	case ctx.Err() != nil:
		return nil, Closed
	case m.off.Load() != nil:
		return nil, Refused
	}
	m.down(t, err)
	return nil, Down
}

// up notes that a target can be connected to.
func (m *Mirror) up(t *target) {
	m.mu.Lock()
	again := t.pause.failures > 0
	t.pause, m.login = pause{}, pause{}
	m.mu.Unlock()
	if again {
		m.log.Info("picodata: mirror: a node is back", slog.String("address", t.address))
	}
}

// down notes that it can't. The log hears of the first failure of a row.
func (m *Mirror) down(t *target, err error) {
	m.count.dialFailures.Add(1)
	now := m.clock.Now()
	refused := loginRefused(err)
	m.mu.Lock()
	t.pause.failed(now, dialPause, dialPauseMax)
	first := t.pause.failures == 1
	if refused {
		m.proven.Store(false)
		m.login.failed(now, loginPause, loginPauseMax)
	}
	m.mu.Unlock()
	switch {
	case refused:
		m.log.Error("picodata: mirror: the login was refused; nothing is mirrored for a while", slog.String("address", t.address), slog.Any("error", err))
	case first:
		m.log.Warn("picodata: mirror: a node can't be connected to", slog.String("address", t.address), slog.Any("error", err))
	}
}

// loginRefused tells whether a server turned the user away (SQLSTATE class 28).
func loginRefused(err error) bool {
	var p *pq.Error
	return errors.As(err, &p) && p.Code.Class() == "28"
}
