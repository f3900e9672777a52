package grammar

import "fmt"

// PlanError is a refusal of the server that comes after the text has been read
// and for which no catalog is needed.
type PlanError struct{ Message string }

// Error gives the message as the server words it.
func (e *PlanError) Error() string { return e.Message }

// maxParam is the greatest index of a parameter.
const maxParam = 65535

// Check reports what the grammar lets in and the server refuses when it builds
// the plan: both styles of parameters in one text, $0, BETWEEN without AND, a
// stray ESCAPE, IN without a list, star arguments, CURRENT_TIME and the like. nil is fine.
func Check(s Statement) *PlanError {
	if e := checkParams(s); e != nil {
		return e
	}
	var found *PlanError
	Walk(s, func(n Node) bool {
		if found != nil {
			return false
		}
		found = checkNode(n)
		return found == nil
	})
	return found
}

func refuse(format string, args ...any) *PlanError {
	return &PlanError{"sbroad: " + fmt.Sprintf(format, args...)}
}

func checkParams(s Statement) *PlanError {
	var dollar, question bool
	params := Params(s)
	for _, p := range params {
		dollar = dollar || p.Style == DollarParam
		question = question || p.Style == QuestionParam
	}
	if dollar && question {
		return refuse("invalid parameters usage. Got $n and ? parameters in one query!")
	}
	for _, p := range params {
		switch {
		case p.Index < 0:
			return refuse("invalid query: Unsigned(%d, %d) cannot be parsed as unsigned param number", p.Start+1, p.End)
		case p.Index == 0:
			return refuse("invalid query: $n parameters are indexed from 1!")
		case p.Index > maxParam:
			return refuse("parameter index %d is too big (max: %d)", p.Index, maxParam)
		}
	}
	return nil
}

func checkNode(n Node) *PlanError {
	switch n := n.(type) {
	case *Query:
		if n.Limit != nil && n.Limit.Overflow {
			return refuse("invalid query: value doesn't fit into integer range: %s", n.Limit.Digits)
		}
	case *SelectCore:
		for _, d := range n.Windows {
			if d.Window.Misordered {
				return misordered()
			}
		}
	case *Between:
		if n.High == nil {
			return refuse("invalid expression: BETWEEN operator should have a view of `expr_1 BETWEEN expr_2 AND expr_3`.")
		}
	case *StrayEscape:
		if n.Twice {
			return refuse("invalid expression: escape specified twice: expr1 LIKE/SIMILAR expr2 ESCAPE expr 3 ESCAPE expr4")
		}
		// The server prints its own tree here; what stands for it is left out.
		return refuse("invalid expression: ESCAPE can go only after LIKE or SIMILAR expressions, got: %T", n.L)
	case *In:
		switch n.R.(type) {
		case *Row, *SubQuery:
		default:
			return refuse("invalid expression: In expression must have query or a list of values as right child")
		}
	case *FuncCall:
		if n.Star && n.Name.Name != "count" {
			return starOutsideCount(n.Name)
		}
	case *WindowCall:
		if n.Star && n.Name.Name != "count" {
			return starOutsideCount(n.Name)
		}
		if n.Over != nil && n.Over.Misordered {
			return misordered()
		}
	case *NowFunc:
		switch n.Kind {
		case CurrentTime:
			return refuse("SQL function `CURRENT_TIME` not implemented")
		case LocalTime:
			return refuse("SQL function `LOCALTIME` not implemented")
		}
	case *Substring:
		if n.Form == SubstringSimilar {
			return checkSimilar(n)
		}
	}
	return nil
}

func starOutsideCount(name Ident) *PlanError {
	return refuse(`invalid query: "*" is allowed only inside "count" aggregate function. Got: %s`, name.Name)
}

func misordered() *PlanError {
	return refuse("invalid expression: Invalid WINDOW body definition. Expected view of [BASE_WINDOW] [PARTITION BY] [ORDER BY] [FRAME]")
}

func checkSimilar(s *Substring) *PlanError {
	like, ok := s.X.(*LikeExpr)
	switch {
	case !ok || like.Kind != Similar:
		return refuse("invalid expression: incorrect SUBSTRING parameters. There is no such overload that takes only 1 argument")
	case like.Escape == nil:
		return refuse("invalid expression: missing escape symbol for SIMILAR substring operator")
	}
	return nil
}
