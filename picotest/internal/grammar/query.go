package grammar

import "strconv"

// query matches what the grammar calls a query: SELECT, VALUES, INSERT, UPDATE or
// DELETE with its OPTION list.
func (p *parser) query(out *Statement) bool {
	return p.try(rQuery, inherit, func() bool {
		start := p.pos
		var s Statement
		if !p.first(
			func() bool {
				q := &Query{}
				sel := &Select{Query: q}
				if !p.selectFull(q) {
					return false
				}
				sel.Span = q.Span
				s = sel
				return true
			},
			func() bool {
				q := &Query{}
				if !p.values(rValues, q) {
					return false
				}
				s = &Select{Span: q.Span, Query: q}
				return true
			},
			func() bool { return p.insert(&s) },
			func() bool { return p.update(&s) },
			func() bool { return p.delete(&s) },
		) {
			return false
		}
		p.skip()
		p.wo()
		p.skip()
		var options []Option
		if p.maybe(func() bool { return p.dqlOption(&options) }) {
			span := p.since(start)
			switch s := s.(type) {
			case *Select:
				s.Options, s.Span = options, span
			case *Insert:
				s.Options, s.Span = options, span
			case *Update:
				s.Options, s.Span = options, span
			case *Delete:
				s.Options, s.Span = options, span
			}
		}
		*out = s
		return true
	})
}

// nested runs body one level deeper, or refuses it when the text nests too deep.
func (p *parser) nested(body func() bool) bool {
	if p.depth >= maxDepth {
		return false
	}
	p.depth++
	ok := body()
	p.depth--
	return ok
}

// selectFull matches [WITH …] SELECT ….
func (p *parser) selectFull(q *Query) bool {
	return p.try(rSelectFull, tight, func() bool {
		start := p.pos
		var with []*CTE
		if !p.maybe(func() bool {
			with = nil
			return p.word("with") && p.w() && p.list(func() bool { return p.cte(&with) }) && p.w()
		}) {
			with = nil
		}
		if !p.nested(func() bool { return p.selectStatement(q) }) {
			return false
		}
		q.With, q.Span = with, p.since(start)
		return true
	})
}

// selectStatement matches SELECTs joined by set operators, ORDER BY and LIMIT.
func (p *parser) selectStatement(q *Query) bool {
	return p.try(rSelectStatement, tight, func() bool {
		start := p.pos
		*q = Query{}
		if !p.try(rSelectWithOptionalContinuation, tight, func() bool { return p.terms(q) }) {
			return false
		}
		p.opt(func() bool { return p.w() && p.orderBy(rOrderBy, &q.OrderBy) })
		p.opt(func() bool { return p.w() && p.limit(&q.Limit) })
		q.Span = p.since(start)
		return true
	})
}

func (p *parser) terms(q *Query) bool {
	core := &SelectCore{}
	if !p.selectCore(core) {
		return false
	}
	q.Terms = append(q.Terms, Term{Core: core})
	return p.many(func() bool {
		op, core := NoSetOp, &SelectCore{}
		if !p.w() || !p.setOp(&op) || !p.w() || !p.selectCore(core) {
			return false
		}
		q.Terms = append(q.Terms, Term{Op: op, Core: core})
		return true
	})
}

func (p *parser) setOp(out *SetOp) bool {
	return p.first(
		func() bool {
			*out = UnionAll
			return p.try(rUnionAllOp, token, func() bool { return p.words("union", "all") })
		},
		func() bool {
			*out = Except
			return p.try(rExceptOp, token, func() bool {
				return p.first(func() bool { return p.words("except", "distinct") }, func() bool { return p.word("except") })
			})
		},
		func() bool {
			*out = Union
			return p.try(rUnionOp, inherit, func() bool { return p.word("union") })
		},
	)
}

func (p *parser) cte(out *[]*CTE) bool {
	c := &CTE{Query: &Query{}}
	start := p.pos
	if !p.try(rCte, tight, func() bool {
		if !p.ident(&c.Name) {
			return false
		}
		if !p.maybe(func() bool {
			c.Columns = nil
			return p.wo() && p.sym("(") && p.list(func() bool {
				var id Ident
				if !p.identAs(rCteColumn, &id) {
					return false
				}
				c.Columns = append(c.Columns, id)
				return true
			}) && p.sym(")")
		}) {
			c.Columns = nil
		}
		return p.w() && p.word("as") && p.wo() && p.sym("(") && p.wo() && p.first(
			func() bool { return p.nested(func() bool { return p.selectStatement(c.Query) }) },
			func() bool { return p.values(rValues, c.Query) },
		) && p.wo() && p.sym(")")
	}) {
		return false
	}
	c.Span = p.since(start)
	*out = append(*out, c)
	return true
}

