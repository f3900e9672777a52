package watch

import (
	"context"
	"errors"
	"time"

	"github.com/picodata/go-picodata/options"
)

// race tries n targets in order and returns the first that succeeds. The next attempt starts
// as soon as one fails, or when the youngest has been silent for stagger, which is given the number of
// attempts so far; nothing is given up but by dial itself or by ctx. So a black-holed target
// costs one stagger and a refused one nothing. Attempts that lose are cancelled, and what they
// bring all the same goes to discard.
//
// stop, if set, tells an error that every other target would answer too: it ends the race.
// The error joins what each attempt said. race returns without waiting for the losers: their
// goroutines end as soon as dial heeds its context.
func race[T any](ctx context.Context, clock options.Clock, stagger func(started int) time.Duration, n int,
	dial func(ctx context.Context, i int) (T, error), discard func(T), stop func(error) bool) (winner T, at int, err error) {
	type outcome struct {
		value T
		at    int
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Room for all: an attempt never blocks on a race that is over.
	results := make(chan outcome, n)
	next, running := 0, 0
	start := func() {
		i := next
		next++
		running++
		go func() {
			v, err := dial(ctx, i)
			results <- outcome{v, i, err}
		}()
	}
	leave := func() {
		if running == 0 {
			return
		}
		left := running
		go func() {
			for range left {
				if r := <-results; r.err == nil && discard != nil {
					discard(r.value)
				}
			}
		}()
	}

	if n == 0 {
		return winner, -1, errNoTargets
	}
	var errs attempts
	tick := make(chan struct{}, 1)
	timer := clock.AfterFunc(stagger(1), func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})
	defer timer.Stop()
	start()
	for {
		select {
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				leave()
				return r.value, r.at, nil
			}
			errs = append(errs, r.err)
			if stop != nil && stop(r.err) || ctx.Err() != nil {
				cancel()
				leave()
				return winner, -1, errs
			}
			if next < n {
				start()
				timer.Reset(stagger(next))
			} else if running == 0 {
				return winner, -1, errs
			}
		case <-tick:
			if next < n {
				start()
				timer.Reset(stagger(next))
			}
		case <-ctx.Done():
			leave()
			return winner, -1, append(errs, context.Cause(ctx))
		}
	}
}

// errNoTargets: there is nobody to dial.
var errNoTargets = errors.New("picodata: no node to connect to")

// within bounds ctx by d of the clock's time. Only the system's clock gives the context a
// deadline that can be read off; another one's shows in context.Cause.
func within(ctx context.Context, clock options.Clock, d time.Duration) (context.Context, func()) {
	if _, ok := clock.(options.SystemClock); ok {
		return context.WithTimeout(ctx, d)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
