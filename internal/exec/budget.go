package exec

import "sync/atomic"

// budget counts statements and holds the retry budget.
type budget struct {
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

func (b *budget) succeeded() {
	b.ok.Add(1)
	if b.missing.Load() > 0 {
		b.missing.Add(-budgetGain)
	}
}

func (b *budget) failed(unknown bool) {
	b.bad.Add(1)
	if unknown {
		b.unknown.Add(1)
	}
}

func (b *budget) mayRetry() bool {
	if b.missing.Load() <= budgetFull-budgetRetry {
		return true
	}
	b.spent.Add(1)
	return false
}

// retried counts an attempt after the first. free: time bounds it, not the budget.
func (b *budget) retried(a action, free bool) {
	b.retries.Add(1)
	if free {
		return
	}
	switch a {
	case revive: // there is one of these per statement and change of a leader at most
		b.revived.Add(1)
		return
	case reroute:
		b.reroutes.Add(1)
	case retry, giveUp:
	}
	b.missing.Add(budgetRetry)
}

func (b *budget) stats() StatementStats {
	return StatementStats{
		Succeeded: b.ok.Load(), Failed: b.bad.Load(), OutcomeUnknown: b.unknown.Load(),
		Retries: b.retries.Load(), Revived: b.revived.Load(), Reroutes: b.reroutes.Load(), BudgetSpent: b.spent.Load(),
	}
}

// StatementStats counts statements by how they ended. A statement that was run again counts once.
type StatementStats struct {
	Succeeded      uint64
	Failed         uint64
	OutcomeUnknown uint64
	Retries        uint64
	Revived        uint64
	Reroutes       uint64
	BudgetSpent    uint64
}
