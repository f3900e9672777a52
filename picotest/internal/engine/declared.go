package engine

import "github.com/picodata/go-picodata/picotest/internal/grammar"

// declared is the type that the server announces for an expression. It isn't the one that inference settles on: the server reads it
// off the expression's form, so that coalesce(d, 1) is announced as an integer and 1 + NULL as unknown, whatever the values are.
// final tells that the expression is the last stage of an aggregation over several replicasets, where avg divides two doubles.
func (a *analyzer) declared(x grammar.Expr, final bool) sqlType {
	switch x := x.(type) {
	case *grammar.Paren:
		return a.declared(x.X, final)
	case *grammar.Literal:
		return literalType(x, a.types[x])
	case *grammar.Cast:
		if isNull(x.X) {
			return typeUnknown // the cast of a constant is done away with
		}
		return typeOfName(x.Type).expr()
	case *grammar.Binary:
		switch x.Op {
		case grammar.OpAdd, grammar.OpSub, grammar.OpMul, grammar.OpDiv, grammar.OpMod:
			return arithmeticType(a.declared(x.L, final), a.declared(x.R, final))
		}
	case *grammar.Case:
		for _, w := range x.Whens {
			if t := a.declared(w.Then, final); t != typeUnknown {
				return t
			}
		}
		if x.Else != nil {
			return a.declared(x.Else, final)
		}
		return typeUnknown
	case *grammar.FuncCall:
		switch {
		case x.Name.Name == "coalesce":
			last := typeUnknown
			for _, arg := range x.Args {
				if t := a.declared(arg, final); t != typeUnknown {
					last = t
				}
			}
			return last
		case x.Name.Name == "avg" && final && a.twoStages():
			return typeDouble
		case len(x.Args) == 1 && a.types[x] != typeUnknown:
			return a.functionType(x)
		}
	case *grammar.ColumnRef:
		if b := a.columns[x]; b.source != nil {
			return b.source.columns[b.index].typ.expr()
		}
	}
	return a.types[x]
}

// literalType is a literal's own type; a string is what was made of it.
func literalType(x *grammar.Literal, inferred sqlType) sqlType {
	switch x.Kind {
	case grammar.NullLiteral:
		return typeUnknown
	case grammar.IntegerLiteral:
		return typeInt
	case grammar.DecimalLiteral:
		return typeNumeric
	case grammar.DoubleLiteral:
		return typeDouble
	}
	return inferred
}

// functionType is the announced type of a function of one argument: that of the overload for the argument's announced type.
func (a *analyzer) functionType(x *grammar.FuncCall) sqlType {
	arg, same := a.declared(x.Args[0], false), x.Name.Name == "abs" || x.Name.Name == "min" || x.Name.Name == "max"
	if _, param := unparen(x.Args[0]).(*grammar.Param); param && x.Name.Name == "sum" {
		return typeNumeric
	}
	for _, o := range functions[x.Name.Name].overloads {
		if len(o.args) == 1 && o.args[0] == arg {
			return o.result
		}
	}
	if _, null := a.types[x.Args[0]]; null && arg == typeUnknown && numeric(a.types[x]) && same {
		return typeUnknown
	}
	return a.types[x]
}

func numeric(t sqlType) bool { return t == typeInt || t == typeDouble || t == typeNumeric }

// twoStages: since 26.2 avg over several replicasets divides two doubles, and elsewhere it keeps to the kind of its numbers.
func (a *analyzer) twoStages() bool { return a.sess.Version.AtLeast(26, 2) }

func isNull(x grammar.Expr) bool {
	l, ok := unparen(x).(*grammar.Literal)
	return ok && l.Kind == grammar.NullLiteral
}

// arithmeticType: a double announces itself over a decimal, though the values become decimals.
func arithmeticType(l, r sqlType) sqlType {
	switch {
	case l == typeUnknown || r == typeUnknown:
		return typeUnknown
	case l == typeDouble || r == typeDouble:
		return typeDouble
	case l == typeNumeric || r == typeNumeric:
		return typeNumeric
	}
	return typeInt
}
