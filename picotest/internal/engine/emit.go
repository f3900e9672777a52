package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// emit translates an expression that infer has typed; the text yields it in the type its surroundings want.
func (a *analyzer) emit(x grammar.Expr, sc *scope) string {
	own := a.types[x]
	to, cast := a.casts[x]
	if lit, ok := x.(*grammar.Literal); ok {
		if lit.Kind == grammar.DoubleLiteral && a.constants {
			f, _ := parseFloat(lit.Value)
			return cellLiteral(wholeClamped(f))
		}
		if cast {
			return a.emitLiteral(lit, to)
		}
		return a.emitLiteral(lit, own)
	}
	text := a.emitKind(x, sc)
	if p, ok := x.(*grammar.Param); ok {
		own = a.param(p.Index).typ // what it bends to isn't what the client sends
	}
	if cast {
		return coerceText(text, own, to)
	}
	return text
}

// coerceText wraps an expression so that its value has another type of number.
func coerceText(text string, from, to sqlType) string {
	if from == to || from.array || to.array {
		return text
	}
	switch to.base {
	case tDouble:
		if from.base != tDouble {
			return "todbl(" + text + ")"
		}
	case tNumeric:
		if from.base != tNumeric {
			return "todec(" + text + ")"
		}
	case tText:
		if from.base != tText && from.base != tUnknown {
			return fmt.Sprintf("p_cast(%s, %d, %d)", text, from.code(), to.code())
		}
	}
	return text
}

// compared adds the collation that a type compares by.
func compared(text string, t sqlType) string {
	if c := t.collation(); c != "" {
		return "(" + text + c + ")"
	}
	return text
}

// effective is the type an expression has once its surroundings have bent it.
func (a *analyzer) effective(x grammar.Expr) sqlType {
	if t, ok := a.casts[x]; ok {
		return t
	}
	if p, ok := x.(*grammar.Paren); ok {
		return a.effective(p.X)
	}
	return a.types[x]
}

// literal gives the value of a literal taken as type t. A string that doesn't read as t is the server's error.
func literal(x *grammar.Literal, t sqlType) (Value, *Error) {
	switch x.Kind {
	case grammar.NullLiteral:
		return nil, nil
	case grammar.TrueLiteral:
		return true, nil
	case grammar.FalseLiteral:
		return false, nil
	case grammar.IntegerLiteral:
		v, _ := parseInt(x.Value, 64)
		return v, nil
	case grammar.DecimalLiteral:
		d, err := ParseDecimal(x.Value)
		if err != nil {
			return nil, refuse("invalid query: value doesn't fit into decimal range: %s", x.Value)
		}
		return d, nil
	case grammar.DoubleLiteral:
		f, _ := parseFloat(x.Value)
		return f, nil
	}
	if t == typeUnknown || t == typeText {
		return x.Value, nil
	}
	if v, ok := convert(x.Value, t); ok && !t.array && t.base != tMap && t.base != tArrayAny {
		return v, nil
	}
	return nil, refuse("failed to parse '%s' as a value of type %s, consider using explicit type casts", x.Value, t)
}

func (a *analyzer) emitLiteral(x *grammar.Literal, t sqlType) string {
	v, err := literal(x, t)
	if err != nil {
		return "NULL" // literals are checked before anything runs
	}
	if c, ok := convert(v, t); ok && t != typeUnknown {
		v = c
	}
	return cellLiteral(toCell(v))
}

func cellLiteral(c cell) string {
	switch x := c.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		s := strconv.FormatFloat(x, 'e', -1, 64)
		if strings.Contains(s, "Inf") {
			s = strings.Replace(strings.TrimPrefix(s, "+"), "Inf", "9e999", 1)
		}
		return s
	case string:
		return quoteText(x)
	}
	return "NULL"
}

func (a *analyzer) emitList(xs []grammar.Expr, sc *scope) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = a.emit(x, sc)
	}
	return strings.Join(parts, ", ")
}

