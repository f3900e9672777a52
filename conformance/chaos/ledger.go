package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/conformance/internal/account"
)

// ledger holds what was said about every write, and everything that is wrong.
type ledger struct {
	begun time.Time

	mu      sync.Mutex
	rows    map[int]account.Said
	counts  map[int]*account.Tally
	errs    map[string]int
	wrong   []string
	wrongs  int
	lastEnd time.Time
	gap     time.Duration // the longest time in which no statement succeeded
	gapAt   time.Time

	statements, succeeded, reads, writes, cancelled atomic.Int64
}

func newLedger() *ledger {
	now := time.Now()
	return &ledger{rows: map[int]account.Said{}, counts: map[int]*account.Tally{}, errs: map[string]int{}, begun: now, lastEnd: now}
}

// wrote notes the answer to an INSERT of some keys.
func (l *ledger) wrote(err error, keys ...int) {
	l.done(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		l.rows[k] = account.Verdict(err)
	}
	if picodata.IsUniqueViolation(err) {
		l.fault("keys %v: a unique violation of keys that nobody else has: the driver has run the INSERT twice: %v", keys, err)
	}
}

// collided notes the answer to an INSERT of new keys beside one that is there already.
func (l *ledger) collided(err error, keys ...int) {
	l.done(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		l.rows[k] = account.Verdict(err)
	}
	if err == nil {
		l.fault("keys %v: an INSERT beside a key that is there was acknowledged", keys)
	}
}

// counted notes the answer to an increment of some keys: each was applied once, or, in doubt, once at most.
func (l *ledger) counted(err error, keys ...int) {
	l.done(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		t := l.counts[key]
		if t == nil {
			t = &account.Tally{}
			l.counts[key] = t
		}
		t.Add(account.Verdict(err))
	}
}

// read notes the answer to a read. Only its own context may end it.
func (l *ledger) read(ctx context.Context, what string, err error) {
	l.done(err)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return
	}
	l.report("%s: a read failed that could have been answered: %v", what, err)
}

// done counts a statement.
func (l *ledger) done(err error) {
	l.statements.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.succeeded.Add(1)
		now := time.Now()
		if gap := now.Sub(l.lastEnd); gap > l.gap {
			l.gap, l.gapAt = gap, now
		}
		l.lastEnd = now
		return
	}
	l.errs[account.Cause(err)]++
}

func (l *ledger) report(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault(format, args...)
}

// fault notes something wrong; mu is held. The first few are kept.
func (l *ledger) fault(format string, args ...any) {
	const most = 20
	if l.wrongs++; l.wrongs <= most {
		l.wrong = append(l.wrong, fmt.Sprintf("%.3fs: ", time.Since(l.begun).Seconds())+fmt.Sprintf(format, args...))
	}
}

// settle compares the ledger with the rows that there are: how often each key, and the counts.
func (l *ledger) settle(rows map[int]int, counts map[int]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, s := range l.rows {
		switch n := rows[key]; s.Row(n) {
		case account.Kept:
		case account.Lost:
			l.fault("key %d was acknowledged and isn't there", key)
		case account.Doubled:
			l.fault("key %d is there %d times", key, n)
		case account.Lied:
			l.fault("key %d: the driver said that it hasn't run, and it is there", key)
		}
	}
	for key := range rows {
		if l.rows[key] == 0 {
			l.fault("key %d is there and nobody wrote it", key)
		}
	}
	for key, t := range l.counts {
		if f, _ := t.Judge(counts[key]); f != account.Kept {
			l.fault("counter %d is %d; %d increments were acknowledged, %d are in doubt", key, counts[key], t.Acknowledged, t.InDoubt)
		}
	}
}
