package picodata

import (
	"context"
	"errors"
	"fmt"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/hazard"
	"github.com/picodata/go-picodata/options"
)

// GuardError refuses what a Picodata server would take and spoil: a number that it would store as another one, a UUID that it
// can't read again, a text that keeps the cluster busy. Nothing of the statement was sent. docs/failure.md lists what is refused.
type GuardError struct {
	Hazard  string // float, uuid or text
	Ordinal int    // of the argument, from 1; 0: the text
	Why     string // what the server would do; it shows no value
	Setting string // the DSN key and value that send it all the same
}

// Error says what would happen and what to do.
func (e *GuardError) Error() string {
	what := "the statement"
	if e.Ordinal > 0 {
		what = fmt.Sprintf("argument $%d", e.Ordinal)
	}
	return fmt.Sprintf("picodata: %s isn't sent: %s (%s switches this check off)", what, e.Why, e.Setting)
}

// Hazard is the public form of a refusal.
func (faults) Hazard(err error) error {
	var h *hazard.Error
	if !errors.As(err, &h) {
		return err
	}
	return &GuardError{Hazard: string(h.Kind), Ordinal: h.Ordinal, Why: h.Why, Setting: h.Setting}
}

// Limits are limits that the server puts on one statement; the zero value leaves both to the connection's setting.
type Limits struct {
	// VdbeOpcodeMax is sql_vdbe_opcode_max: how many steps of the server's SQL engine the statement may take.
	VdbeOpcodeMax options.Limit
	// MotionRowMax is sql_motion_row_max: how many rows it may move between instances at one step.
	MotionRowMax options.Limit
}

// WithLimits returns a context whose SELECT, INSERT, UPDATE and DELETE statements have other limits than the connection: the
// driver adds an OPTION clause to their texts, which servers know from 25.1 on. options.NoLimit lifts a limit. A statement of another kind, or
// one that has an OPTION clause of its own, is an error.
func WithLimits(ctx context.Context, l Limits) context.Context {
	return exec.WithHint(ctx, func(h *exec.Hint) {
		h.Limits = exec.Limits{Opcodes: l.VdbeOpcodeMax, MotionRows: l.MotionRowMax}
	})
}
