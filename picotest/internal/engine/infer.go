package engine

import (
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// infer types an expression that its surroundings would like to be of type want (unknown: no wish). Literals and parameters bend
// to the wish, nothing else does. cost counts the bends, by which overloads are chosen.
func (a *analyzer) infer(x grammar.Expr, want sqlType, sc *scope) (t sqlType, cost int, err *Error) {
	if want.base == tAny && !want.array {
		return typeUnknown, 0, refuse("unexpected expression of type any, explicit cast to the actual type is required")
	}
	t, cost, err = a.inferKind(x, want, sc)
	if err == nil {
		a.types[x] = t
	}
	return t, cost, err
}

func (a *analyzer) inferKind(x grammar.Expr, want sqlType, sc *scope) (sqlType, int, *Error) {
	delete(a.casts, x)
	switch x := x.(type) {
	case *grammar.Paren:
		return a.infer(x.X, want, sc)
	case *grammar.Literal:
		return a.inferLiteral(x, want)
	case *grammar.Param:
		return a.inferParam(x, want)
	case *grammar.ColumnRef:
		b, err := a.resolve(x, sc)
		if err != nil {
			return typeUnknown, 0, err
		}
		if b.source == nil {
			if t := a.lets[x.Column.Name]; t != typeUnknown {
				return t, 0, nil
			}
			return want, 0, nil // a NULL takes any type
		}
		return b.source.columns[b.index].typ.expr(), 0, nil
	case *grammar.Cast:
		to := typeOfName(x.Type).expr()
		if to.base == tMap {
			return typeUnknown, 0, refuse("unsupported type: TypeJSON")
		}
		_, cost, err := a.infer(x.X, to, sc)
		return to, cost, err
	case *grammar.Binary:
		return a.inferBinary(x, want, sc)
	case *grammar.Not:
		cost, err := a.condition("NOT", x.X, sc)
		return typeBool, cost, err
	case *grammar.Is:
		if x.Kind == grammar.IsNull {
			_, cost, err := a.infer(x.X, typeUnknown, sc)
			a.defaultText(x.X)
			return typeBool, cost, err
		}
		t, cost, err := a.infer(x.X, typeBool, sc)
		if err == nil && t != typeBool && t != typeUnknown {
			err = refuse("could not resolve operator overload for =(%s, bool)", t)
		}
		return typeBool, cost, err
	case *grammar.Between:
		_, cost, err := a.homogeneous("BETWEEN", []grammar.Expr{x.X, x.Low, x.High}, typeUnknown, sc)
		return typeBool, cost, err
	case *grammar.In:
		return a.inferIn(x, sc)
	case *grammar.LikeExpr:
		args := []grammar.Expr{x.X, x.Pattern}
		if x.Escape != nil {
			args = append(args, x.Escape)
		}
		return a.inferTexts("like", args, typeBool, sc)
	case *grammar.Trim:
		args := []grammar.Expr{x.Target}
		if x.Pattern != nil {
			args = []grammar.Expr{x.Pattern, x.Target}
		}
		return a.inferTexts("trim", args, typeText, sc)
	case *grammar.Substring:
		args := []grammar.Expr{x.X}
		for _, e := range []grammar.Expr{x.From, x.For} {
			if e != nil {
				args = append(args, e)
			}
		}
		return a.resolveCall("substring", functions["substring"].overloads, args, want, "function", sc)
	case *grammar.NowFunc:
		switch x.Kind {
		case grammar.CurrentTime:
			return typeUnknown, 0, refuse("SQL function `CURRENT_TIME` not implemented")
		case grammar.LocalTime:
			return typeUnknown, 0, refuse("SQL function `LOCALTIME` not implemented")
		}
		return typeDT, 0, nil
	case *grammar.FuncCall:
		return a.inferCall(x, want, sc)
	case *grammar.WindowCall:
		return a.inferWindow(x, want, sc)
	case *grammar.Case:
		return a.inferCase(x, want, sc)
	case *grammar.Exists:
		q, err := a.query(x.Query, &scope{parent: sc}, nil)
		if err == nil {
			a.subqueries[x] = q
		}
		return typeBool, 0, err
	case *grammar.SubQuery:
		q, err := a.query(x.Query, &scope{parent: sc}, nil)
		if err != nil {
			return typeUnknown, 0, err
		}
		a.subqueries[x] = q
		if len(q.columns) != 1 {
			return typeUnknown, 0, refuse("subquery must return only one column")
		}
		return textIfUnknown(q.columns[0].typ), 0, nil
	case *grammar.Array:
		elem := typeText
		if want.array {
			elem = sqlType{base: want.base}
		}
		if len(x.Items) == 0 {
			return sqlType{base: elem.base, array: true}, 0, nil
		}
		t, cost, err := a.homogeneous("ARRAY", x.Items, elem, sc)
		if err == nil && t.array {
			err = refuse("nested arrays are not supported")
		}
		return sqlType{base: t.base, array: true}, cost, err
	case *grammar.Index:
		return a.inferIndex(x, want, sc)
	case *grammar.Row:
		return typeUnknown, 0, refuse("row value misused")
	}
	return typeUnknown, 0, refuse("unsupported expression")
}

// shownType is the type that an error names: a parameter that nobody typed is a text, NULL has none.
func shownType(x grammar.Expr, t sqlType) sqlType {
	if isNull(x) {
		return typeUnknown
	}
	return textIfUnknown(t)
}

func textIfUnknown(t sqlType) sqlType {
	if t == typeUnknown {
		return typeText
	}
	return t
}

func (a *analyzer) resolve(x *grammar.ColumnRef, sc *scope) (boundColumn, *Error) {
	if _, let := a.lets[x.Column.Name]; !let && (sc == nil || len(sc.sources) == 0) {
		return boundColumn{}, refuse("invalid expression: Reference %s met under Values that is unsupported. For string literals use single quotes.", x.Column.Text(a.sql))
	}
	b, err := sc.resolve(x)
	if err != nil {
		if _, ok := a.lets[x.Column.Name]; ok && x.Table == nil {
			b, err = boundColumn{}, nil
		}
	} else if _, ok := a.lets[x.Column.Name]; ok && x.Table == nil {
		return b, refuse("column reference %q is ambiguous: it could refer to either a LET variable or a table column", x.Column.Name)
	}
	if err == nil {
		a.columns[x] = b
	}
	return b, err
}

func (a *analyzer) inferLiteral(x *grammar.Literal, want sqlType) (sqlType, int, *Error) {
	var t sqlType
	switch x.Kind {
	case grammar.NullLiteral:
		return want, 0, nil
	case grammar.TrueLiteral, grammar.FalseLiteral:
		return typeBool, 0, nil
	case grammar.IntegerLiteral:
		if _, ok := parseInt(x.Value, 64); !ok {
			if strings.HasPrefix(x.Value, "-") {
				return t, 0, refuse("value parsing error: i64 parsing error number too small to fit in target type")
			}
			return t, 0, refuse("invalid query: value doesn't fit into integer range: %s", x.Value)
		}
		t = typeInt
	case grammar.DecimalLiteral:
		t = typeNumeric
	case grammar.DoubleLiteral:
		t = typeDouble
	case grammar.StringLiteral:
		if want == typeUnknown || want == typeText {
			return typeText, 0, nil
		}
		a.casts[x] = want
		return want, 1, nil
	}
	if want != typeUnknown && want != t && canCoerce(t, want) {
		a.casts[x] = want
		return want, 1, nil
	}
	return t, 0, nil
}

func (a *analyzer) inferParam(x *grammar.Param, want sqlType) (sqlType, int, *Error) {
	if x.Index == 0 {
		return typeUnknown, 0, refuse("invalid query: $n parameters are indexed from 1!")
	}
	p := a.param(x.Index)
	if !p.known {
		if want == typeUnknown {
			return typeUnknown, 0, nil // decided by defaultText, or by a later use
		}
		a.pending = append(a.pending, deduced{x.Index, want})
		return want, 0, nil
	}
	if want != typeUnknown && want != p.typ && canCoerce(p.typ, want) {
		a.casts[x] = want
		return want, 1, nil
	}
	return p.typ, 0, nil
}

// defaultText makes a parameter that nothing else types a text.
func (a *analyzer) defaultText(x grammar.Expr) {
	p, ok := unparen(x).(*grammar.Param)
	if !ok || p.Index < 1 || a.types[p] != typeUnknown {
		return
	}
	a.pending = append(a.pending, deduced{p.Index, typeText})
	for y := x; ; y = y.(*grammar.Paren).X {
		a.types[y] = typeText
		if _, ok := y.(*grammar.Paren); !ok {
			return
		}
	}
}

// condition types an expression that has to be a boolean.
func (a *analyzer) condition(context string, x grammar.Expr, sc *scope) (int, *Error) {
	t, cost, err := a.infer(x, typeBool, sc)
	if err == nil && t != typeBool {
		err = refuse("argument of %s must be type boolean, not type %s", context, t)
	}
	return cost, err
}

// fixed tells whether an expression has a type of its own, which literals and untyped parameters beside it take over.
func (a *analyzer) fixed(x grammar.Expr) bool {
	switch x := unparen(x).(type) {
	case *grammar.Literal:
		return x.Kind != grammar.StringLiteral && x.Kind != grammar.NullLiteral
	case *grammar.Param:
		return x.Index > 0 && a.param(x.Index).known
	}
	return true
}

// homogeneous finds the one type for all of some expressions and makes them be of it.
func (a *analyzer) homogeneous(context string, xs []grammar.Expr, want sqlType, sc *scope) (sqlType, int, *Error) {
	if want != typeUnknown {
		if cost, ok := a.allAs(xs, want, sc); ok {
			return want, cost, nil
		}
	}
	common, found := typeUnknown, false
	own := make([]sqlType, len(xs))
	before := len(a.pending)
	for i, x := range xs {
		t, _, err := a.infer(x, typeUnknown, sc)
		a.pending = a.pending[:before] // this was to look only
		if err != nil {
			return typeUnknown, 0, err
		}
		if t == typeArrAny {
			return typeUnknown, 0, refuse("unexpected expression of type array(any), explicit cast to the typed array is required")
		}
		own[i] = shownType(x, t)
		if !a.fixed(x) || t == typeUnknown {
			continue
		}
		switch {
		case !found || canCoerce(common, t) && rank(t) > rank(common):
			common, found = t, true
		}
	}
	if !found {
		if common = want; common == typeUnknown {
			common = typeText
		}
	} else if want != typeUnknown && canCoerce(common, want) && rank(want) > rank(common) {
		common = want
	}
	cost := 0
	for i, x := range xs {
		t, c, err := a.infer(x, common, sc)
		if err != nil {
			return typeUnknown, 0, err
		}
		if !canCoerce(t, common) {
			own[i] = t
			return typeUnknown, 0, a.mismatch(context, xs, own)
		}
		if cost += c; t != common {
			a.casts[x] = common
			cost++
		}
	}
	return common, cost, nil
}

// allAs makes all expressions be of the wished type if they can be.
func (a *analyzer) allAs(xs []grammar.Expr, want sqlType, sc *scope) (cost int, ok bool) {
	before := len(a.pending)
	for _, x := range xs {
		t, c, err := a.infer(x, want, sc)
		if err != nil || !canCoerce(t, want) {
			a.pending = a.pending[:before]
			return 0, false
		}
		if cost += c; t != want {
			a.casts[x] = want
			cost++
		}
	}
	return cost, true
}

func rank(t sqlType) int {
	switch t.base {
	case tInt, tUnsigned:
		return 1
	case tDouble:
		return 2
	case tNumeric:
		return 3
	}
	return 0
}

func (a *analyzer) mismatch(context string, xs []grammar.Expr, own []sqlType) *Error {
	if strings.ContainsAny(context, "=<>") || context == "in" {
		return refuse("could not resolve operator overload for %s(%s)", context, describe(own))
	}
	return refuse("%s types %s cannot be matched", context, describeAnd(own))
}

// resolveCall picks the overload that costs least, one of the wished result first.
func (a *analyzer) resolveCall(name string, list []overload, args []grammar.Expr, want sqlType, kind string, sc *scope) (sqlType, int, *Error) {
	best, bestCost := -1, 0
	before := len(a.pending)
	for i, o := range list {
		if len(o.args) != len(args) {
			continue
		}
		a.pending = a.pending[:before]
		cost, fits := 0, true
		for j, x := range args {
			t, c, err := a.infer(x, o.args[j], sc)
			if err != nil {
				return typeUnknown, 0, err
			}
			if o.args[j] != typeUnknown && !canCoerce(t, o.args[j]) {
				fits = false
				break
			}
			if cost += c; t != o.args[j] && o.args[j] != typeUnknown {
				cost++
			}
		}
		if !fits {
			continue
		}
		if want != typeUnknown && o.result == want {
			cost -= 1000
		}
		if best < 0 || cost < bestCost {
			best, bestCost = i, cost
		}
	}
	a.pending = a.pending[:before]
	if best < 0 {
		own := make([]sqlType, len(args))
		for i, x := range args {
			t, _, err := a.infer(x, typeUnknown, sc)
			if err != nil {
				return typeUnknown, 0, err
			}
			own[i] = shownType(x, t)
		}
		if name == "like" && len(own) == 2 {
			own = append(own, typeText) // ESCAPE has a default
		}
		return typeUnknown, 0, refuse("could not resolve %s overload for %s(%s)", kind, name, describe(own))
	}
	cost := 0
	for j, x := range args {
		w := list[best].args[j]
		t, c, err := a.infer(x, w, sc)
		if err != nil {
			return typeUnknown, 0, err
		}
		if cost += c; t != w && w != typeUnknown {
			a.casts[x] = w
			cost++
		}
		if w == typeUnknown {
			a.defaultText(x)
		}
	}
	return list[best].result, cost, nil
}
