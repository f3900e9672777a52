package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// planText writes plans. Names are quoted always (classic) or where they need it (modern, since 26.2).
type planText struct {
	s      *Stmt
	node   grammar.Statement
	a      *analyzer
	modern bool
	out    []string
	// subs are the subqueries inside of expressions, which the plan shows after the tree.
	subs []*query
}

func newPlanText(s *Stmt, node grammar.Statement) *planText {
	return &planText{s: s, node: node, a: s.an, modern: s.sess.Version.AtLeast(26, 2)}
}

// name writes an identifier.
func (p *planText) name(s string) string {
	if p.modern && plainName(s) {
		return s
	}
	return `"` + s + `"`
}

// plainName tells whether a name is read back as it is without quotes.
func plainName(s string) bool {
	for i, c := range s {
		switch {
		case c == '_', 'a' <= c && c <= 'z', i > 0 && '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// qualified writes a column of a source.
func (p *planText) qualified(src *source, col string) string {
	if src == nil || src.name == "" {
		return p.name(col)
	}
	return p.name(src.name) + "." + p.name(col)
}

// typed writes a value and its type.
func typed(text string, t sqlType) string { return text + "::" + t.planName() }

func (p *planText) list(xs []grammar.Expr) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = p.expr(x)
	}
	return strings.Join(parts, ", ")
}

// expr writes an expression with the types that were inferred.
func (p *planText) expr(x grammar.Expr) string {
	t := p.a.effective(x)
	switch x := x.(type) {
	case *grammar.Paren:
		return "(" + p.expr(x.X) + ")"
	case *grammar.Literal:
		return p.literal(x, t)
	case *grammar.Param:
		return typed(fmt.Sprintf("$%d", x.Index), t)
	case *grammar.ColumnRef:
		b := p.a.columns[x]
		if b.source == nil {
			return typed(p.name(x.Column.Name), t)
		}
		return typed(p.qualified(b.source, x.Column.Name), b.source.columns[b.index].typ.expr())
	case *grammar.Cast:
		return typed(p.expr(x.X), typeOfName(x.Type).expr())
	case *grammar.Binary:
		return p.expr(x.L) + " " + x.Op.String() + " " + p.expr(x.R)
	case *grammar.Not:
		return "not " + p.expr(x.X)
	case *grammar.Is:
		return p.is(x)
	case *grammar.Between:
		// The server plans it as two comparisons.
		text := p.expr(x.X) + " >= " + p.expr(x.Low) + " and " + p.expr(x.X) + " <= " + p.expr(x.High)
		if x.Not {
			return "not (" + text + ")"
		}
		return text
	case *grammar.In:
		text := p.expr(x.X) + " in " + p.expr(x.R)
		if x.Not {
			return "not " + text
		}
		return text
	case *grammar.LikeExpr:
		return p.like(x)
	case *grammar.Row:
		return "ROW(" + p.list(x.Items) + ")"
	case *grammar.Array:
		return typed("ARRAY["+p.list(x.Items)+"]", t)
	case *grammar.SubQuery:
		return p.subquery(x)
	case *grammar.Exists:
		return "exists " + p.subquery(x)
	case *grammar.FuncCall:
		return p.call(x, t)
	case *grammar.Case:
		return p.caseWhen(x)
	case *grammar.Index:
		return p.expr(x.X) + "[" + p.expr(x.Sub) + "]"
	}
	// Windows, TRIM, SUBSTRING and the current time are shown as they are written.
	return typed(x.Pos().Text(p.a.sql), t)
}

func (p *planText) literal(x *grammar.Literal, t sqlType) string {
	switch x.Kind {
	case grammar.NullLiteral:
		return "NULL::unknown"
	case grammar.TrueLiteral:
		return "true::bool"
	case grammar.FalseLiteral:
		return "false::bool"
	case grammar.StringLiteral:
		if t == typeUnknown {
			t = typeText
		}
		return typed("'"+x.Value+"'", t)
	}
	return typed(strings.TrimPrefix(x.Value, "+"), t)
}

func (p *planText) is(x *grammar.Is) string {
	text := p.expr(x.X)
	switch x.Kind {
	case grammar.IsTrue:
		text += " = true::bool"
	case grammar.IsFalse:
		text += " = false::bool"
	default:
		text += " is null"
	}
	if x.Not {
		return "not (" + text + ")"
	}
	return text
}

func (p *planText) like(x *grammar.LikeExpr) string {
	l, r := p.expr(x.X), p.expr(x.Pattern)
	if x.Kind == grammar.ILike {
		l, r = typed("lower(("+l+"))", typeText), typed("lower(("+r+"))", typeText)
	}
	escape := `'\'::string`
	if x.Escape != nil {
		escape = p.expr(x.Escape)
	}
	return l + " LIKE " + r + " ESCAPE " + escape
}

func (p *planText) call(x *grammar.FuncCall, t sqlType) string {
	name := x.Name.Name
	if !p.modern {
		name = `"` + name + `"`
	}
	f, _ := functionNamed(x.Name.Name, p.s.sess.Version)
	args := p.list(x.Args)
	switch {
	case x.Star:
		args = "*"
	case x.Distinct:
		args = "distinct " + args
	}
	if f.aggregate {
		return typed(x.Name.Name+"("+args+")", t)
	}
	return typed(name+"("+args+")", t)
}

func (p *planText) caseWhen(x *grammar.Case) string {
	var b strings.Builder
	b.WriteString("case ")
	if x.Operand != nil {
		b.WriteString(p.expr(x.Operand) + " ")
	}
	for _, w := range x.Whens {
		b.WriteString("when " + p.expr(w.Cond) + " then " + p.expr(w.Then) + " ")
	}
	if x.Else != nil {
		b.WriteString("else " + p.expr(x.Else) + " ")
	}
	return b.String() + "end"
}

// subquery remembers the query and writes its number.
func (p *planText) subquery(x grammar.Expr) string {
	p.subs = append(p.subs, p.a.subqueries[x])
	return fmt.Sprintf("ROW($%d)", len(p.subs)-1)
}
