package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// settings are the flags.
type settings struct {
	sample  int
	seed    uint64
	goal    float64
	list    bool
	kinds   string
	file    string
	timeout string
	alone   bool
}

func main() {
	var s settings
	flag.IntVar(&s.sample, "sample", 0, "mutants to try of each package, chosen by -seed; 0: all")
	flag.Uint64Var(&s.seed, "seed", 1, "of the choice")
	flag.Float64Var(&s.goal, "goal", 92, "percent that have to be caught in each package; 0 fails for nothing")
	flag.BoolVar(&s.list, "list", false, "list the mutants and run nothing")
	flag.StringVar(&s.kinds, "kinds", "", "only these, by commas: condition, boundary, call, release, assign, field, result, sum")
	flag.StringVar(&s.file, "file", "", "only those of files whose name contains this")
	flag.StringVar(&s.timeout, "timeout", "60s", "of a package's tests, a Go duration; a mutant that outlasts it is caught")
	flag.BoolVar(&s.alone, "alone", false, "only each package's own tests")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./internal/mutate [flags] PACKAGE…   (./...: those of targets.go)")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Stdout, s, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tries the mutants of packages, and tells whether in each of them enough were caught.
func run(ctx context.Context, w io.Writer, s settings, patterns []string) (ok bool, err error) {
	reasons, err := readAccepted(acceptedText)
	if err != nil {
		return false, err
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return false, err
	}
	root, _, _ := strings.Cut(string(out), "\n") // a workspace lists its other modules after the one we are in
	ok = true
	for _, t := range chosen(patterns) {
		all, err := mutants(root, t.pattern)
		if err != nil {
			return false, err
		}
		all = pick(all, s)
		if s.list {
			for _, m := range all {
				fmt.Fprintf(w, "%s:%d: %s\n", m.file, m.line, m)
			}
			fmt.Fprintf(w, "%s: %d mutants\n", t.pattern, len(all))
			continue
		}
		dir, err := os.MkdirTemp("", "mutate")
		if err != nil {
			return false, err
		}
		r := &runner{root: root, dir: dir, pattern: t.pattern, others: t.others, timeout: s.timeout}
		if s.alone {
			r.others = nil
		}
		enough, err := attempt(ctx, w, r, all, reasons, s.goal)
		_ = os.RemoveAll(dir) // what is left is the system's to clean
		if err != nil {
			return false, err
		}
		ok = ok && enough
	}
	return ok, nil
}

// attempt tries mutants in turn and prints those that nobody notices, then the sum.
func attempt(ctx context.Context, w io.Writer, r *runner, all []*mutant, reasons map[string]string, goal float64) (bool, error) {
	if err := r.cover(); err != nil {
		return false, err
	}
	count := map[verdict]int{}
	byKind := map[string][2]int{}
	for _, m := range all {
		if ctx.Err() != nil {
			break
		}
		v := accepted
		if reasons[m.String()] == "" {
			var err error
			if v, err = r.try(m); err != nil {
				return false, err
			}
		}
		count[v]++
		k := byKind[m.kind]
		switch v {
		case caught:
			k[0]++
			k[1]++
		case accepted, invalid:
		case survived, unseen:
			k[1]++
			fmt.Fprintf(w, "%s %s:%d: %s\n", v, m.file, m.line, m)
		}
		byKind[m.kind] = k
	}
	tried := count[caught] + count[survived] + count[unseen]
	percent := 100.0
	if tried > 0 {
		percent = 100 * float64(count[caught]) / float64(tried)
	}
	fmt.Fprintf(w, "%s: %d of %d caught (%.1f %%), %d not reached, %d accepted, %d invalid;", r.pattern, count[caught], tried, percent, count[unseen], count[accepted], count[invalid])
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(w, " %s %d/%d", kind, byKind[kind][0], byKind[kind][1])
	}
	fmt.Fprintln(w)
	return percent >= goal, ctx.Err()
}

// chosen gives the targets that patterns name.
func chosen(patterns []string) []target {
	var list []target
	for _, p := range patterns {
		if p == "./..." {
			list = append(list, targets...)
			continue
		}
		p = strings.TrimSuffix(p, "/")
		if i := slices.IndexFunc(targets, func(t target) bool { return t.pattern == p }); i >= 0 {
			list = append(list, targets[i])
		} else {
			list = append(list, target{pattern: p})
		}
	}
	return list
}

// pick keeps what the flags ask for.
func pick(all []*mutant, s settings) []*mutant {
	all = slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool {
		return s.kinds != "" && !slices.Contains(strings.Split(s.kinds, ","), m.kind) || !strings.Contains(m.file, s.file)
	})
	if s.sample <= 0 || s.sample >= len(all) {
		return all
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:s.sample]
}