// orderBy matches ORDER BY of a query and of a window.
func (p *parser) orderBy(r rule, out *[]OrderItem) bool {
	return p.try(r, tight, func() bool {
		*out = nil
		return p.words("order", "by") && p.w() && p.list(func() bool {
			item := OrderItem{}
			start := p.pos
			if !p.try(rOrderByElement, tight, func() bool {
				return p.expr(&item.Expr) &&
					p.opt(func() bool { return p.w() && p.sortOrder(&item.Order) }) &&
					p.opt(func() bool { return p.w() && p.nullsOrder(&item.Nulls) })
			}) {
				return false
			}
			item.Span = p.since(start)
			*out = append(*out, item)
			return true
		})
	})
}

func (p *parser) sortOrder(out *SortOrder) bool {
	if p.try(rAsc, inherit, func() bool { return p.word("asc") }) {
		*out = Asc
		return true
	}
	if p.try(rDesc, inherit, func() bool { return p.word("desc") }) {
		*out = Desc
		return true
	}
	return false
}

func (p *parser) nullsOrder(out *NullsOrder) bool {
	if !p.v.AtLeast(Version{25, 3}) {
		return false
	}
	if p.try(rNullsFirst, inherit, func() bool { return p.words("nulls", "first") }) {
		*out = NullsFirst
		return true
	}
	if p.try(rNullsLast, inherit, func() bool { return p.words("nulls", "last") }) {
		*out = NullsLast
		return true
	}
	return false
}

func (p *parser) limit(out **Limit) bool {
	return p.try(rLimit, tight, func() bool {
		start := p.pos
		l := &Limit{}
		var digits string
		if !p.word("limit") || !p.w() || !p.first(
			func() bool { return p.unsigned(&digits) },
			func() bool {
				l.All = p.try(rLimitAll, inherit, func() bool {
					return p.first(func() bool { return p.word("all") }, p.null)
				})
				return l.All
			},
		) {
			return false
		}
		if !l.All {
			n, err := strconv.ParseInt(digits, 10, 64)
			l.Count, l.Digits, l.Overflow = uint64(n), digits, err != nil
		}
		l.Span = p.since(start)
		*out = l
		return true
	})
}

// selectCore matches one SELECT without set operators.
func (p *parser) selectCore(c *SelectCore) bool {
	start := p.pos
	ok := p.try(rSelect, tight, func() bool {
		if !p.word("select") || !p.w() || !p.projection(c) {
			return false
		}
		if !p.maybe(func() bool { return p.w() && p.selectBody(c) }) {
			c.From, c.Joins, c.Where, c.GroupBy, c.Having, c.Windows = nil, nil, nil, nil, nil, nil
		}
		return true
	})
	c.Span = p.since(start)
	return ok
}

func (p *parser) projection(c *SelectCore) bool {
	return p.try(rProjection, tight, func() bool {
		c.Distinct = p.maybe(func() bool { return p.distinct() && p.w() })
		return p.list(func() bool {
			var item SelectItem
			if !p.first(func() bool { return p.asterisk(&item) }, func() bool { return p.column(&item) }) {
				return false
			}
			c.Items = append(c.Items, item)
			return true
		})
	})
}

func (p *parser) distinct() bool {
	return p.try(rDistinct, inherit, func() bool { return p.word("distinct") })
}

func (p *parser) asterisk(out *SelectItem) bool {
	start := p.pos
	return p.try(rAsterisk, tight, func() bool {
		var table Ident
		qualified := p.maybe(func() bool { return p.ident(&table) && p.sym(".") })
		if !p.sym("*") {
			return false
		}
		*out = SelectItem{Span: p.since(start), Star: true}
		if qualified {
			out.StarTable = &table
		}
		return true
	})
}

func (p *parser) column(out *SelectItem) bool {
	start := p.pos
	return p.try(rColumn, tight, func() bool {
		item := SelectItem{}
		if !p.publicSchema() || !p.expr(&item.Expr) {
			return false
		}
		p.opt(func() bool { return p.alias(&item.Alias) })
		item.Span = p.since(start)
		*out = item
		return true
	})
}

// alias matches [AS] name after a blank.
func (p *parser) alias(out **Ident) bool {
	var id Ident
	if !p.w() || !p.opt(func() bool { return p.word("as") && p.w() }) || !p.ident(&id) {
		return false
	}
	*out = &id
	return true
}

func (p *parser) selectBody(c *SelectCore) bool {
	c.From = &Source{}
	if !p.word("from") || !p.w() || !p.source(c.From) {
		return false
	}
	return p.many(func() bool {
		j := &Join{Source: &Source{}}
		if !p.w() || !p.join(j) {
			return false
		}
		c.Joins = append(c.Joins, j)
		return true
	}) &&
		p.opt(func() bool { return p.w() && p.where(&c.Where) }) &&
		p.opt(func() bool { return p.w() && p.words("group", "by") && p.w() && p.groupBy(&c.GroupBy) }) &&
		p.opt(func() bool {
			return p.w() && p.word("having") && p.w() &&
				p.try(rHaving, inherit, func() bool { return p.expr(&c.Having) })
		}) &&
		p.opt(func() bool { return p.w() && p.word("window") && p.w() && p.namedWindows(&c.Windows) })
}

