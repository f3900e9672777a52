package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

func (a *analyzer) inferBinary(x *grammar.Binary, want sqlType, sc *scope) (sqlType, int, *Error) {
	switch x.Op {
	case grammar.OpEq, grammar.OpNe, grammar.OpLt, grammar.OpLe, grammar.OpGt, grammar.OpGe:
		cost, err := a.compare(x.Op.String(), x.L, x.R, sc)
		return typeBool, cost, err
	}
	return a.resolveCall(x.Op.String(), operators[x.Op.String()], []grammar.Expr{x.L, x.R}, want, "operator", sc)
}

// compare types both sides of a comparison: values, or rows of the same length.
func (a *analyzer) compare(op string, l, r grammar.Expr, sc *scope) (int, *Error) {
	lr, lok := unparen(l).(*grammar.Row)
	rr, rok := unparen(r).(*grammar.Row)
	switch {
	case lok && rok:
		if len(lr.Items) != len(rr.Items) {
			return 0, refuse("unequal number of entries in row expression: %d and %d", len(lr.Items), len(rr.Items))
		}
		cost := 0
		for i := range lr.Items {
			c, err := a.compare(op, lr.Items[i], rr.Items[i], sc)
			if err != nil {
				return 0, err
			}
			cost += c
		}
		return cost, nil
	case lok || rok:
		row, other := lr, r
		if rok {
			row, other = rr, l
		}
		if sub, ok := unparen(other).(*grammar.SubQuery); ok {
			return 0, a.rowAgainstQuery(row.Items, sub, sc)
		}
		return 0, refuse("row value misused")
	}
	_, cost, err := a.homogeneous(op, []grammar.Expr{l, r}, typeUnknown, sc)
	return cost, err
}

// rowAgainstQuery types the items of a row by the columns of a subquery.
func (a *analyzer) rowAgainstQuery(items []grammar.Expr, sub *grammar.SubQuery, sc *scope) *Error {
	q, err := a.query(sub.Query, &scope{parent: sc}, nil)
	if err != nil {
		return err
	}
	a.subqueries[sub] = q
	a.types[sub] = typeUnknown
	if len(items) == 1 && len(q.columns) != 1 {
		return refuse("subquery must return only one column")
	}
	if len(q.columns) != len(items) {
		return refuse("subquery returns %d columns, expected %d", len(q.columns), len(items))
	}
	for i, x := range items {
		want := textIfUnknown(q.columns[i].typ)
		t, _, err := a.infer(x, want, sc)
		if err != nil {
			return err
		}
		if !canCoerce(t, want) && !canCoerce(want, t) {
			return refuse("could not resolve operator overload for in(%s, %s)", t, want)
		}
	}
	return nil
}

func (a *analyzer) inferIn(x *grammar.In, sc *scope) (sqlType, int, *Error) {
	left := []grammar.Expr{x.X}
	if row, ok := unparen(x.X).(*grammar.Row); ok {
		left = row.Items
	}
	switch r := unparen(x.R).(type) {
	case *grammar.SubQuery:
		return typeBool, 0, a.rowAgainstQuery(left, r, sc)
	case *grammar.Row:
		if len(left) == 1 {
			if _, isRow := unparen(x.X).(*grammar.Row); !isRow {
				context := "in"
				if len(r.Items) > 1 {
					context = "IN"
				}
				_, cost, err := a.homogeneous(context, append([]grammar.Expr{x.X}, r.Items...), typeUnknown, sc)
				return typeBool, cost, err
			}
		}
		return typeUnknown, 0, refuse("IN operator for rows is not supported")
	}
	_, cost, err := a.homogeneous("in", []grammar.Expr{x.X, x.R}, typeUnknown, sc)
	return typeBool, cost, err
}

// inferTexts types a function whose arguments are all texts.
func (a *analyzer) inferTexts(name string, args []grammar.Expr, result sqlType, sc *scope) (sqlType, int, *Error) {
	want := make([]sqlType, len(args))
	for i := range want {
		want[i] = typeText
	}
	return a.resolveCall(name, []overload{{want, result}}, args, typeUnknown, "function", sc)
}

func (a *analyzer) inferCall(x *grammar.FuncCall, want sqlType, sc *scope) (sqlType, int, *Error) {
	name := x.Name.Name
	f, ok := functionNamed(name, a.sess.Version)
	if !ok || f.onlyOver {
		return typeUnknown, 0, refuse("SQL function %s not found", name)
	}
	if f.volatile && sc.inFilter() {
		return typeUnknown, 0, refuse("volatile function is not allowed in filter clause")
	}
	if f.aggregate {
		switch {
		case sc == nil || sc.noAggregate == "":
			sc.sawAggregate()
		case sc.noAggregate == "WHERE":
			a.doomed = "Failed to compile SQL statement: misuse of aggregate function " + strings.ToUpper(name) + "()"
		default:
			return typeUnknown, 0, refuse("invalid query: aggregate function %q is not allowed in %s", name, sc.noAggregate)
		}
	}
	if f.aggregate && len(x.Args) > 1 && len(f.overloads[len(f.overloads)-1].args) == 1 {
		return typeUnknown, 0, refuse("invalid query: Expected one argument for aggregate: %q.", name)
	}
	if f.volatile && len(x.Args) == 1 && isNull(x.Args[0]) {
		a.doomed = `failed to decode tuple: invalid type: unit value, expected a string when decoding msgpack b"\x91\xc0" into rust type (smol_str::SmolStr,)`
	}
	if name == "substring" && len(x.Args) == 3 && negativeLiteral(x.Args[2]) {
		return typeUnknown, 0, refuse("invalid expression: Length parameter in substring cannot be negative.")
	}
	switch {
	case x.Star:
		return typeInt, 0, nil
	case name == "coalesce":
		if len(x.Args) < 2 {
			a.doomed = fmt.Sprintf("Failed to compile SQL statement: Wrong number of arguments is passed to COALESCE(): expected at least 2, got %d", len(x.Args))
		}
		if len(x.Args) == 0 {
			return typeUnknown, 0, nil
		}
		return a.homogeneous("COALESCE", x.Args, want, sc)
	case name == "json_extract_path":
		for i, arg := range x.Args {
			w := typeText
			if i == 0 {
				w = typeMap
			}
			if _, _, err := a.infer(arg, w, sc); err != nil {
				return typeUnknown, 0, err
			}
		}
		return typeAny, 0, nil
	}
	switch {
	case name == "string_agg":
		name = "group_concat"
	case f.volatile && len(f.overloads[0].args) == 1 && strings.HasPrefix(name, "pico_"):
		name = ".proc_" + strings.TrimPrefix(name, "pico_")
	}
	return a.resolveCall(name, f.overloads, x.Args, want, "function", sc)
}

