package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
)

// said is what the driver said about a write.
type said uint8

const (
	acknowledged said = iota + 1
	inDoubt           // OutcomeUnknownError, or refused by some and perhaps applied by others
	refused           // any other error: it must not have taken effect
)

// ledger holds what was said about every write, and everything that is wrong.
type ledger struct {
	begun time.Time

	mu      sync.Mutex
	rows    map[int]said
	counts  map[int]*tally
	errs    map[string]int
	wrong   []string
	wrongs  int
	lastEnd time.Time
	gap     time.Duration // the longest time in which no statement succeeded
	gapAt   time.Time

	statements, succeeded, reads, writes, cancelled atomic.Int64
}

// tally is what was said about the increments of one shared row.
type tally struct{ acknowledged, inDoubt int }

func newLedger() *ledger {
	now := time.Now()
	return &ledger{rows: map[int]said{}, counts: map[int]*tally{}, errs: map[string]int{}, begun: now, lastEnd: now}
}

// verdict reads the driver's answer to a write.
func verdict(err error) said {
	switch {
	case err == nil:
		return acknowledged
	case picodata.IsOutcomeUnknown(err), picodata.MayBePartial(err):
		return inDoubt
	}
	return refused
}

// wrote notes the answer to an INSERT of some keys.
func (l *ledger) wrote(err error, keys ...int) {
	l.done(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		l.rows[k] = verdict(err)
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
		l.rows[k] = verdict(err)
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
			t = &tally{}
			l.counts[key] = t
		}
		switch verdict(err) {
		case acknowledged:
			t.acknowledged++
		case inDoubt:
			t.inDoubt++
		}
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
	l.errs[kindOfError(err)]++
}

func kindOfError(err error) string {
	var e *picodata.Error
	var unknown *picodata.OutcomeUnknownError
	var prefix string
	if errors.As(err, &unknown) {
		prefix = "outcome unknown: "
		if unknown.Partly {
			prefix = "outcome unknown, partly: "
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return prefix + "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return prefix + "deadline"
	case errors.As(err, &e):
		return prefix + e.Kind.String()
	case prefix != "":
		return prefix + "connection lost"
	case picodata.IsRetryable(err):
		return fmt.Sprintf("not run (%T)", err)
	}
	return fmt.Sprintf("%T", err)
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
		n := rows[key]
		switch {
		case s == acknowledged && n != 1:
			l.fault("key %d was acknowledged and is there %d times", key, n)
		case s == inDoubt && n > 1:
			l.fault("key %d is in doubt and there %d times", key, n)
		case s == refused && n != 0:
			l.fault("key %d: the driver said that it hasn't run, and it is there", key)
		}
	}
	for key := range rows {
		if l.rows[key] == 0 {
			l.fault("key %d is there and nobody wrote it", key)
		}
	}
	for key, t := range l.counts {
		if n := counts[key]; n < t.acknowledged || n > t.acknowledged+t.inDoubt {
			l.fault("counter %d is %d; %d increments were acknowledged, %d are in doubt", key, n, t.acknowledged, t.inDoubt)
		}
	}
}
