package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// contender is one way to do the work of a case.
type contender struct {
	name string
	once func(ctx context.Context) error
	// units are what one run does, rows or statements; 0: one.
	units int
}

// turns runs the contenders in turns, each in another order than the time before, until the time is over; the first is
// what the ratios are of. It prints a row for each.
func turns(ctx context.Context, out io.Writer, name string, d time.Duration, all []contender) error {
	took := make([][]float64, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	for i := range all { // warm
		if err := all[i].once(ctx); err != nil {
			return fmt.Errorf("%s, %s: %w", name, all[i].name, err)
		}
	}
	allocs := make([]float64, len(all))
	for i := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := all[i].once(ctx); err != nil {
			return fmt.Errorf("%s, %s: %w", name, all[i].name, err)
		}
		runtime.ReadMemStats(&after)
		allocs[i] = float64(after.Mallocs-before.Mallocs) / float64(max(all[i].units, 1))
	}
	for round, begun := 0, time.Now(); round < 5 || time.Since(begun) < d*time.Duration(len(all)); round++ {
		for _, i := range order {
			start := time.Now()
			if err := all[i].once(ctx); err != nil {
				return fmt.Errorf("%s, %s: %w", name, all[i].name, err)
			}
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/1e3/float64(max(all[i].units, 1)))
		}
		order = append(order[1:], order[0])
	}
	for i := range all {
		slices.Sort(took[i])
	}
	middle := func(i int) float64 { return took[i][len(took[i])/2] }
	for i, c := range all {
		fmt.Fprintf(out, "| %s | %s | %.1f | %.1f | %.2f |\n", name, c.name, middle(i), allocs[i], middle(0)/middle(i))
	}
	return nil
}

const turnsHead = "| case | who | median µs | allocations | first : it |\n| --- | --- | ---: | ---: | ---: |\n"
