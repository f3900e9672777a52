package balancer

import "time"

// HealthConfig says when a node is ejected and for how long.
type HealthConfig struct {
	Threshold   int           // consecutive failures that eject; 0 or less = never
	Window      time.Duration // failures further apart than this don't add up; 0 = no limit
	Duration    time.Duration // the first ejection
	MaxDuration time.Duration // growth ends here
}

// HealthState is what a node's health allows.
type HealthState uint8

// The states. A node goes Healthy → Ejected → Probing → Healthy or Ejected again, for twice as long.
const (
	Healthy HealthState = iota
	Ejected             // not used until its time has passed
	Probing             // its time has passed: one probe may be made
)

// String names the state as logs and statistics do.
func (s HealthState) String() string {
	switch s {
	case Ejected:
		return "ejected"
	case Probing:
		return "probing"
	default:
		return "healthy"
	}
}

// Evidence is what a failure or a success was seen at. The two are counted apart: a node that accepts
// connections and then loses them, or refuses them while old ones live, would otherwise never be
// ejected, one kind's successes forgiving the other's failures.
type Evidence uint8

// The kinds of evidence.
const (
	Dial Evidence = iota // connecting, TLS and login
	Use                  // an established connection
	evidences
)

// Health is the health of one node as connection failures show it. It is a pure state machine:
// times and random numbers come from the caller. The zero value is healthy. Only failures of connections
// belong here; server errors, refused logins, exhausted capacity and cancelled contexts are no failures.
type Health struct {
	streak  [evidences]streak
	ejected bool
	probing bool
	until   time.Time
	level   int // ejections in a row; doubles the duration
	back    time.Time
}

type streak struct {
	count int
	first time.Time
}

// Failure counts a connection failure. It returns true if it ejects the node now. Failures of a node that
// is ejected change nothing, for they are news from before; that of a probe ejects anew.
func (h *Health) Failure(cfg *HealthConfig, kind Evidence, now time.Time, rnd uint64) bool {
	if h.ejected {
		if h.probing && kind == Dial {
			h.eject(cfg, now, rnd)
			return true
		}
		return false
	}
	if cfg.Threshold <= 0 {
		return false
	}
	s := &h.streak[kind]
	if s.count == 0 || cfg.Window > 0 && now.Sub(s.first) > cfg.Window {
		*s = streak{first: now}
	}
	s.count++
	if s.count < cfg.Threshold {
		return false
	}
	if h.level > 0 && now.Sub(h.back) > cfg.MaxDuration {
		h.level = 0
	}
	h.eject(cfg, now, rnd)
	return true
}

// Success ends the streak of its kind. A successful dial of a node whose ejection has ended, or that was used
// because no other was left, brings it back: then Success returns true.
func (h *Health) Success(kind Evidence, now time.Time) bool {
	h.streak[kind] = streak{}
	if !h.ejected || kind != Dial {
		return false
	}
	h.ejected, h.probing = false, false
	h.back = now
	return true
}

// Troubled tells whether a success would change anything.
func (h *Health) Troubled() bool {
	return h.ejected || h.streak[Dial].count > 0 || h.streak[Use].count > 0
}

// State says what the node may be used for at that time.
func (h *Health) State(now time.Time) HealthState {
	switch {
	case !h.ejected:
		return Healthy
	case now.Before(h.until):
		return Ejected
	default:
		return Probing
	}
}

// Probe claims the one probe of an ejection that has ended. Whoever gets true must report a Dial failure or
// success, or Abandon it.
func (h *Health) Probe(now time.Time) bool {
	if h.probing || h.State(now) != Probing {
		return false
	}
	h.probing = true
	return true
}

// Abandon gives the probe back: it was not made after all.
func (h *Health) Abandon() { h.probing = false }

// Until is the end of the current ejection; the zero time if there is none.
func (h *Health) Until() time.Time {
	if !h.ejected {
		return time.Time{}
	}
	return h.until
}

// eject ejects for Duration doubled per level, up to MaxDuration, ±10 %.
func (h *Health) eject(cfg *HealthConfig, now time.Time, rnd uint64) {
	d := max(cfg.Duration, time.Millisecond)
	limit := max(cfg.MaxDuration, d)
	for range h.level {
		if d >= limit/2 {
			d = limit
			break
		}
		d *= 2
	}
	d = min(Jitter(d, rnd), limit)
	h.level++
	h.ejected, h.probing = true, false
	h.until = now.Add(d)
	h.streak = [evidences]streak{}
}

// Jitter is d ± 10 %.
func Jitter(d time.Duration, rnd uint64) time.Duration {
	tenth := int64(d / 10)
	if tenth <= 0 {
		return d
	}
	return d + time.Duration(int64(rnd>>1)%(2*tenth+1)-tenth)
}
