package grammar

import "strconv"

// atom matches a value without operators, in the server's order of attempts.
func (p *parser) atom(out *Expr) bool {
	return p.first(
		func() bool { return p.literal(out) },
		func() bool {
			var x *Param
			ok := p.parameter(&x)
			if ok {
				*out = x
			}
			return ok
		},
		func() bool { return p.over(out) },
		func() bool { return p.castOp(out) },
		func() bool { return p.trim(out) },
		func() bool { return p.substring(out) },
		func() bool { return p.now(out) },
		func() bool { return p.name(out) },
		func() bool { return p.paren(out) },
		func() bool { return p.exists(out) },
		func() bool { return p.caseWhen(out) },
		func() bool {
			start := p.pos
			var q *Query
			if !p.subQuery(&q) {
				return false
			}
			*out = &SubQuery{Span: p.since(start), Query: q}
			return true
		},
		func() bool { return p.v.AtLeast(V261) && p.array(out) },
		func() bool {
			row := &Row{}
			if !p.row(row) {
				return false
			}
			*out = row
			return true
		},
	)
}

// name matches a column or a function call.
func (p *parser) name(out *Expr) bool {
	start := p.pos
	return p.try(rIdentifierWithOptionalContinuation, tight, func() bool {
		var id Ident
		if !p.ident(&id) {
			return false
		}
		var column Ident
		call := &FuncCall{Name: id}
		var e Expr = &ColumnRef{Span: id.Span, Column: id}
		p.opt(func() bool {
			return p.first(
				func() bool {
					if !p.try(rReferenceContinuation, tight, func() bool { return p.sym(".") && p.ident(&column) }) {
						return false
					}
					e = &ColumnRef{Span: p.since(start), Table: &id, Column: column}
					return true
				},
				func() bool {
					if !p.wo() || !p.arguments(call) {
						return false
					}
					call.Span = p.since(start)
					e = call
					return true
				},
			)
		})
		*out = e
		return true
	})
}

// arguments matches the arguments of a function in their parentheses.
func (p *parser) arguments(call *FuncCall) bool {
	return p.try(rFunctionInvocationContinuation, spaced, func() bool {
		return p.sym("(") && p.skip() && p.opt(func() bool {
			return p.first(
				func() bool {
					call.Star = p.countAsterisk()
					return call.Star
				},
				func() bool {
					return p.try(rFunctionArgs, tight, func() bool {
						call.Distinct = p.maybe(func() bool { return p.distinct() && p.w() })
						call.Args = nil
						return p.opt(func() bool {
							return p.list(func() bool {
								var e Expr
								if !p.expr(&e) {
									return false
								}
								call.Args = append(call.Args, e)
								return true
							})
						})
					})
				},
			)
		}) && p.skip() && p.sym(")")
	})
}

func (p *parser) countAsterisk() bool {
	return p.try(rCountAsterisk, inherit, func() bool { return p.sym("*") })
}

// paren matches an expression in parentheses.
func (p *parser) paren(out *Expr) bool {
	start := p.pos
	return p.try(rExpressionInParentheses, spaced, func() bool {
		var e Expr
		if !p.sym("(") || !p.skip() || !p.expr(&e) || !p.skip() || !p.sym(")") {
			return false
		}
		*out = &Paren{Span: p.since(start), X: e}
		return true
	})
}

// exists matches EXISTS (query). A NOT before it has been read as an operator.
func (p *parser) exists(out *Expr) bool {
	start := p.pos
	return p.try(rExists, tight, func() bool {
		var q *Query
		if !p.opt(func() bool { return p.not() && p.w() }) || !p.word("exists") || !p.w() || !p.subQuery(&q) {
			return false
		}
		*out = &Exists{Span: p.since(start), Query: q}
		return true
	})
}

func (p *parser) caseWhen(out *Expr) bool {
	start := p.pos
	return p.try(rCase, tight, func() bool {
		c := &Case{}
		if !p.word("case") || !p.w() {
			return false
		}
		if !p.maybe(func() bool { return p.expr(&c.Operand) && p.w() }) {
			c.Operand = nil
		}
		p.many(func() bool {
			var w When
			if !p.try(rCaseWhenBlock, tight, func() bool {
				return p.word("when") && p.w() && p.expr(&w.Cond) && p.w() && p.word("then") && p.w() && p.expr(&w.Then)
			}) || !p.w() {
				return false
			}
			c.Whens = append(c.Whens, w)
			return true
		})
		if len(c.Whens) == 0 {
			return false
		}
		if !p.maybe(func() bool {
			return p.try(rCaseElseBlock, tight, func() bool {
				return p.word("else") && p.w() && p.expr(&c.Else)
			}) && p.w()
		}) {
			c.Else = nil
		}
		if !p.word("end") {
			return false
		}
		c.Span = p.since(start)
		*out = c
		return true
	})
}

