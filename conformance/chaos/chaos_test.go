package chaos

import (
	"errors"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picodata/go-picodata/conformance/internal/account"
)

var (
	duration = flag.Duration("chaos.for", 0, "how long faults are made; 0 = 10s, with -short 3s")
	seed     = flag.Uint64("chaos.seed", 0, "decides the faults and their order; 0 = the clock's")
	verbose  = flag.Bool("chaos.log", false, "print every fault as it is made")
)

// TestChaos is the run that the package's documentation describes.
func TestChaos(t *testing.T) {
	cfg := Config{Seed: *seed, For: *duration}
	if cfg.For == 0 {
		cfg.For = 10 * time.Second
		if testing.Short() {
			cfg.For = 3 * time.Second
		}
	}
	if cfg.Seed == 0 {
		cfg.Seed = uint64(time.Now().UnixNano())
	}
	if *verbose {
		cfg.Log = os.Stderr
	}
	t.Logf("to run this again: -chaos.seed %d -chaos.for %v", cfg.Seed, cfg.For)
	leaks := goleak.IgnoreCurrent()
	before := descriptors(t)
	r, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Summary)
	for _, w := range r.Wrong {
		t.Error(w)
	}
	if n := r.Wrongs - len(r.Wrong); n > 0 {
		t.Errorf("and %d more", n)
	}
	goleak.VerifyNone(t, leaks)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// descriptors counts the process's open files, where the system tells.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A seed makes the same faults at the same times; another makes others. Every kind comes once at least.
func TestScheduleRepeats(t *testing.T) {
	a, b := schedule(1, time.Minute), schedule(1, time.Minute)
	if !slices.Equal(a, b) {
		t.Error("the same seed made other faults")
	}
	if slices.Equal(a, schedule(2, time.Minute)) {
		t.Error("another seed made the same faults")
	}
	if longer := schedule(1, 2*time.Minute); !slices.Equal(a, longer[:len(a)]) {
		t.Error("a longer run doesn't begin like a shorter one")
	}
	seen := map[kind]bool{}
	var outage time.Duration
	for _, s := range a {
		seen[s.kind] = true
		if s.kind <= lastOutage {
			if s.at < outage {
				t.Errorf("%v: two outages at once", s)
			}
			outage = s.at + s.last
		}
	}
	if len(seen) != int(kinds) {
		t.Errorf("%d of %d kinds in a minute", len(seen), kinds)
	}
}

// The ledger finds what it is there for.
func TestLedger(t *testing.T) {
	for name, c := range map[string]struct {
		said  account.Said
		there int
		wrong bool
	}{
		"acknowledged and there": {account.Acknowledged, 1, false}, "acknowledged and lost": {account.Acknowledged, 0, true}, "acknowledged and twice": {account.Acknowledged, 2, true},
		"in doubt and lost": {account.InDoubt, 0, false}, "in doubt and there": {account.InDoubt, 1, false}, "in doubt and twice": {account.InDoubt, 2, true},
		"refused and absent": {account.Refused, 0, false}, "refused and there": {account.Refused, 1, true}, "never written": {0, 1, true},
	} {
		l := newLedger()
		if c.said != 0 {
			l.rows[1] = c.said
		}
		rows := map[int]int{}
		if c.there > 0 {
			rows[1] = c.there
		}
		l.settle(rows, nil)
		if (l.wrongs > 0) != c.wrong {
			t.Errorf("%s: %v", name, l.wrong)
		}
	}
	for n, wrong := range map[int]bool{4: true, 5: false, 6: false, 7: false, 8: true} {
		l := newLedger()
		l.counts[1] = &account.Tally{Acknowledged: 5, InDoubt: 2}
		l.settle(nil, map[int]int{1: n})
		if (l.wrongs > 0) != wrong {
			t.Errorf("a counter at %d: %v", n, l.wrong)
		}
	}
}
