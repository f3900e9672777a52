// Package balancer chooses a node among candidates. Its strategies are pure: they do no I/O,
// start nothing, read no clock and allocate nothing per pick. It also holds the health of a
// node (Health), a state machine that is told the time.
//
// Which nodes are candidates (role, tier, caps, overflow, ejection) is not decided here:
// internal/pool does, and asks a strategy to choose among those that can take a connection now.
package balancer

import "github.com/picodata/go-picodata/options"

// Strategy returns the strategy that a configuration asks for: its Balancer if it has one, else the built-in one of
// balance_strategy. Sorting nodes by zone, priority and weight 0 is the caller's. Every call returns a new value with a state of its own, except where the configuration carries a Balancer: that
// one is returned each time.
func Strategy(cfg *options.Config) options.Balancer {
	if cfg.Balancer != nil {
		return cfg.Balancer
	}
	switch cfg.BalanceStrategy {
	case options.RoundRobin:
		return NewRoundRobin()
	case options.Random:
		return NewRandom()
	case options.LeastBusy:
		return NewLeastBusy()
	case options.Nearest:
		return NewNearest()
	}
	panic("balancer: balance_strategy=" + cfg.BalanceStrategy.String() + " has no strategy") // validation lets none through
}

// Tracker is a strategy that may be told of changes instead of reading every candidate at
// every pick: with a thousand nodes a pick then costs some ten steps. A Tracker is used
// either through Set, Unset and Next or through Pick, never through both.
type Tracker interface {
	options.Balancer
	// Set adds a candidate, or changes its weight. The index is options.Candidate's, weight >= 1.
	Set(index, weight int, rnd uint64)
	// Unset removes a candidate. One that isn't there is no error.
	Unset(index int)
	// Next returns the index of the candidate chosen, or -1 if there is none.
	Next(rnd uint64) int
}
