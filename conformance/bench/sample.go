package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"
)

// sample is what one driver took per operation in one round.
type sample struct {
	ns  float64
	cpu float64 // of this process, in ns; 0 = the system doesn't say
}

// oneSlice runs operations until the slice is over.
func oneSlice(r runner, p plan) (sample, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total int64
		first error
	)
	cpu, start := cpuTime(), time.Now()
	for range p.workers {
		wg.Go(func() {
			var n int64
			var err error
			for err == nil && time.Since(start) < p.slice {
				err = r.once(n)
				n++
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
	cpu = cpuTime() - cpu
	if first != nil {
		return sample{}, first
	}
	n := float64(total)
	return sample{float64(took) / n, float64(cpu) / n}, nil
}

// allocations is how many objects an operation allocates in this process, its drivers'
// background work included.
func allocations(r runner) (float64, error) {
	const count = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range int64(count) {
		if err := r.once(n); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / count, nil
}

const tableHead = `| server | case | driver | median µs | best µs | client's CPU µs | allocations | picodata : it, medians | best |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
`

// report prints one case's rows. A server in this process spoils what the client alone took.
func report(out io.Writer, t target, name string, runners []runner, samples [][]sample, allocs []float64) {
	figures := func(i int) (ns, best float64) {
		ns = median(samples[i], func(s sample) float64 { return s.ns })
		return ns, slices.MinFunc(samples[i], func(a, b sample) int { return cmp.Compare(a.ns, b.ns) }).ns
	}
	ours, oursBest := figures(0)
	for i, r := range runners {
		ns, best := figures(i)
		own := "– | –"
		if !t.inProcess {
			own = fmt.Sprintf("%.1f | %.0f", median(samples[i], func(s sample) float64 { return s.cpu })/1e3, allocs[i])
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.1f | %.1f | %s | %.2f | %.2f |\n", t.name, name, r.name, ns/1e3, best/1e3, own, ours/ns, oursBest/best)
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
