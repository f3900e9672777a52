// Package account says what a driver's answer to a statement promises, and whether what a cluster holds afterwards keeps
// the promise. The runs that break clusters keep their books with it.
package account

import (
	"context"
	"errors"
	"fmt"

	picodata "github.com/picodata/go-picodata"
)

// Said is what the driver said about a write. The zero value: nothing, it was never asked.
type Said uint8

// What can be said.
const (
	Acknowledged Said = iota + 1
	InDoubt           // OutcomeUnknownError, or refused by some and perhaps applied by others
	Refused           // any other error: it must not have taken effect
)

// Verdict reads the driver's answer to a write.
func Verdict(err error) Said {
	switch {
	case err == nil:
		return Acknowledged
	case picodata.IsOutcomeUnknown(err), picodata.MayBePartial(err):
		return InDoubt
	}
	return Refused
}

// Finding is what comparing an answer with the cluster shows.
type Finding uint8

// The findings.
const (
	Kept    Finding = iota
	Lost            // acknowledged, and it isn't there
	Doubled         // it took effect more often than it was asked for
	Lied            // it was refused, or never asked for, and it is there
)

// Row judges the row of an INSERT that nobody else may have made: how often is it there?
func (s Said) Row(there int) Finding {
	switch {
	case s == Acknowledged && there == 0:
		return Lost
	case (s == Acknowledged || s == InDoubt) && there > 1:
		return Doubled
	case (s == Refused || s == 0) && there > 0:
		return Lied
	}
	return Kept
}

// Tally is what was said about the increments of one number.
type Tally struct{ Acknowledged, InDoubt int }

// Add takes an answer to one more increment.
func (t *Tally) Add(s Said) {
	switch s {
	case Acknowledged:
		t.Acknowledged++
	case InDoubt:
		t.InDoubt++
	}
}

// Judge compares the number with the increments: by how many is it wrong? More than there were is Doubled, for
// a refused one that ran can't be told from one that ran twice.
func (t Tally) Judge(n int) (Finding, int) {
	switch most := t.Acknowledged + t.InDoubt; {
	case n < t.Acknowledged:
		return Lost, t.Acknowledged - n
	case n > most:
		return Doubled, n - most
	}
	return Kept, 0
}

// Cause is a short name for an error, so that those of one cause can be counted together.
func Cause(err error) string {
	var e *picodata.Error
	var unknown *picodata.OutcomeUnknownError
	var prefix string
	if errors.As(err, &unknown) {
		prefix = "outcome unknown: "
		if unknown.Partly {
			prefix = "outcome unknown, partly: "
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return prefix + "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return prefix + "deadline"
	case errors.As(err, &e):
		return prefix + e.Kind.String()
	case prefix != "":
		return prefix + "connection lost"
	case picodata.IsRetryable(err):
		return fmt.Sprintf("not run (%T)", err)
	}
	return fmt.Sprintf("%T", err)
}