// where matches WHERE and its condition.
func (p *parser) where(out *Expr) bool {
	return p.word("where") && p.w() && p.try(rSelection, inherit, func() bool { return p.expr(out) })
}

func (p *parser) groupBy(out *[]Expr) bool {
	var list []Expr
	ok := p.try(rGroupBy, inherit, func() bool {
		return p.list(func() bool {
			var e Expr
			if !p.expr(&e) {
				return false
			}
			list = append(list, e)
			return true
		})
	})
	if ok {
		*out = list
	}
	return ok
}

// source matches a table or a subquery with alias and INDEXED BY.
func (p *parser) source(out *Source) bool {
	start := p.pos
	return p.try(rScan, tight, func() bool {
		s := Source{}
		if !p.first(
			func() bool {
				var t TableName
				if !p.publicSchema() || !p.identAs(rScanCteOrTable, &t.Ident) {
					return false
				}
				s.Table = &t
				return true
			},
			func() bool { return p.subQuery(&s.Query) },
		) {
			return false
		}
		p.opt(func() bool {
			var id Ident
			if !p.w() || !p.opt(func() bool { return p.word("as") && p.w() }) || p.atIndexedBy() || !p.ident(&id) {
				return false
			}
			s.Alias = &id
			return true
		})
		p.indexedBy(&s.IndexedBy)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// atIndexedBy looks ahead for INDEXED BY, which would else be taken for an alias.
func (p *parser) atIndexedBy() bool {
	if !p.v.AtLeast(V256) {
		return false
	}
	start := p.pos
	ok := p.words("indexed", "by") && p.w()
	p.pos = start
	return ok
}

// indexedBy matches INDEXED BY index, if it's there.
func (p *parser) indexedBy(out **Ident) bool {
	if !p.v.AtLeast(V256) {
		return true
	}
	return p.opt(func() bool {
		return p.try(rIndexedByExpr, inherit, func() bool {
			var id Ident
			if !p.w() || !p.words("indexed", "by") || !p.w() || !p.ident(&id) {
				return false
			}
			*out = &id
			return true
		})
	})
}

func (p *parser) join(out *Join) bool {
	start := p.pos
	ok := p.try(rJoin, inherit, func() bool {
		out.KindWritten = p.maybe(func() bool {
			return p.first(
				func() bool {
					out.Kind = InnerJoin
					return p.try(rInnerJoinKind, inherit, func() bool { return p.word("inner") })
				},
				func() bool {
					out.Kind = LeftJoin
					return p.try(rLeftJoinKind, inherit, func() bool {
						return p.word("left") && p.opt(func() bool { return p.w() && p.word("outer") })
					})
				},
			) && p.w()
		})
		if !out.KindWritten {
			out.Kind = InnerJoin
		}
		return p.word("join") && p.w() && p.source(out.Source) && p.w() && p.word("on") && p.w() && p.expr(&out.On)
	})
	out.Span = p.since(start)
	return ok
}

// subQuery matches a query in parentheses.
func (p *parser) subQuery(out **Query) bool {
	return p.try(rSubQuery, spaced, func() bool {
		q := &Query{}
		if !p.sym("(") || !p.skip() || !p.first(
			func() bool { return p.selectFull(q) },
			func() bool { return p.nested(func() bool { return p.values(rValues, q) }) },
		) || !p.skip() || !p.sym(")") {
			return false
		}
		*out = q
		return true
	})
}

// values matches VALUES and its rows.
func (p *parser) values(r rule, q *Query) bool {
	start := p.pos
	return p.try(r, inherit, func() bool {
		*q = Query{}
		if !p.word("values") || !p.wo() {
			return false
		}
		if !p.list(func() bool {
			row := &Row{}
			if !p.row(row) {
				return false
			}
			q.Values = append(q.Values, row)
			return true
		}) {
			return false
		}
		q.Span = p.since(start)
		p.skip()
		return true
	})
}

func (p *parser) namedWindows(out *[]NamedWindow) bool {
	var list []NamedWindow
	ok := p.try(rNamedWindows, inherit, func() bool {
		return p.list(func() bool {
			var d NamedWindow
			if !p.try(rWindowDef, tight, func() bool {
				return p.ident(&d.Name) && p.w() && p.word("as") && p.wo() && p.windowBody(&d.Window)
			}) {
				return false
			}
			list = append(list, d)
			return true
		})
	})
	if ok {
		*out = list
	}
	return ok
}
