package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// load is how hard a run works, and for how long.
type load struct {
	workers  int
	rate     float64       // statements a second of all workers; 0 = as fast as they can
	duration time.Duration // 0 = until count
	count    int64         // 0 = until duration
	limit    time.Duration // of one statement
	seed     uint64
}

func (l *load) validate() error {
	switch {
	case l.workers < 1 || l.workers > 10_000:
		return fmt.Errorf("--workers %d: want 1 to 10000", l.workers)
	case l.rate < 0:
		return fmt.Errorf("--rate %v: want a positive number of statements a second, or 0", l.rate)
	case l.duration < 0 || l.count < 0 || l.duration == 0 && l.count == 0:
		return errors.New("want --duration or --count above 0")
	case l.limit <= 0:
		return fmt.Errorf("--statement-timeout %v: want a positive duration", l.limit)
	}
	return nil
}

// run executes statements until the load is done or ctx ends; those that are under way end by themselves.
func (l *load) run(ctx context.Context, db *sql.DB, list []statement, rec *recorder) {
	pick := newChoice(list)
	var (
		slots atomic.Int64
		wait  sync.WaitGroup
	)
	for w := range l.workers {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(l.seed, uint64(w)))
			for {
				slot := slots.Add(1) - 1
				due, ok := l.next(ctx, rec.began, slot)
				if !ok {
					return
				}
				one(ctx, db, pick.pick(r), r, due, l.limit, rec)
			}
		})
	}
	wait.Wait()
}

// next waits until a slot is due. With a rate, that is when its turn comes: a statement that has to wait for a
// worker has begun to wait for the cluster, and its latency counts from there.
func (l *load) next(ctx context.Context, began time.Time, slot int64) (due time.Time, ok bool) {
	if ctx.Err() != nil || l.count > 0 && slot >= l.count {
		return due, false
	}
	now := time.Now()
	due = now
	if l.rate > 0 {
		due = began.Add(time.Duration(float64(slot) / l.rate * float64(time.Second)))
	}
	if l.duration > 0 && (due.Sub(began) >= l.duration || now.Sub(began) >= l.duration) {
		return due, false
	}
	if wait := due.Sub(now); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return due, false
		}
	}
	return due, true
}

// one executes one statement and records how it went.
func one(ctx context.Context, db *sql.DB, s *statement, r *rand.Rand, due time.Time, limit time.Duration, rec *recorder) {
	var at sample
	ctx = context.WithValue(context.WithoutCancel(ctx), sampleKey{}, &at)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := execute(ctx, db, s, s.arguments(r))
	rec.done(s.name, at.node, due, time.Now(), err)
}

// execute runs a statement and takes all of its answer.
func execute(ctx context.Context, db *sql.DB, s *statement, args []any) error {
	if !s.rows {
		_, err := db.ExecContext(ctx, s.sql, args...)
		return err
	}
	rows, err := db.QueryContext(ctx, s.sql, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// fill inserts the rows that reads and updates find.
func fill(ctx context.Context, db *sql.DB, insert statement, rows int64, l *load) error {
	var (
		done  atomic.Int64
		wait  sync.WaitGroup
		once  sync.Once
		first error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for w := range l.workers {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(^l.seed, uint64(w)))
			for done.Add(1) <= rows && ctx.Err() == nil {
				ctx, free := context.WithTimeout(ctx, l.limit)
				err := execute(ctx, db, &insert, insert.arguments(r))
				free()
				if err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	wait.Wait()
	if first != nil {
		return fmt.Errorf("filling the table: %w", first)
	}
	return ctx.Err()
}