func (a *analyzer) emitKind(x grammar.Expr, sc *scope) string {
	switch x := x.(type) {
	case *grammar.Paren:
		return "(" + a.emit(x.X, sc) + ")"
	case *grammar.Param:
		return "?" + strconv.Itoa(x.Index)
	case *grammar.ColumnRef:
		b := a.columns[x]
		if b.source == nil {
			return "p_let(" + quoteText(x.Column.Name) + ")"
		}
		return quote(b.source.sqlName) + "." + quote(b.source.columns[b.index].ref())
	case *grammar.Cast:
		from, to := a.effective(x.X), typeOfName(x.Type).expr()
		if lit, ok := unparen(x.X).(*grammar.Literal); ok && lit.Kind == grammar.DoubleLiteral {
			return a.emitCast(a.emitLiteral(lit, typeDouble), typeDouble, to)
		}
		return a.emitCast(a.emit(x.X, sc), from, to)
	case *grammar.Binary:
		return a.emitBinary(x, sc)
	case *grammar.Not:
		return "(NOT " + a.emit(x.X, sc) + ")"
	case *grammar.Is:
		return a.emitIs(x, sc)
	case *grammar.Between:
		t := a.effective(x.X)
		not := ""
		if x.Not {
			not = "NOT "
		}
		return "(" + compared(a.comparand(x.X, sc), t) + " " + not + "BETWEEN " + a.comparand(x.Low, sc) + " AND " + a.comparand(x.High, sc) + ")"
	case *grammar.In:
		return a.emitIn(x, sc)
	case *grammar.LikeExpr:
		return a.emitLike(x, sc)
	case *grammar.Trim:
		where := map[grammar.TrimKind]string{grammar.TrimLeading: "leading", grammar.TrimTrailing: "trailing"}[x.Kind]
		set := "' '"
		if x.Pattern != nil {
			set = a.emit(x.Pattern, sc)
		}
		return "p_trim(" + a.emit(x.Target, sc) + ", " + set + ", '" + where + "')"
	case *grammar.Substring:
		args := []string{a.emit(x.X, sc), "1"}
		if x.From != nil {
			args[1] = a.emit(x.From, sc)
		}
		if x.For != nil {
			args = append(args, a.emit(x.For, sc))
		}
		return "p_substr(" + strings.Join(args, ", ") + ")"
	case *grammar.NowFunc:
		return fmt.Sprintf("p_now(%d)", x.Kind)
	case *grammar.FuncCall:
		return a.emitCall(x, sc)
	case *grammar.WindowCall:
		return a.emitWindow(x, sc)
	case *grammar.Case:
		return a.emitCase(x, sc)
	case *grammar.Exists:
		return "(EXISTS (" + a.subqueries[x].code + "))"
	case *grammar.SubQuery:
		code := a.subqueries[x].code
		if a.subqueries[x].many() {
			// SQLite takes the first of several rows, the storage refuses them.
			return "(CASE WHEN (SELECT count(*) FROM (" + code + " LIMIT 2)) > 1 THEN p_many(1) ELSE (" + code + ") END)"
		}
		return "(" + code + ")"
	case *grammar.Array:
		return "p_array(" + a.emitList(x.Items, sc) + ")"
	case *grammar.Index:
		fn := "p_index"
		if a.effective(x.X).array {
			fn = "p_item"
		}
		return fn + "(" + a.emit(x.X, sc) + ", " + a.emit(x.Sub, sc) + ")"
	case *grammar.Row:
		return "(" + a.emitList(x.Items, sc) + ")"
	}
	return "NULL"
}

func (a *analyzer) emitCast(text string, from, to sqlType) string {
	if from == to || from == typeUnknown {
		return text
	}
	return fmt.Sprintf("p_cast(%s, %d, %d)", text, from.code(), to.code())
}

