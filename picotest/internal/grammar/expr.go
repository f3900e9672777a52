package grammar

// expr matches an expression: a flat row of operands and operators, which the
// second step (precedence.go) makes a tree of.
func (p *parser) expr(out *Expr) bool {
	start := p.pos
	if m, ok := p.exprs[start]; ok {
		if m.end < 0 {
			p.note(rExpr, start, len(p.attempts), len(p.attempts))
			return false
		}
		*out, p.pos = m.expr, m.end
		return true
	}
	var e Expr
	ok := p.nested(func() bool {
		return p.try(rExpr, tight, func() bool {
			var items []item
			if !p.operand(&items) {
				return false
			}
			p.many(func() bool {
				n := len(items)
				if p.first(
					func() bool {
						items = items[:n]
						return p.infix(&items) && p.operand(&items)
					},
					func() bool {
						items = items[:n]
						return p.in(&items)
					},
				) {
					return true
				}
				items = items[:n]
				return false
			})
			e = tree(items)
			return true
		})
	})
	if p.exprs == nil {
		p.exprs = make(map[int]memo)
	}
	if !ok {
		p.exprs[start] = memo{end: -1}
		return false
	}
	p.exprs[start] = memo{e, p.pos}
	*out = e
	return true
}

// infix matches an operator with the blanks that it needs.
func (p *parser) infix(items *[]item) bool {
	it := item{kind: infixItem}
	op := func(r rule, k opKind, match func() bool) func() bool {
		return func() bool {
			if !p.try(r, inherit, match) {
				return false
			}
			it.op = k
			return true
		}
	}
	word := func(w string) func() bool { return func() bool { return p.word(w) } }
	sym := func(s string) func() bool { return func() bool { return p.sym(s) } }
	ok := p.first(
		func() bool {
			return p.w() && p.first(
				op(rLike, opLike, func() bool {
					return p.first(word("like"), func() bool {
						it.not = true // ILIKE, told apart by this flag
						return p.word("ilike")
					})
				}),
				op(rSimilar, opSimilar, word("similar")),
				op(rEscape, opEscape, word("escape")),
				func() bool {
					return p.try(rBetween, tight, func() bool {
						it.op = opBetween
						it.not = p.maybe(func() bool { return p.not() && p.w() })
						return p.word("between")
					})
				},
				op(rAnd, opAnd, word("and")),
				op(rOr, opOr, word("or")),
			) && p.w()
		},
		func() bool {
			it.not = false
			return p.wo() && p.first(
				op(rAdd, opAdd, sym("+")),
				op(rSubtract, opSub, sym("-")),
				op(rModulo, opMod, sym("%")),
				op(rMultiply, opMul, sym("*")),
				op(rDivide, opDiv, sym("/")),
				op(rNotEq, opNe, func() bool { return p.first(sym("<>"), sym("!=")) }),
				op(rGtEq, opGe, sym(">=")),
				op(rGt, opGt, sym(">")),
				op(rLtEq, opLe, sym("<=")),
				op(rLt, opLt, sym("<")),
				op(rEq, opEq, sym("=")),
				op(rConcatInfixOp, opConcat, sym("||")),
			) && p.wo()
		},
	)
	if ok {
		if it.op != opLike && it.op != opBetween {
			it.not = false
		}
		*items = append(*items, it)
	}
	return ok
}

// in matches [NOT] IN and its right side, where a list in parentheses is a row
// even if it has one item.
func (p *parser) in(items *[]item) bool {
	it := item{kind: infixItem, op: opIn}
	if !p.w() || !p.try(rIn, inherit, func() bool {
		it.not = p.maybe(func() bool { return p.not() && p.w() })
		return p.word("in")
	}) || !p.w() {
		return false
	}
	*items = append(*items, it)
	n := len(*items)
	return p.first(
		func() bool {
			row := &Row{}
			if !p.row(row) {
				return false
			}
			*items = append(*items, item{kind: operandItem, expr: row})
			return true
		},
		func() bool {
			*items = (*items)[:n]
			return p.operand(items)
		},
	)
}

// operand matches a value with NOTs before it and subscripts, casts and IS after it.
func (p *parser) operand(items *[]item) bool {
	p.many(func() bool {
		start := p.pos
		if !p.try(rUnaryNot, inherit, p.not) {
			return false
		}
		span := p.since(start)
		if !p.w() {
			return false
		}
		*items = append(*items, item{kind: prefixItem, op: opNot, span: span})
		return true
	})
	var e Expr
	if !p.atom(&e) {
		return false
	}
	*items = append(*items, item{kind: operandItem, expr: e})
	index := func() bool { return p.indexPostfix(items) }
	cast := func() bool { return p.castPostfix(items) }
	switch {
	case p.v.AtLeast(V261):
		p.many(func() bool { return p.first(index, cast) })
	case p.v.AtLeast(V255):
		p.many(index)
		p.many(cast)
	default:
		p.many(cast)
	}
	return p.many(func() bool { return p.w() && p.isPostfix(items) })
}

func (p *parser) indexPostfix(items *[]item) bool {
	var sub Expr
	start := p.pos
	if !p.try(rIndexPostfix, inherit, func() bool {
		return p.wo() && p.sym("[") && p.wo() && p.expr(&sub) && p.wo() && p.sym("]")
	}) {
		return false
	}
	*items = append(*items, item{kind: postfixItem, op: opIndex, expr: sub, span: p.since(start)})
	return true
}

func (p *parser) castPostfix(items *[]item) bool {
	var t Type
	start := p.pos
	if !p.try(rCastPostfix, inherit, func() bool {
		return p.wo() && p.sym("::") && p.wo() && p.castTarget(&t)
	}) {
		return false
	}
	*items = append(*items, item{kind: postfixItem, op: opCast, typ: t, span: p.since(start)})
	return true
}

func (p *parser) isPostfix(items *[]item) bool {
	it := item{kind: postfixItem, op: opIs}
	start := p.pos
	if !p.try(rIsPostfix, tight, func() bool {
		if !p.word("is") || !p.w() {
			return false
		}
		it.not = p.maybe(func() bool { return p.not() && p.w() })
		is := func(k IsKind, match func() bool) func() bool {
			return func() bool {
				it.is = k
				return match()
			}
		}
		return p.first(is(IsTrue, p.bTrue), is(IsFalse, p.bFalse), is(IsUnknown, func() bool {
			return p.try(rUnknown, inherit, func() bool { return p.word("unknown") })
		}), is(IsNull, p.null))
	}) {
		return false
	}
	it.span = p.since(start)
	*items = append(*items, it)
	return true
}

// row matches values in parentheses.
func (p *parser) row(out *Row) bool {
	start := p.pos
	return p.try(rRow, spaced, func() bool {
		out.Items = nil
		if !p.sym("(") || !p.skip() || !p.exprList(&out.Items) || !p.sym(")") {
			return false
		}
		out.Span = p.since(start)
		return true
	})
}

// exprList matches expressions with commas between them, in a spaced rule.
func (p *parser) exprList(out *[]Expr) bool {
	*out = nil
	return p.spacedList(func() bool {
		var e Expr
		if !p.expr(&e) {
			return false
		}
		*out = append(*out, e)
		return true
	})
}
