package grammar

import (
	"fmt"
	"strings"
)

// dump writes an expression with every operator in parentheses, so that a test
// sees the tree.
func dump(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "-"
	case *Literal:
		switch e.Kind {
		case NullLiteral:
			return "null"
		case TrueLiteral:
			return "true"
		case FalseLiteral:
			return "false"
		case StringLiteral:
			return fmt.Sprintf("%q", e.Value)
		case DecimalLiteral:
			return "dec:" + e.Value
		case DoubleLiteral:
			return "dbl:" + e.Value
		}
		return e.Value
	case *Param:
		return fmt.Sprintf("$%d", e.Index)
	case *ColumnRef:
		if e.Table != nil {
			return e.Table.Name + "." + e.Column.Name
		}
		return e.Column.Name
	case *FuncCall:
		args := dumpAll(e.Args)
		if e.Star {
			args = "*"
		}
		if e.Distinct {
			args = "distinct " + args
		}
		return e.Name.Name + "(" + args + ")"
	case *WindowCall:
		args, over := dumpAll(e.Args), ""
		if e.Star {
			args = "*"
		}
		if e.OverName != nil {
			over = e.OverName.Name
		} else {
			over = dumpWindow(e.Over)
		}
		if e.Filter != nil {
			over = dump(e.Filter) + " " + over
		}
		return "over(" + e.Name.Name + "(" + args + ") " + over + ")"
	case *Cast:
		return "(" + dump(e.X) + "::" + e.Type.Name.String() + strings.Repeat("[]", e.Type.Dims) + ")"
	case *Trim:
		return fmt.Sprintf("trim(%d %s %s)", e.Kind, dump(e.Pattern), dump(e.Target))
	case *Substring:
		return fmt.Sprintf("substring(%d %s %s %s)", e.Form, dump(e.X), dump(e.From), dump(e.For))
	case *NowFunc:
		return fmt.Sprintf("now(%d %d)", e.Kind, e.Precision)
	case *Paren:
		return "[" + dump(e.X) + "]"
	case *Row:
		return "row(" + dumpAll(e.Items) + ")"
	case *SubQuery:
		return "subquery"
	case *Array:
		return "array(" + dumpAll(e.Items) + ")"
	case *Exists:
		return "exists"
	case *Case:
		s := "case " + dump(e.Operand)
		for _, w := range e.Whens {
			s += " when " + dump(w.Cond) + " then " + dump(w.Then)
		}
		return "(" + s + " else " + dump(e.Else) + ")"
	case *Not:
		return "(not " + dump(e.X) + ")"
	case *Binary:
		return "(" + dump(e.L) + " " + e.Op.String() + " " + dump(e.R) + ")"
	case *Between:
		return "(" + dump(e.X) + no(e.Not) + " between " + dump(e.Low) + " : " + dump(e.High) + ")"
	case *In:
		return "(" + dump(e.X) + no(e.Not) + " in " + dump(e.R) + ")"
	case *LikeExpr:
		return "(" + dump(e.X) + []string{" like ", " ilike ", " similar "}[e.Kind] + dump(e.Pattern) + " escape " + dump(e.Escape) + ")"
	case *Is:
		return "(" + dump(e.X) + " is" + no(e.Not) + []string{" null", " true", " false", " unknown"}[e.Kind] + ")"
	case *Index:
		return "(" + dump(e.X) + "[" + dump(e.Sub) + "])"
	case *StrayEscape:
		return "(" + dump(e.L) + " stray " + dump(e.R) + ")"
	}
	return fmt.Sprintf("%T", e)
}

func no(not bool) string {
	if not {
		return " not"
	}
	return ""
}

func dumpAll(list []Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = dump(e)
	}
	return strings.Join(parts, ", ")
}

func dumpWindow(s *WindowSpec) string {
	out := "partition(" + dumpAll(s.PartitionBy) + ") order("
	for i, o := range s.OrderBy {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s %d %d", dump(o.Expr), o.Order, o.Nulls)
	}
	out += ")"
	if f := s.Frame; f != nil {
		out += fmt.Sprintf(" frame(%d %d %s", f.Unit, f.Start.Kind, dump(f.Start.Offset))
		if f.End != nil {
			out += fmt.Sprintf(" to %d %s", f.End.Kind, dump(f.End.Offset))
		}
		out += ")"
	}
	return out
}
