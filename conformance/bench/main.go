// Command bench measures the driver beside its rivals, on a PostgreSQL and on a simulated
// Picodata: interleaved rounds, medians, ratios. It records; it judges nothing.
//
//	go run ./bench -postgres 127.0.0.1:5432 -user postgres
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

func main() {
	pg := target{name: "PostgreSQL"}
	flag.StringVar(&pg.address, "postgres", "", "host:port of a PostgreSQL that trusts the user; nothing: none")
	flag.StringVar(&pg.user, "user", "postgres", "who logs in there")
	flag.StringVar(&pg.database, "database", "postgres", "database there")
	simulated := flag.Bool("picotest", true, "run against a simulated Picodata of one instance")
	rounds := flag.Int("rounds", 200, "rounds; every driver runs once in each")
	slice := flag.Duration("slice", 5*time.Millisecond, "how long a driver runs within a round; short ones spread a noisy machine over all")
	only := flag.String("only", "", "run the cases whose name contains this")
	delay := flag.Duration("delay", 0, "time to add to each flight")
	workers := flag.Int("workers", 1, "goroutines that share one database handle")
	drivers := flag.String("drivers", "", "comma-separated names of the drivers to run; nothing: all")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the whole run")
	timeout := flag.Bool("timeout", false, "give every query a context with a timeout")
	kind := flag.String("case", "", "capped: what max_conns costs; ideal: beside a client made by hand; client: the same without a server; bulk: many rows; all on simulated clusters; nothing: the driver beside its rivals")
	measured := flag.Duration("for", 2*time.Second, "with -case, how long each is measured")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if *kind != "" {
		err := fmt.Errorf("no case %q: there are capped, ideal, client and bulk", *kind)
		switch *kind {
		case "capped":
			err = capped(os.Stdout, *measured, *only)
		case "ideal":
			err = ideal(os.Stdout, *measured, *only, false)
		case "client":
			err = ideal(os.Stdout, *measured, *only, true)
		case "bulk":
			err = bulk(os.Stdout, *measured, pg)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var targets []target
	if pg.address != "" {
		pg.password = "x"
		targets = append(targets, pg)
	}
	if *simulated {
		t, stop, err := startPicotest()
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer stop()
		targets = append(targets, t)
	}
	if err := run(context.Background(), os.Stdout, targets, plan{*rounds, *slice, *delay, *workers, *timeout, *only, *drivers}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// plan says how a run measures.
type plan struct {
	rounds  int
	slice   time.Duration
	delay   time.Duration
	workers int
	timeout bool
	only    string
	drivers string
}

// runs says whether a driver takes part.
func (p plan) runs(name string) bool {
	return p.drivers == "" || slices.Contains(strings.Split(p.drivers, ","), name)
}

func run(ctx context.Context, out io.Writer, targets []target, p plan) error {
	for i := range targets {
		t := &targets[i]
		t.dial = delayDial(0)
		db, err := rivals[0].openDB(*t, 1)
		if err != nil {
			return err
		}
		err = setUp(ctx, db)
		db.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		t.dial = delayDial(p.delay)
	}
	fmt.Fprintf(out, "%s, %s/%s, %d CPUs, %d rounds of %v, %d workers, timeout per query: %v, delay per flight: %v\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), p.rounds, p.slice, p.workers, p.timeout, p.delay)
	fmt.Fprint(out, tableHead)
	for _, w := range works {
		if !strings.Contains(w.name, p.only) {
			continue
		}
		for _, t := range targets {
			if err := measure(ctx, out, t, p, w); err != nil {
				return fmt.Errorf("%s, %s: %w", t.name, w.name, err)
			}
		}
	}
	return nil
}

// runner runs operations until the slice is over and says how many it did.
type runner struct {
	name string
	once func(n int64) error
}

func measure(ctx context.Context, out io.Writer, t target, p plan, w work) error {
	var runners []runner
	for _, r := range rivals {
		if !p.runs(r.name) {
			continue
		}
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
	if w.sql != "" && p.workers == 1 && p.runs("raw loop") {
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
	for _, r := range runners { // names statements, fills pools
		if _, err := oneSlice(r, p); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	samples := make([][]sample, len(runners))
	for round := range p.rounds {
		for i := range runners {
			k := (i + round) % len(runners) // nobody is always first
			s, err := oneSlice(runners[k], p)
			if err != nil {
				return fmt.Errorf("%s: %w", runners[k].name, err)
			}
			samples[k] = append(samples[k], s)
		}
	}
	allocs := make([]float64, len(runners))
	for i, r := range runners {
		var err error
		if allocs[i], err = allocations(r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	report(out, t, w.name, runners, samples, allocs)
	return nil
}
