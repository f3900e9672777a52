package engine

import (
	"math"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// The server hands a double without a fraction on as an integer, and it keeps the plan that it made for a text with the types that the
// first values had: after UPDATE t SET d = $1 with 7.0 the same text with 7.75 stores 7. A text that differs by a blank has a plan of
// its own, and $1::double is right.

// planKey names a kept plan: a text at an instance.
type planKey struct{ sql, instance string }

// maxPlans bounds the plans that are kept.
const maxPlans = 4096

// asPlanned gives the arguments that reach the storage, by the plan that is kept for the text.
func (s *Stmt) asPlanned(args []Value, v View) []Value {
	if !s.sess.Version.AtLeast(26, 2) {
		return args
	}
	loose := false
	for i, a := range args {
		_, double := a.(float64)
		loose = loose || double && !s.an.cast[i+1]
	}
	if !loose {
		return args
	}
	out := append([]Value(nil), args...)
	for i, a := range out {
		if f, ok := a.(float64); ok && !s.an.cast[i+1] && f == math.Trunc(f) && !math.IsInf(f, 0) {
			out[i] = clampInt(f)
		}
	}
	if p, ok := s.plan.(*insertPlan); ok && p.consts && !p.table.global {
		return out // the rows are made where the statement arrived
	}
	key := planKey{s.sql, v.Instance}
	if s.tier != "" && len(v.Copies) > 0 {
		key.instance = v.Copies[0].Instance
	}
	plan, kept := s.eng.plans[key]
	if !kept {
		plan = make([]bool, len(out))
		for i, a := range out {
			_, whole := a.(int64)
			_, double := args[i].(float64)
			plan[i] = whole && double
		}
		if len(s.eng.plans) >= maxPlans {
			clear(s.eng.plans)
		}
		s.eng.plans[key] = plan
	}
	for i, a := range out {
		if f, ok := a.(float64); ok && i < len(plan) && plan[i] {
			out[i] = clampInt(f)
		}
	}
	return out
}

// wholeClamped is what becomes of a double that passes as an integer: beyond int64 its nearest end.
func wholeClamped(f float64) float64 {
	if f != math.Trunc(f) || math.IsInf(f, 0) || math.Abs(f) < 1<<63 {
		return f
	}
	return float64(clampInt(f))
}

// onlyCast finds the parameters that stand nowhere but under a cast to double.
func onlyCast(node grammar.Statement) map[int]bool {
	cast, bare := map[int]bool{}, map[int]bool{}
	grammar.Walk(node, func(n grammar.Node) bool {
		switch x := n.(type) {
		case *grammar.Cast:
			if p, ok := unparen(x.X).(*grammar.Param); ok && x.Type.Name == grammar.TypeDouble {
				cast[p.Index] = true
				return false
			}
		case *grammar.Param:
			bare[x.Index] = true
		}
		return true
	})
	for i := range bare {
		delete(cast, i)
	}
	return cast
}
