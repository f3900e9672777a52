package balancer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

func pickMany(b options.Balancer, cs []options.Candidate, n int, seed uint64) []int {
	rnd := rand.New(rand.NewPCG(seed, 9))
	count := make([]int, len(cs))
	for range n {
		count[b.Pick(cs, rnd.Uint64())]++
	}
	return count
}

// near fails if a count is more than five standard deviations from its expectation.
func near(t *testing.T, name string, got, n int, p float64) {
	t.Helper()
	want := float64(n) * p
	if sd := math.Sqrt(want * (1 - p)); math.Abs(float64(got)-want) > 5*sd+1 {
		t.Errorf("%s: %d of %d, want %.0f", name, got, n, want)
	}
}

func TestRandomByWeight(t *testing.T) {
	cs := candidates(10, 5, 1, 4)
	const n = 20_000
	for i, c := range pickMany(NewRandom(), cs, n, 1) {
		near(t, fmt.Sprintf("pick: weight %d", cs[i].Weight), c, n, float64(cs[i].Weight)/20)
	}
	rnd := rand.New(rand.NewPCG(3, 9))
	r := NewRandom()
	for i := range cs {
		r.Set(i*37, cs[i].Weight*2, 0) // weights may change, indices may be far apart
		r.Set(i*37, cs[i].Weight, 0)
	}
	r.Set(500, 1000, 0)
	r.Unset(500)
	r.Unset(9999)
	count := map[int]int{}
	for range n {
		count[r.Next(rnd.Uint64())]++
	}
	for i := range cs {
		near(t, fmt.Sprintf("tracker: weight %d", cs[i].Weight), count[i*37], n, float64(cs[i].Weight)/20)
	}
	for i := range cs {
		r.Unset(i * 37)
	}
	if got := r.Next(1); got != -1 {
		t.Errorf("chose %d of nobody", got)
	}
}

func TestLeastBusyPicksTheFreest(t *testing.T) {
	cs := candidates(10, 10, 10, 10, 10)
	cs[0].InFlight, cs[3].InFlight = 10, 10
	count := pickMany(NewLeastBusy(), cs, 1000, 1)
	if count[0]+count[3] != 0 {
		t.Errorf("busy candidates were chosen: %v", count)
	}
	for _, i := range []int{1, 2, 4} {
		near(t, fmt.Sprintf("candidate %d", i), count[i], 1000, 1.0/3)
	}
}

func TestLeastBusyPerWeight(t *testing.T) {
	cs := candidates(10, 1)
	cs[0].InFlight, cs[1].InFlight = 9, 1
	if count := pickMany(NewLeastBusy(), cs, 100, 1); count[0] != 100 {
		t.Errorf("9 in flight of weight 10 is less busy than 1 of weight 1: %v", count)
	}
	cs[0].InFlight, cs[1].InFlight = 0, 0
	near(t, "idle ones go by weight", pickMany(NewLeastBusy(), cs, 11_000, 2)[0], 11_000, 10.0/11)
}

func TestLeastBusyOfManyComparesTwo(t *testing.T) {
	weights := make([]int, 100)
	for i := range weights {
		weights[i] = 10
	}
	cs := candidates(weights...)
	for i := range 50 {
		cs[i].InFlight = 5
	}
	busy := 0
	const n = 20_000
	for i, c := range pickMany(NewLeastBusy(), cs, n, 1) {
		if i < 50 {
			busy += c
		}
	}
	near(t, "both choices were busy", busy, n, 50.0*49/(100*99))
}