func (a *analyzer) emitBinary(x *grammar.Binary, sc *scope) string {
	op := x.Op.String()
	l, r := a.emit(x.L, sc), a.emit(x.R, sc)
	t := a.effective(x.L)
	switch x.Op {
	case grammar.OpOr, grammar.OpAnd:
		return "(" + l + " " + op + " " + r + ")"
	case grammar.OpConcat:
		return "(" + a.concatenated(x.L, l) + " " + op + " " + a.concatenated(x.R, r) + ")"
	case grammar.OpEq, grammar.OpNe, grammar.OpLt, grammar.OpLe, grammar.OpGt, grammar.OpGe:
		if lr, ok := unparen(x.L).(*grammar.Row); ok {
			if rr, ok := unparen(x.R).(*grammar.Row); ok && (x.Op == grammar.OpEq || x.Op == grammar.OpNe) {
				return a.emitRowEquality(x.Op, lr, rr, sc)
			}
		}
		if t.array {
			return fmt.Sprintf("p_compare(%s, %d, %s)", l, t.code(), r)
		}
		return "(" + compared(a.comparand(x.L, sc), t) + " " + op + " " + a.comparand(x.R, sc) + ")"
	}
	names := map[grammar.BinaryOp]string{grammar.OpAdd: "add", grammar.OpSub: "sub", grammar.OpMul: "mul", grammar.OpDiv: "div", grammar.OpMod: "mod"}
	return "p_" + names[x.Op] + "(" + a.operand(x.L, sc) + ", " + a.operand(x.R, sc) + ")"
}

// operand translates a side of an arithmetic operator. The storage computes with the values as they are: inference's coercions
// don't reach it.
func (a *analyzer) operand(x grammar.Expr, sc *scope) string {
	lit, ok := unparen(x).(*grammar.Literal)
	if !ok {
		return a.chosen(x, a.emitKind(x, sc), true)
	}
	if lit.Kind == grammar.StringLiteral {
		return a.emit(lit, sc)
	}
	return a.emitLiteral(lit, literalType(lit, typeUnknown))
}

// stored is the type that the storage gives an expression of numbers by its form, any where values keep their own kinds.
func (a *analyzer) stored(x grammar.Expr) sqlType {
	var list []grammar.Expr
	switch n := unparen(x).(type) {
	case *grammar.Case:
		for _, w := range n.Whens {
			list = append(list, w.Then)
		}
		if n.Else != nil {
			list = append(list, n.Else)
		}
	case *grammar.FuncCall:
		if n.Name.Name != "coalesce" {
			return a.declared(x, false)
		}
		list = n.Args
	default:
		return a.declared(x, false)
	}
	_, isCase := unparen(x).(*grammar.Case)
	common := typeUnknown
	for _, y := range list {
		_, literal := unparen(y).(*grammar.Literal)
		switch t := a.stored(y); {
		case literal && !isCase:
			return typeAny // to the storage it's a parameter
		case t == typeUnknown:
		case t == typeAny, common != typeUnknown && common != t && !isCase:
			return typeAny
		case common == typeUnknown:
			common = t
		case numeric(t) && numeric(common):
			common = arithmeticType(common, t)
		}
	}
	return common
}

// holdsDouble tells whether some double may be among the results of a CASE.
func (a *analyzer) holdsDouble(x *grammar.Case) bool {
	found := false
	grammar.Walk(x, func(n grammar.Node) bool {
		if e, ok := n.(grammar.Expr); ok {
			found = found || a.types[e] == typeDouble || a.declared(e, false) == typeDouble
		}
		return !found
	})
	return found
}

// chosen makes of what a CASE of several kinds of numbers gave a number of the kind that they have in common. With values of no
// certain kind among them the storage makes scalars of all, which it doesn't compute with.
func (a *analyzer) chosen(x grammar.Expr, text string, operand bool) string {
	n, ok := unparen(x).(*grammar.Case)
	if !ok {
		return text
	}
	switch t := a.stored(n); {
	case numeric(t):
		return fmt.Sprintf("p_number(%s, %d)", text, t.code())
	case operand && t == typeAny && numeric(a.declared(x, false)):
		return "p_scalar(" + text + ")"
	}
	return text
}

