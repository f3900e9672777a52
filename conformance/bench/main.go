// Command bench measures the driver beside its rivals on one server: interleaved rounds,
// medians, ratios. It records; it judges nothing.
//
//	go run ./bench -postgres 127.0.0.1:5432 -user postgres
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"
)

func main() {
	var t target
	flag.StringVar(&t.address, "postgres", "127.0.0.1:5432", "host:port of the server; it must trust the user")
	flag.StringVar(&t.user, "user", "postgres", "who logs in")
	flag.StringVar(&t.password, "password", "x", "password, if one is asked for")
	flag.StringVar(&t.database, "database", "postgres", "database")
	rounds := flag.Int("rounds", 15, "rounds; every driver runs once in each")
	slice := flag.Duration("slice", 60*time.Millisecond, "how long a driver runs within a round")
	only := flag.String("only", "", "run the cases whose name contains this")
	flag.DurationVar(&t.delay, "delay", 0, "time to add to each flight")
	workers := flag.Int("workers", 1, "goroutines that share one database handle")
	timeout := flag.Bool("timeout", false, "give every query a context with a timeout")
	flag.Parse()
	t.dial = delayDial(t.delay)
	if err := run(context.Background(), t, plan{*rounds, *slice, *workers, *timeout, *only}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// plan says how a run measures.
type plan struct {
	rounds  int
	slice   time.Duration
	workers int
	timeout bool
	only    string
}

// sample is what one driver took per operation in one round.
type sample struct{ ns, allocs float64 }

func run(ctx context.Context, t target, p plan) error {
	plain := t
	plain.dial = delayDial(0)
	db, err := rivals[0].openDB(plain, 1)
	if err != nil {
		return err
	}
	err = setUp(ctx, db)
	db.Close()
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d CPUs, %d rounds of %v, %d workers, timeout per query: %v, delay per flight: %v\n\n",
		runtime.Version(), runtime.NumCPU(), p.rounds, p.slice, p.workers, p.timeout, t.delay)
	fmt.Printf("| case | driver | median µs | best µs | allocations | ratio of medians, picodata to it |\n|---|---|---|---|---|---|\n")
	for _, w := range works {
		if p.only != "" && !contains(w.name, p.only) {
			continue
		}
		if err := measure(ctx, t, p, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// runner runs operations until the slice is over and says how many it did.
type runner struct {
	name string
	once func(n int64) error
}

func measure(ctx context.Context, t target, p plan, w work) error {
	var runners []runner
	for _, r := range rivals {
		db, err := r.openDB(t, p.workers)
		if err != nil {
			return err
		}
		defer db.Close()
		op := w.run
		if p.timeout {
			op = w.withTimeout
		}
		runners = append(runners, runner{r.name, func(n int64) error { return op(ctx, db, n) }})
	}
	if w.sql != "" && p.workers == 1 {
		r, err := openRaw(ctx, t, w.sql)
		if err != nil {
			return err
		}
		defer r.Close()
		runners = append(runners, runner{"raw loop", func(n int64) error {
			if err := r.build(w.args(n)); err != nil {
				return err
			}
			return r.run()
		}})
	}
	samples := make([][]sample, len(runners))
	for round := range p.rounds + 1 {
		for i := range runners {
			k := (i + round) % len(runners) // nobody is always first
			s, err := oneSlice(runners[k], p)
			if err != nil {
				return fmt.Errorf("%s: %w", runners[k].name, err)
			}
			if round > 0 { // the first round warms up
				samples[k] = append(samples[k], s)
			}
		}
	}
	report(w.name, runners, samples)
	return nil
}

func oneSlice(r runner, p plan) (sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total int64
		first error
	)
	start := time.Now()
	for range p.workers {
		wg.Go(func() {
			var n int64
			var err error
			for time.Since(start) < p.slice && err == nil {
				for range 8 {
					if err = r.once(n); err != nil {
						break
					}
					n++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if first != nil {
		return sample{}, first
	}
	return sample{float64(took.Nanoseconds()) / float64(total), float64(after.Mallocs-before.Mallocs) / float64(total)}, nil
}

func report(name string, runners []runner, samples [][]sample) {
	ours := median(samples[0], func(s sample) float64 { return s.ns })
	for i, r := range runners {
		ns := median(samples[i], func(s sample) float64 { return s.ns })
		best := samples[i][0].ns
		for _, s := range samples[i] {
			best = min(best, s.ns)
		}
		ratio := "1"
		if i > 0 {
			ratio = fmt.Sprintf("%.2f", ours/ns)
		}
		fmt.Printf("| %s | %s | %.1f | %.1f | %.0f | %s |\n", name, r.name, ns/1e3, best/1e3,
			median(samples[i], func(s sample) float64 { return s.allocs }), ratio)
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	sort.Float64s(values)
	return values[len(values)/2]
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

var _ = sql.ErrNoRows