func TestNearestStaysInTheWindow(t *testing.T) {
	cs := candidates(10, 10, 10, 10)
	cs[0].Latency = 4 * time.Millisecond
	cs[1].Latency = 6 * time.Millisecond
	cs[2].Latency = 6*time.Millisecond + 1
	cs[3].Latency = 40 * time.Millisecond
	count := pickMany(NewNearest(), cs, 1000, 1)
	if count[2]+count[3] > 25 || count[2] == 0 || count[3] == 0 || count[0] < 400 || count[1] < 400 {
		t.Errorf("within half more than the lowest latency, but for one in a hundred: %v", count)
	}
	cs[0].InFlight = 3
	if count := pickMany(NewNearest(), cs, 100, 1); count[1] < 95 || count[0] > 0 {
		t.Errorf("of the near ones the least busy: %v", count)
	}
	cs[3].Latency = 0
	cs[1].InFlight = 3
	if count := pickMany(NewNearest(), cs, 100, 1); count[3] < 95 {
		t.Errorf("an unknown latency counts as near: %v", count)
	}
	for i := range cs {
		cs[i].Latency, cs[i].InFlight = 0, 0
	}
	for i, c := range pickMany(NewNearest(), cs, 4000, 1) {
		near(t, fmt.Sprintf("nothing known, candidate %d", i), c, 4000, 0.25)
	}
}

// A node is of the first zone that it matches whole, whatever the case of the letters.
func TestZoneLevels(t *testing.T) {
	zones := ParseZones([]string{"DC=m1/RACK=r7", "DC=m1", "REGION=eu"})
	for level, domain := range []map[string]string{
		{"DC": "M1", "RACK": "R7"}, {"DC": "M1", "RACK": "R1", "REGION": "EU"}, {"dc": "M2", "REGION": "EU"}, nil,
	} {
		if got := zones.Level(domain); got != level {
			t.Errorf("%v is of level %d, want %d", domain, got, level)
		}
	}
}

func TestStrategyFollowsTheConfiguration(t *testing.T) {
	cfg := options.New()
	for strategy, want := range map[options.BalanceStrategy]string{
		options.RoundRobin: "*balancer.RoundRobin", options.Random: "*balancer.Random",
		options.LeastBusy: "*balancer.LeastBusy", options.Nearest: "*balancer.Nearest",
	} {
		cfg.BalanceStrategy = strategy
		if got := fmt.Sprintf("%T", Strategy(cfg)); got != want {
			t.Errorf("strategy %v is %s, want %s", strategy, got, want)
		}
	}
	own := NewNearest()
	cfg.Balancer = own
	if Strategy(cfg) != options.Balancer(own) {
		t.Error("the user's strategy isn't used")
	}
}

func everyStrategy() map[string]options.Balancer {
	return map[string]options.Balancer{
		"round_robin": NewRoundRobin(), "random": NewRandom(), "least_busy": NewLeastBusy(), "nearest": NewNearest(),
	}
}

func manyCandidates(n int) []options.Candidate {
	weights := make([]int, n)
	for i := range weights {
		weights[i] = 1 + i%10
	}
	cs := candidates(weights...)
	for i := range cs {
		cs[i].InFlight = i % 7
		cs[i].Latency = time.Duration(i%5+1) * time.Millisecond
		cs[i].Zone = map[string]string{"DC": fmt.Sprint(i % 2)}
	}
	return cs
}

func TestPickAllocatesNothing(t *testing.T) {
	cs := manyCandidates(100)
	for name, b := range everyStrategy() {
		rnd := uint64(1)
		b.Pick(cs, rnd)
		if n := testing.AllocsPerRun(100, func() { rnd += 0x9e3779b97f4a7c15; b.Pick(cs, rnd) }); n != 0 {
			t.Errorf("%s: %v allocations per pick", name, n)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		cs := manyCandidates(n)
		for name, s := range everyStrategy() {
			b.Run(fmt.Sprintf("%s/nodes=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				rnd := uint64(1)
				for b.Loop() {
					rnd += 0x9e3779b97f4a7c15
					s.Pick(cs, rnd)
				}
			})
		}
		for name, s := range map[string]Tracker{"round_robin": NewRoundRobin(), "random": NewRandom()} {
			b.Run(fmt.Sprintf("%s_tracker/nodes=%d", name, n), func(b *testing.B) {
				for i := range cs {
					s.Set(i, cs[i].Weight, uint64(i))
				}
				b.ReportAllocs()
				rnd := uint64(1)
				for b.Loop() {
					rnd += 0x9e3779b97f4a7c15
					s.Next(rnd)
				}
			})
		}
	}
}
