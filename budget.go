package picodata

import "sync/atomic"

// counters count statements and hold the retry budget.
type counters struct {
	ok, bad, unknown, retries, revived, reroutes, spent atomic.Uint64
	// budget is in thousandths of a retry and starts full: see mayRetry. Kept as what is missing.
	missing atomic.Int64
}

// A retry takes budgetRetry from a budget of budgetFull, a statement that succeeds puts budgetGain back: in
// the long run one statement in ten may be run again, and a storm of failures can't multiply the load.
const (
	budgetFull  = 100_000
	budgetRetry = 1_000
	budgetGain  = 100
)

func (n *counters) succeeded() {
	n.ok.Add(1)
	if n.missing.Load() > 0 {
		n.missing.Add(-budgetGain)
	}
}

func (n *counters) failed(err error) {
	n.bad.Add(1)
	if IsOutcomeUnknown(err) {
		n.unknown.Add(1)
	}
}

func (n *counters) mayRetry() bool {
	if n.missing.Load() <= budgetFull-budgetRetry {
		return true
	}
	n.spent.Add(1)
	return false
}

func (n *counters) retried(a action) {
	n.retries.Add(1)
	switch a {
	case revive: // there is one of these per statement and change of a leader at most
		n.revived.Add(1)
		return
	case reroute:
		n.reroutes.Add(1)
	}
	n.missing.Add(budgetRetry)
}

func (n *counters) stats() StatementStats {
	return StatementStats{
		Succeeded: n.ok.Load(), Failed: n.bad.Load(), OutcomeUnknown: n.unknown.Load(),
		Retries: n.retries.Load(), Revived: n.revived.Load(), Reroutes: n.reroutes.Load(), BudgetSpent: n.spent.Load(),
	}
}
