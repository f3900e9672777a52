package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

const stagger = 250 * time.Millisecond

// racer is a set of targets, each with its own way to behave.
type racer struct {
	mu        sync.Mutex
	starts    map[int]time.Duration
	began     time.Time
	cancelled []int
	discarded []int
	targets   []func(ctx context.Context) error
}

func (r *racer) run(ctx context.Context, stop func(error) bool) (int, error) {
	r.starts, r.began = map[int]time.Duration{}, time.Now()
	_, at, err := race(ctx, options.SystemClock{}, func(int) time.Duration { return stagger }, len(r.targets), func(ctx context.Context, i int) (int, error) {
		r.mu.Lock()
		r.starts[i] = time.Since(r.began)
		r.mu.Unlock()
		err := r.targets[i](ctx)
		if ctx.Err() != nil {
			r.mu.Lock()
			r.cancelled = append(r.cancelled, i)
			r.mu.Unlock()
		}
		return i, err
	}, func(i int) {
		r.mu.Lock()
		r.discarded = append(r.discarded, i)
		r.mu.Unlock()
	}, stop)
	return at, err
}

func answers(after time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(after); return nil }
}

func refuses(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func blackHole(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestRace(t *testing.T) {
	errA, errB := errors.New("a"), errors.New("b")
	t.Run("refused costs nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{targets: []func(context.Context) error{refuses(errA), refuses(errB), answers(0), answers(0)}}
			at, err := r.run(t.Context(), nil)
			if at != 2 || err != nil || time.Since(r.began) != 0 || len(r.starts) != 3 {
				t.Errorf("%d, %v after %v, %v", at, err, time.Since(r.began), r.starts)
			}
		})
	})
	t.Run("a black hole costs one stagger", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{targets: []func(context.Context) error{blackHole, answers(10 * time.Millisecond), answers(0)}}
			at, err := r.run(t.Context(), nil)
			if at != 1 || err != nil || time.Since(r.began) != 260*time.Millisecond {
				t.Errorf("%d, %v after %v", at, err, time.Since(r.began))
			}
			synctest.Wait()
			if !slices.Equal(r.cancelled, []int{0}) || len(r.starts) != 2 {
				t.Errorf("cancelled %v, started %v", r.cancelled, r.starts)
			}
		})
	})
	t.Run("each attempt has its own stagger", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			late := func(context.Context) error { time.Sleep(200 * time.Millisecond); return errA }
			r := racer{targets: []func(context.Context) error{late, blackHole, answers(0)}}
			at, err := r.run(t.Context(), nil)
			if at != 2 || err != nil || fmt.Sprint(r.starts) != "map[0:0s 1:200ms 2:450ms]" {
				t.Errorf("%d, %v, %v", at, err, r.starts)
			}
			synctest.Wait()
		})
	})
	t.Run("the slow one may still win", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{targets: []func(context.Context) error{answers(300 * time.Millisecond), answers(200 * time.Millisecond), refuses(errA)}}
			at, err := r.run(t.Context(), nil)
			if at != 0 || err != nil {
				t.Errorf("%d, %v", at, err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if !slices.Equal(r.discarded, []int{1}) {
				t.Errorf("the loser that got through is left open: %v", r.discarded)
			}
		})
	})
	t.Run("everybody fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{targets: []func(context.Context) error{refuses(errA), refuses(errB)}}
			at, err := r.run(t.Context(), nil)
			if at != -1 || !errors.Is(err, errA) || !errors.Is(err, errB) {
				t.Errorf("%d, %v", at, err)
			}
		})
	})
	t.Run("a fatal error ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{targets: []func(context.Context) error{refuses(errA), answers(0)}}
			at, err := r.run(t.Context(), func(err error) bool { return errors.Is(err, errA) })
			if at != -1 || !errors.Is(err, errA) || len(r.starts) != 1 {
				t.Errorf("%d, %v, %v", at, err, r.starts)
			}
		})
	})
	t.Run("the context ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
			defer cancel()
			r := racer{targets: []func(context.Context) error{blackHole, refuses(errB), blackHole, blackHole}}
			at, err := r.run(ctx, nil)
			if at != -1 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errB) || time.Since(r.began) != 700*time.Millisecond {
				t.Errorf("%d, %v after %v", at, err, time.Since(r.began))
			}
			synctest.Wait()
			if len(r.cancelled) != 3 {
				t.Errorf("cancelled %v", r.cancelled)
			}
		})
	})
	t.Run("nobody", func(t *testing.T) {
		r := racer{}
		if at, err := r.run(t.Context(), nil); at != -1 || !errors.Is(err, errNoTargets) {
			t.Errorf("%d, %v", at, err)
		}
	})
	t.Run("many black holes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := racer{}
			for range 4 {
				r.targets = append(r.targets, blackHole)
			}
			r.targets = append(r.targets, answers(0))
			at, err := r.run(t.Context(), nil)
			if at != 4 || err != nil || time.Since(r.began) != 4*stagger {
				t.Errorf("%d, %v after %v", at, err, time.Since(r.began))
			}
			if fmt.Sprint(r.starts) != "map[0:0s 1:250ms 2:500ms 3:750ms 4:1s]" {
				t.Errorf("%v", r.starts)
			}
			synctest.Wait()
		})
	})
}
