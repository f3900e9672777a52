package balancer

import (
	"testing"
	"time"
)

var (
	start  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config = HealthConfig{Threshold: 3, Window: 10 * time.Second, Duration: time.Second, MaxDuration: 30 * time.Second}
)

// middle is the random number for which Jitter adds nothing.
func middle(d time.Duration) uint64 { return uint64(d/10) << 1 }

func fail(h *Health, kind Evidence, at time.Time) bool { return h.Failure(&config, kind, at, 0) }

func TestHealthEjectsAtTheThreshold(t *testing.T) {
	var h Health
	if fail(&h, Dial, start) || fail(&h, Dial, start.Add(time.Second)) {
		t.Fatal("ejected before the third failure")
	}
	if h.State(start) != Healthy {
		t.Fatalf("state is %v", h.State(start))
	}
	if !fail(&h, Dial, start.Add(2*time.Second)) {
		t.Fatal("not ejected by the third failure")
	}
	if got := h.State(start.Add(2 * time.Second)); got != Ejected {
		t.Errorf("state is %v", got)
	}
	if fail(&h, Use, start.Add(2*time.Second)) {
		t.Error("ejected twice")
	}
}

func TestHealthForgetsFailures(t *testing.T) {
	var h Health
	fail(&h, Dial, start)
	fail(&h, Dial, start)
	if !h.Troubled() {
		t.Error("two failures are no trouble")
	}
	h.Success(Dial, start)
	if h.Troubled() {
		t.Error("in trouble after a success")
	}
	for range 2 {
		if fail(&h, Dial, start) {
			t.Error("a success in between doesn't count")
		}
	}
	// Failures further apart than the window don't add up.
	if fail(&h, Dial, start.Add(11*time.Second)) {
		t.Error("ejected by failures 11 s apart")
	}
}

// A node that accepts connections and loses them, or refuses them while old ones live, is ejected all the same.
func TestHealthCountsEvidenceApart(t *testing.T) {
	for _, kind := range []Evidence{Dial, Use} {
		var h Health
		for i := range 3 {
			ejected := fail(&h, kind, start)
			if ejected != (i == 2) {
				t.Errorf("failure %d of kind %d: ejected is %v", i+1, kind, ejected)
			}
			if !ejected {
				h.Success(1-kind, start)
			}
		}
	}
}

func TestHealthOneProbe(t *testing.T) {
	var h Health
	for range 3 {
		h.Failure(&config, Dial, start, middle(time.Second))
	}
	end := h.Until()
	if end != start.Add(time.Second) {
		t.Fatalf("the first ejection ends at %v", end)
	}
	if h.Probe(end.Add(-1)) {
		t.Error("probe before the end")
	}
	if h.State(end) != Probing || !h.Probe(end) {
		t.Fatal("no probe at the end")
	}
	if h.Probe(end) {
		t.Error("a second probe")
	}
	h.Abandon()
	if !h.Probe(end) {
		t.Error("no probe after the first was given up")
	}
	if h.Success(Use, end) {
		t.Error("readmitted by a success of an old connection")
	}
	if !h.Success(Dial, end) || h.State(end) != Healthy {
		t.Error("not readmitted by its probe")
	}
}

func TestHealthGrowsAndForgets(t *testing.T) {
	var h Health
	at := start
	for range 3 {
		h.Failure(&config, Dial, at, middle(time.Second))
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if got := h.Until().Sub(at); got != want {
			t.Fatalf("ejected for %v, want %v", got, want)
		}
		at = h.Until()
		if !h.Probe(at) {
			t.Fatal("no probe")
		}
		next := min(2*want, 30*time.Second)
		if !h.Failure(&config, Dial, at, middle(next)) {
			t.Fatal("a failed probe doesn't eject")
		}
	}
	// Back soon again: it goes on growing. Back after long health: it begins anew.
	at = h.Until()
	h.Probe(at)
	h.Success(Dial, at)
	for range 3 {
		h.Failure(&config, Use, at.Add(time.Second), middle(30*time.Second))
	}
	if got := h.Until().Sub(at.Add(time.Second)); got != 30*time.Second {
		t.Errorf("ejected for %v soon after it came back", got)
	}
	at = h.Until()
	h.Probe(at)
	h.Success(Dial, at)
	at = at.Add(time.Minute)
	for range 3 {
		h.Failure(&config, Use, at, middle(time.Second))
	}
	if got := h.Until().Sub(at); got != time.Second {
		t.Errorf("ejected for %v after a minute of health", got)
	}
}

func TestHealthOff(t *testing.T) {
	var h Health
	off := config
	off.Threshold = 0
	for range 100 {
		if h.Failure(&off, Dial, start, 0) {
			t.Fatal("ejected with a threshold of 0")
		}
	}
}

func TestJitterIsTenPercent(t *testing.T) {
	const d = 10 * time.Second
	lowest, highest := d, d
	for i := range uint64(10_000) {
		got := Jitter(d, mix(i, 0))
		lowest, highest = min(lowest, got), max(highest, got)
	}
	if lowest < 9*time.Second || highest > 11*time.Second || lowest > 9100*time.Millisecond || highest < 10900*time.Millisecond {
		t.Errorf("from %v to %v, want 9 s to 11 s", lowest, highest)
	}
	if Jitter(0, 5) != 0 {
		t.Error("jitter of nothing")
	}
}
