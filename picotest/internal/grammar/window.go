package grammar

// over matches a window function's call.
func (p *parser) over(out *Expr) bool {
	start := p.pos
	return p.try(rOver, tight, func() bool {
		c := &WindowCall{}
		if !p.ident(&c.Name) || !p.wo() || !p.windowArgs(c) || !p.wo() || !p.windowFilter(&c.Filter) || !p.wo() ||
			!p.word("over") || !p.wo() || !p.first(
			func() bool {
				var id Ident
				if !p.ident(&id) {
					return false
				}
				c.OverName = &id
				return true
			},
			func() bool { return p.windowBody(&c.Over) },
		) {
			return false
		}
		c.Span = p.since(start)
		*out = c
		return true
	})
}

func (p *parser) windowArgs(c *WindowCall) bool {
	return p.try(rWindowFunctionArgs, inherit, func() bool {
		return p.sym("(") && p.wo() && p.opt(func() bool {
			return p.first(
				func() bool {
					c.Star = p.countAsterisk()
					return c.Star
				},
				func() bool {
					return p.try(rWindowFunctionArgsInner, spaced, func() bool { return p.exprList(&c.Args) })
				},
			)
		}) && p.wo() && p.sym(")")
	})
}

// windowFilter matches FILTER (WHERE …), or nothing.
func (p *parser) windowFilter(out *Expr) bool {
	return p.try(rWindowFunctionFilter, tight, func() bool {
		return p.opt(func() bool {
			var e Expr
			if !p.word("filter") || !p.wo() || !p.sym("(") || !p.wo() || !p.word("where") || !p.w() ||
				!p.expr(&e) || !p.wo() || !p.sym(")") {
				return false
			}
			*out = e
			return true
		})
	})
}

// windowBody matches a window in parentheses: up to three parts, whose order the
// server checks later.
func (p *parser) windowBody(out **WindowSpec) bool {
	start := p.pos
	return p.try(rWindowBody, tight, func() bool {
		s := &WindowSpec{}
		if !p.sym("(") || !p.wo() {
			return false
		}
		p.opt(func() bool {
			if !p.windowPart(s) {
				return false
			}
			for i := 0; i < 2; i++ {
				if !p.maybe(func() bool { return p.w() && p.windowPart(s) }) {
					break
				}
			}
			return true
		})
		if !p.wo() || !p.sym(")") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) windowPart(s *WindowSpec) bool {
	return p.first(
		func() bool {
			var list []Expr
			if !p.try(rWindowPartition, tight, func() bool {
				return p.words("partition", "by") && p.w() && p.list(func() bool {
					var e Expr
					if !p.expr(&e) {
						return false
					}
					list = append(list, e)
					return true
				})
			}) {
				return false
			}
			s.Misordered = s.Misordered || s.PartitionBy != nil || s.OrderBy != nil || s.Frame != nil
			s.PartitionBy = list
			return true
		},
		func() bool {
			var list []OrderItem
			if !p.orderBy(rWindowOrderBy, &list) {
				return false
			}
			s.OrderBy = list
			return true
		},
		func() bool {
			var f *Frame
			if !p.frame(&f) {
				return false
			}
			s.Misordered = s.Misordered || s.Frame != nil
			s.Frame = f
			return true
		},
	)
}

func (p *parser) frame(out **Frame) bool {
	start := p.pos
	return p.try(rWindowFrame, tight, func() bool {
		f := &Frame{}
		if !p.first(
			func() bool {
				f.Unit = FrameRange
				return p.try(rWindowFrameTypeRange, inherit, func() bool { return p.word("range") })
			},
			func() bool {
				f.Unit = FrameRows
				return p.try(rWindowFrameTypeRows, inherit, func() bool { return p.word("rows") })
			},
		) || !p.w() || !p.first(
			func() bool {
				return p.try(rWindowFrameSingle, inherit, func() bool { return p.bound(&f.Start) })
			},
			func() bool {
				return p.try(rWindowFrameBetween, tight, func() bool {
					f.End = &FrameBound{}
					return p.word("between") && p.w() && p.bound(&f.Start) && p.w() && p.word("and") && p.w() && p.bound(f.End)
				})
			},
		) {
			return false
		}
		f.Span = p.since(start)
		*out = f
		return true
	})
}

func (p *parser) bound(out *FrameBound) bool {
	fixed := func(r rule, k BoundKind, words ...string) func() bool {
		return func() bool {
			*out = FrameBound{Kind: k}
			return p.try(r, tight, func() bool { return p.words(words...) })
		}
	}
	offset := func(r rule, k BoundKind, word string) func() bool {
		return func() bool {
			*out = FrameBound{Kind: k}
			return p.try(r, tight, func() bool { return p.expr(&out.Offset) && p.w() && p.word(word) })
		}
	}
	return p.first(
		fixed(rPrecedingUnbounded, UnboundedPreceding, "unbounded", "preceding"),
		offset(rPrecedingOffset, OffsetPreceding, "preceding"),
		fixed(rCurrentRow, CurrentRow, "current", "row"),
		fixed(rFollowingUnbounded, UnboundedFollowing, "unbounded", "following"),
		offset(rFollowingOffset, OffsetFollowing, "following"),
	)
}
