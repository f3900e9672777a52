package route

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Half-life and limits of a replicaset's error score.
const (
	// scoreHalfLife: an error counts half after it, so that a replicaset that recovered gets
	// its share back without anybody trying it on purpose.
	scoreHalfLife = 10 * time.Second
	// scoreMax bounds the score: a replicaset that gets no work is avoided for at most 40 s after its last error.
	scoreMax = 8
	// scoreTrickle: of so many choices one is made without the scores. What succeeds there halves the score, so that a
	// replicaset which lost all its connections at once, and is well, has its share back after a few seconds.
	scoreTrickle = 16
	// scoreSlack: a replicaset this close to the best one counts as good as it.
	scoreSlack = 0.5
)

// Health keeps a decaying score of connection and checkout errors for each replicaset. The
// zero value is ready and knows of no errors. It is safe for concurrent use; it has no clock: now
// is passed in.
type Health struct {
	mu     sync.Mutex
	scores map[string]score // by replicaset uuid
	kept   atomic.Int32     // how many there are: without errors a success costs nothing
}

type score struct {
	value float64
	at    time.Time
}

func (s score) now(now time.Time) float64 {
	age := now.Sub(s.at)
	if age <= 0 {
		return s.value
	}
	return s.value * math.Exp2(-float64(age)/float64(scoreHalfLife))
}

// Error counts a connection or checkout error of the replicaset.
func (h *Health) Error(replicaset string, now time.Time) {
	if replicaset == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.scores == nil {
		h.scores = map[string]score{}
	}
	for uuid, s := range h.scores { // what has faded needs no memory
		if s.now(now) < 0.01 {
			delete(h.scores, uuid)
		}
	}
	h.scores[replicaset] = score{value: min(h.scores[replicaset].now(now)+1, scoreMax), at: now}
	h.kept.Store(int32(len(h.scores)))
}

// Troubled reports whether a Success would change anything.
func (h *Health) Troubled() bool { return h.kept.Load() > 0 }

// Success counts a statement that the replicaset has answered.
func (h *Health) Success(replicaset string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.scores[replicaset]
	if !ok {
		return
	}
	if s = (score{value: s.now(now) / 2, at: now}); s.value < 0.01 {
		delete(h.scores, replicaset)
	} else {
		h.scores[replicaset] = s
	}
	h.kept.Store(int32(len(h.scores)))
}

// pick chooses uniformly among the usable shards whose score is near the best one.
func (h *Health) pick(shards []Shard, random uint64, now time.Time) (Shard, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	best := math.Inf(1)
	for i := range shards {
		if shards[i].Usable {
			best = min(best, h.scores[shards[i].UUID].now(now))
		}
	}
	if random%scoreTrickle == 0 {
		best = math.Inf(1)
	}
	good := func(s *Shard) bool { return s.Usable && h.scores[s.UUID].now(now) <= best+scoreSlack }
	return pickWhere(shards, random, good)
}