func negativeLiteral(x grammar.Expr) bool {
	l, ok := unparen(x).(*grammar.Literal)
	return ok && l.Kind == grammar.IntegerLiteral && strings.HasPrefix(l.Value, "-")
}

func (a *analyzer) inferWindow(x *grammar.WindowCall, want sqlType, sc *scope) (sqlType, int, *Error) {
	name := x.Name.Name
	if sc != nil && sc.noAggregate == "WHERE" {
		a.doomed = "Failed to compile SQL statement: misuse of window function " + strings.ToUpper(name) + "()"
	}
	f, ok := functionNamed(name, a.sess.Version)
	if !ok || !f.window {
		return typeUnknown, 0, refuse("invalid query: window function %s does not exist", name)
	}
	if x.Over != nil {
		if err := a.inferWindowSpec(x.Over, sc); err != nil {
			return typeUnknown, 0, err
		}
	}
	if x.Filter != nil {
		if _, err := a.condition("FILTER", x.Filter, sc); err != nil {
			return typeUnknown, 0, err
		}
	}
	if x.Star || name == "count" && len(x.Args) == 0 {
		return typeInt, 0, nil
	}
	return a.resolveCall(name, f.overloads, x.Args, want, "window function", sc)
}

func (a *analyzer) inferWindowSpec(w *grammar.WindowSpec, sc *scope) *Error {
	for _, p := range w.PartitionBy {
		if _, _, err := a.infer(p, typeUnknown, sc); err != nil {
			return err
		}
	}
	for _, o := range w.OrderBy {
		if _, _, err := a.infer(o.Expr, typeUnknown, sc); err != nil {
			return err
		}
	}
	if w.Frame == nil {
		return nil
	}
	if f := w.Frame; f.Unit == grammar.FrameRange && (f.Start.Offset != nil || f.End != nil && f.End.Offset != nil) {
		a.doomed = textRange
	}
	kind := "ROWS"
	if w.Frame.Unit == grammar.FrameRange {
		kind = "RANGE"
	}
	bounds := []grammar.FrameBound{w.Frame.Start}
	if w.Frame.End != nil {
		bounds = append(bounds, *w.Frame.End)
	}
	for _, b := range bounds {
		if b.Offset == nil {
			continue
		}
		t, _, err := a.infer(b.Offset, typeInt, sc)
		if err != nil {
			return err
		}
		if t != typeInt {
			return refuse("argument of %s must have integer type, got %s", kind, t)
		}
	}
	return nil
}

func (a *analyzer) inferCase(x *grammar.Case, want sqlType, sc *scope) (sqlType, int, *Error) {
	var results []grammar.Expr
	if x.Operand != nil {
		list := []grammar.Expr{x.Operand}
		for _, w := range x.Whens {
			list = append(list, w.Cond)
		}
		if _, _, err := a.homogeneous("CASE/WHEN", list, typeUnknown, sc); err != nil {
			return typeUnknown, 0, err
		}
	}
	for _, w := range x.Whens {
		if x.Operand == nil {
			if _, err := a.condition("CASE/WHEN", w.Cond, sc); err != nil {
				return typeUnknown, 0, err
			}
		}
		results = append(results, w.Then)
	}
	if x.Else != nil {
		results = append(results, x.Else)
	}
	return a.homogeneous("CASE/THEN", results, want, sc)
}

func (a *analyzer) inferIndex(x *grammar.Index, want sqlType, sc *scope) (sqlType, int, *Error) {
	source := typeMap
	if want != typeUnknown && want.base != tAny {
		source = sqlType{base: want.base, array: true}
	} else if !a.fixed(x.X) {
		source = sqlType{base: tText, array: true}
	}
	t, _, err := a.infer(x.X, source, sc)
	if err != nil {
		return typeUnknown, 0, err
	}
	k, _, err := a.infer(x.Sub, typeText, sc)
	if err != nil {
		return typeUnknown, 0, err
	}
	if k != typeText && k != typeInt {
		return typeUnknown, 0, refuse("could not resolve operator overload for [](%s, %s)", t, k)
	}
	switch {
	case t.array:
		return sqlType{base: t.base}, 0, nil
	case t.base == tAny, t.base == tMap, t.base == tArrayAny:
		return typeAny, 0, nil
	}
	return typeUnknown, 0, refuse("cannot index expression of type %s", t)
}

// inFilter tells whether an expression stands in a filter, its own SELECT's or one around it.
func (s *scope) inFilter() bool {
	for ; s != nil; s = s.parent {
		if s.filter {
			return true
		}
	}
	return false
}

func (s *scope) sawAggregate() {
	if s != nil && s.core != nil {
		s.core.aggregated = true
	}
}