// comparand translates a side of a comparison: what an operator or a function computed takes the type that both sides have.
func (a *analyzer) comparand(x grammar.Expr, sc *scope) string {
	text, t := a.emit(x, sc), a.effective(x)
	switch y := unparen(x).(type) {
	case *grammar.ColumnRef:
		if src := a.columns[y].source; src == nil || src.inner == nil {
			return text // a table's column holds what it says
		}
		if t == typeDouble || t == typeNumeric {
			return fmt.Sprintf("p_number(%s, %d)", text, t.code())
		}
	case *grammar.Binary, *grammar.FuncCall, *grammar.Case:
		if t == typeDouble || t == typeNumeric {
			return fmt.Sprintf("p_number(%s, %d)", text, t.code())
		}
	}
	return text
}

// concatenated makes a text of an operand of ||.
func (a *analyzer) concatenated(x grammar.Expr, text string) string {
	t := a.effective(x)
	if t.base == tText || t.base == tUnknown {
		return text
	}
	return fmt.Sprintf("p_cast(%s, %d, %d)", text, t.code(), typeText.code())
}

func (a *analyzer) emitRowEquality(op grammar.BinaryOp, l, r *grammar.Row, sc *scope) string {
	parts := make([]string, len(l.Items))
	for i := range l.Items {
		parts[i] = compared(a.emit(l.Items[i], sc), a.effective(l.Items[i])) + " = " + a.emit(r.Items[i], sc)
	}
	text := "(" + strings.Join(parts, " AND ") + ")"
	if op == grammar.OpNe {
		return "(NOT " + text + ")"
	}
	return text
}

func (a *analyzer) emitIs(x *grammar.Is, sc *scope) string {
	what := map[grammar.IsKind]string{grammar.IsNull: "NULL", grammar.IsUnknown: "NULL", grammar.IsTrue: "1", grammar.IsFalse: "0"}[x.Kind]
	not := ""
	if x.Not {
		not = "NOT "
	}
	return "(" + a.emit(x.X, sc) + " IS " + not + what + ")"
}

func (a *analyzer) emitIn(x *grammar.In, sc *scope) string {
	not := ""
	if x.Not {
		not = "NOT "
	}
	left := a.comparand(x.X, sc)
	t := a.effective(x.X)
	switch r := unparen(x.R).(type) {
	case *grammar.Row:
		if lr, ok := unparen(x.X).(*grammar.Row); ok {
			var parts []string
			for _, item := range r.Items {
				if rr, ok := unparen(item).(*grammar.Row); ok && len(rr.Items) == len(lr.Items) {
					parts = append(parts, a.emitRowEquality(grammar.OpEq, lr, rr, sc))
				}
			}
			return "(" + not + "(" + strings.Join(parts, " OR ") + "))"
		}
		items := make([]string, len(r.Items))
		for i, item := range r.Items {
			items[i] = a.comparand(item, sc)
		}
		return "(" + compared(left, t) + " " + not + "IN (" + strings.Join(items, ", ") + "))"
	case *grammar.SubQuery:
		return "(" + compared(left, t) + " " + not + "IN (" + a.subqueries[r].code + "))"
	}
	return "(" + compared(left, t) + " " + not + "IN (" + a.emit(x.R, sc) + "))"
}

func (a *analyzer) emitLike(x *grammar.LikeExpr, sc *scope) string {
	s, p, esc := a.emit(x.X, sc), a.emit(x.Pattern, sc), `'\'`
	if x.Escape != nil {
		esc = a.emit(x.Escape, sc)
	}
	if x.Kind == grammar.ILike {
		s, p = "p_lower("+s+")", "p_lower("+p+")"
	}
	return "p_like(" + s + ", " + p + ", " + esc + ")"
}

func (a *analyzer) emitCase(x *grammar.Case, sc *scope) string {
	var b strings.Builder
	b.WriteString("(CASE")
	if x.Operand != nil {
		b.WriteString(" " + compared(a.emit(x.Operand, sc), a.effective(x.Operand)))
	}
	for _, w := range x.Whens {
		b.WriteString(" WHEN " + a.emit(w.Cond, sc) + " THEN " + a.emit(w.Then, sc))
	}
	if x.Else != nil {
		b.WriteString(" ELSE " + a.emit(x.Else, sc))
	}
	b.WriteString(" END)")
	return b.String()
}
