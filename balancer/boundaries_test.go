package balancer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

// What comes of an ejected node changes nothing until its probe is claimed, and then only a dial's failure does.
func TestHealthOfTheEjectedIsAboutTheProbeOnly(t *testing.T) {
	var h Health
	for range 3 {
		fail(&h, Dial, start)
	}
	until := h.Until()
	if fail(&h, Dial, start.Add(2*time.Second)) || fail(&h, Use, start.Add(2*time.Second)) || h.Until() != until {
		t.Errorf("a failure from before ejected anew, until %v", h.Until())
	}
	if !h.Probe(start.Add(2 * time.Second)) {
		t.Fatal("no probe")
	}
	if fail(&h, Use, start.Add(2*time.Second)) || h.Until() != until {
		t.Error("a failure of an old connection was taken for the probe's")
	}
	if !fail(&h, Dial, start.Add(2*time.Second)) || h.State(start.Add(2*time.Second)) != Ejected {
		t.Error("the probe's failure didn't eject anew")
	}
}

// One that was used because no other was left, and connected, is back without a probe.
func TestHealthComesBackWithoutAProbe(t *testing.T) {
	var h Health
	for range 3 {
		fail(&h, Dial, start)
	}
	if h.Success(Use, start) || h.State(start) != Ejected {
		t.Error("an old connection brought it back")
	}
	if !h.Success(Dial, start) || h.State(start) != Healthy || !h.Until().IsZero() || h.Troubled() {
		t.Errorf("after a connection: %v, until %v", h.State(start), h.Until())
	}
	if h.Success(Dial, start) {
		t.Error("brought back twice")
	}
}

// Ejections grow as long as one follows the return of the last within MaxDuration, to the nanosecond.
func TestHealthForgetsAfterMaxDuration(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  time.Duration
	}{{config.MaxDuration, 2 * time.Second}, {config.MaxDuration + 1, time.Second}} {
		var h Health
		eject := func(at time.Time) {
			for range 3 {
				h.Failure(&config, Dial, at, middle(time.Second))
			}
		}
		eject(start)
		back := start.Add(5 * time.Second)
		h.Success(Dial, back)
		at := back.Add(c.after)
		eject(at)
		if d := h.Until().Sub(at); d < c.want*9/10 || d > c.want*11/10 {
			t.Errorf("%v after its return: ejected for %v, want %v", c.after, d, c.want)
		}
	}
}

// A window that is exactly full still counts.
func TestHealthWindowIsInclusive(t *testing.T) {
	for _, c := range []struct {
		last time.Duration
		want bool
	}{{config.Window, true}, {config.Window + 1, false}} {
		var h Health
		fail(&h, Use, start)
		fail(&h, Use, start.Add(time.Second))
		if got := fail(&h, Use, start.Add(c.last)); got != c.want {
			t.Errorf("the third failure %v after the first: ejected is %v", c.last, got)
		}
	}
}

// Equals are drawn by weight down to the least ones: of two with weight 1 each is chosen every other time, and of three in
// a list a third each.
func TestEqualsOfLeastWeight(t *testing.T) {
	weights := make([]int, scanLimit+1)
	for i := range weights {
		weights[i] = 1
	}
	for _, n := range []int{2, 3, len(weights)} {
		count := pickMany(NewLeastBusy(), candidates(weights[:n]...), 1000*n, 3)
		for i, got := range count {
			if got < 800 || got > 1200 {
				t.Errorf("candidate %d of %d equals was chosen %d times of %d", i, n, got, 1000*n)
			}
		}
	}
	r := NewRandom()
	for i := range 3 {
		r.Set(i, 1, 0)
	}
	count := [3]int{}
	rnd := rand.New(rand.NewPCG(5, 0))
	for range 3000 {
		count[r.Next(rnd.Uint64())]++
	}
	for i, got := range count {
		if got < 800 || got > 1200 {
			t.Errorf("random chose candidate %d %d times of 3000", i, got)
		}
	}
}

// Equals that have something to do are drawn too, and so are those that nearest finds equally near.
func TestBusyEqualsAreDrawn(t *testing.T) {
	for _, b := range []options.Balancer{NewLeastBusy(), NewNearest()} {
		cs := candidates(1, 1, 1)
		for i := range cs {
			cs[i].InFlight, cs[i].Latency = 3, time.Millisecond
		}
		for i, got := range pickMany(b, cs, 3000, 6) {
			if got < 800 || got > 1200 {
				t.Errorf("%T chose candidate %d of three equals %d times of 3000", b, i, got)
			}
		}
	}
}

// Each strategy that has a name is built, and no two are the same.
func TestEveryStrategyIsBuilt(t *testing.T) {
	seen := map[string]options.BalanceStrategy{}
	for v := options.BalanceStrategy(0); ; v++ {
		var read options.BalanceStrategy
		if err := read.UnmarshalText([]byte(v.String())); err != nil {
			if v < 4 {
				t.Errorf("%d strategies: the test doesn't see them", v)
			}
			return
		}
		name := fmt.Sprintf("%T", Strategy(&options.Config{BalanceStrategy: v}))
		if other, ok := seen[name]; ok {
			t.Errorf("%v and %v are both %s", v, other, name)
		}
		seen[name] = v
	}
}
