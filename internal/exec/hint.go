package exec

import (
	"context"

	"github.com/picodata/go-picodata/internal/route"
)

// Hint is what a caller's context says about where and how a statement may run.
type Hint struct {
	Place      route.Hint
	Placed     bool // Place asks for something
	Idempotent bool
	AnyTime    bool // idempotent, also after what came later
	NoRetry    bool
	Limits     Limits
}

type hintKey struct{}

// HintOf returns the context's hint, or nil.
func HintOf(ctx context.Context) *Hint {
	h, _ := ctx.Value(hintKey{}).(*Hint)
	return h
}

// WithHint returns a context whose hint is a changed copy of ctx's.
func WithHint(ctx context.Context, change func(*Hint)) context.Context {
	h := Hint{}
	if old := HintOf(ctx); old != nil {
		h = *old
	}
	change(&h)
	return context.WithValue(ctx, hintKey{}, &h)
}