func (p *parser) castOp(out *Expr) bool {
	start := p.pos
	return p.try(rCastOp, tight, func() bool {
		c := &Cast{}
		if !p.word("cast") || !p.wo() || !p.sym("(") || !p.wo() || !p.expr(&c.X) || !p.w() || !p.word("as") ||
			!p.w() || !p.castTarget(&c.Type) || !p.wo() || !p.sym(")") {
			return false
		}
		c.Span = p.since(start)
		*out = c
		return true
	})
}

func (p *parser) array(out *Expr) bool {
	start := p.pos
	return p.try(rArrayLiteral, spaced, func() bool {
		a := &Array{}
		if !p.word("array") || !p.skip() || !p.sym("[") || !p.skip() {
			return false
		}
		if !p.maybe(func() bool { return p.exprList(&a.Items) }) {
			a.Items = nil
		}
		if !p.skip() || !p.sym("]") {
			return false
		}
		a.Span = p.since(start)
		*out = a
		return true
	})
}

// now matches current_date and its kin.
func (p *parser) now(out *Expr) bool {
	one := func(r rule, w string, kind TimeKind) func() bool {
		return func() bool {
			start := p.pos
			return p.try(r, inherit, func() bool {
				n := &NowFunc{Kind: kind, Precision: -1}
				if !p.word(w) {
					return false
				}
				if kind != CurrentDate {
					p.opt(func() bool {
						var digits string
						if !p.wo() || !p.sym("(") || !p.wo() || !p.unsigned(&digits) || !p.wo() || !p.sym(")") {
							return false
						}
						// Seconds have six digits; more makes no difference.
						v, err := strconv.Atoi(digits)
						if err != nil || v > 6 {
							v = 6
						}
						n.Precision = v
						return true
					})
				}
				n.Span = p.since(start)
				*out = n
				return true
			})
		}
	}
	return p.first(
		one(rCurrentDate, "current_date", CurrentDate),
		one(rCurrentTimestamp, "current_timestamp", CurrentTimestamp),
		one(rCurrentTime, "current_time", CurrentTime),
		one(rLocalTimestamp, "localtimestamp", LocalTimestamp),
		one(rLocalTime, "localtime", LocalTime),
	)
}

func (p *parser) trim(out *Expr) bool {
	start := p.pos
	return p.try(rTrim, tight, func() bool {
		t := &Trim{}
		if !p.word("trim") || !p.wo() || !p.sym("(") || !p.wo() {
			return false
		}
		if !p.maybe(func() bool {
			return p.first(
				func() bool {
					if !p.maybe(func() bool { return p.trimKind(&t.Kind) && p.w() }) {
						t.Kind = TrimDefault
					}
					return p.try(rTrimPattern, inherit, func() bool { return p.expr(&t.Pattern) })
				},
				func() bool {
					t.Pattern = nil
					return p.trimKind(&t.Kind)
				},
			) && p.w() && p.word("from") && p.w()
		}) {
			t.Kind, t.Pattern = TrimDefault, nil
		}
		if !p.try(rTrimTarget, inherit, func() bool { return p.expr(&t.Target) }) || !p.wo() || !p.sym(")") {
			return false
		}
		t.Span = p.since(start)
		*out = t
		return true
	})
}

func (p *parser) trimKind(out *TrimKind) bool {
	return p.try(rTrimKind, inherit, func() bool {
		for _, k := range [...]struct {
			word string
			kind TrimKind
		}{{"leading", TrimLeading}, {"trailing", TrimTrailing}, {"both", TrimBoth}} {
			if p.word(k.word) {
				*out = k.kind
				return true
			}
		}
		return false
	})
}

func (p *parser) substring(out *Expr) bool {
	start := p.pos
	return p.try(rSubstring, tight, func() bool {
		s := &Substring{}
		word := func(w string) func() bool {
			return func() bool { return p.w() && p.word(w) && p.w() }
		}
		form := func(r rule, f SubstringForm, body func() bool) func() bool {
			return func() bool {
				*s = Substring{Form: f}
				return p.try(r, tight, func() bool { return p.expr(&s.X) && body() })
			}
		}
		from, for_ := word("from"), word("for")
		if !p.word("substring") || !p.wo() || !p.sym("(") || !p.wo() || !p.first(
			form(rSubstringFromFor, SubstringFromFor, func() bool {
				return from() && p.expr(&s.From) && for_() && p.expr(&s.For)
			}),
			form(rSubstringRegular, SubstringRegular, func() bool {
				return p.comma() && p.expr(&s.From) && p.comma() && p.expr(&s.For)
			}),
			form(rSubstringFor, SubstringFor, func() bool { return for_() && p.expr(&s.For) }),
			form(rSubstringFrom, SubstringFrom, func() bool {
				return p.first(
					func() bool { return from() && p.expr(&s.From) },
					func() bool { return p.comma() && p.expr(&s.From) },
				)
			}),
			form(rSubstringSimilar, SubstringSimilar, func() bool { return true }),
		) || !p.wo() || !p.sym(")") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}
