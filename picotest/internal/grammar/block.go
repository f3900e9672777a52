package grammar

// block matches DO $$ BEGIN … END $$, of 26.1 and newer.
func (p *parser) block(out *Statement) bool {
	if !p.v.AtLeast(V261) {
		return false
	}
	start := p.pos
	return p.try(rAnonymousBlock, tight, func() bool {
		s := &Block{}
		if !p.word("do") || !p.w() {
			return false
		}
		if p.v.AtLeast(V262) {
			p.opt(func() bool {
				return p.try(rExplicitBlockLanguage, tight, func() bool {
					return p.word("language") && p.w() &&
						p.try(rSQLLanguage, inherit, func() bool { return p.word("sql") }) && p.w()
				})
			})
		}
		if !p.sym("$$") || !p.wo() || !p.word("begin") || !p.w() || !p.blockStatements(&s.Statements, 1) ||
			!p.wo() || !p.word("end") || !p.wo() || !p.sym("$$") {
			return false
		}
		s.Span = p.since(start)
		p.wo()
		if p.maybe(func() bool {
			return p.try(rAnonymousBlockOptions, inherit, func() bool { return p.dqlOption(&s.Options) })
		}) {
			s.Span = p.since(start)
		}
		*out = s
		return true
	})
}

// blockStatements matches at least min statements.
func (p *parser) blockStatements(out *[]BlockStatement, min int) bool {
	var list []BlockStatement
	p.many(func() bool { return p.wo() && p.blockStatement(&list) && p.wo() })
	*out = list
	return len(list) >= min
}

func (p *parser) blockStatement(out *[]BlockStatement) bool {
	var s BlockStatement
	if !p.first(
		func() bool { return p.v.AtLeast(V262) && p.blockIf(&s) },
		func() bool { return p.v.AtLeast(V262) && p.blockLet(&s) },
		func() bool { return p.blockReturn(&s) },
		func() bool { return p.blockQuery(&s) },
	) {
		return false
	}
	*out = append(*out, s)
	return true
}

func (p *parser) blockLet(out *BlockStatement) bool {
	start := p.pos
	return p.try(rBlockLetStatement, inherit, func() bool {
		s := &BlockLet{}
		if !p.word("let") || !p.w() || !p.ident(&s.Name) || !p.wo() || !p.sym("=") || !p.wo() ||
			!p.subQuery(&s.Query) || !p.wo() || !p.sym(";") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) blockReturn(out *BlockStatement) bool {
	start := p.pos
	return p.try(rBlockReturnQueryStatement, inherit, func() bool {
		s := &BlockReturn{}
		if !p.words("return", "query") || !p.w() || !p.query(&s.Stmt) || !p.wo() || !p.sym(";") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) blockQuery(out *BlockStatement) bool {
	start := p.pos
	return p.try(rBlockQueryStatement, inherit, func() bool {
		s := &BlockQuery{}
		if !p.query(&s.Stmt) || !p.wo() || !p.sym(";") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) blockIf(out *BlockStatement) bool {
	start := p.pos
	return p.try(rBlockIfStatement, inherit, func() bool {
		s := &BlockIf{}
		if !p.word("if") || !p.w() || !p.try(rBlockIfCondition, inherit, func() bool { return p.expr(&s.Cond) }) ||
			!p.w() || !p.word("then") || !p.ifBody(&s.Then) {
			return false
		}
		// Until 26.2 a body isn't empty, and there is no ELSE.
		if !p.v.AtLeast(V263) && len(s.Then) == 0 {
			return false
		}
		s.HasElse = p.v.AtLeast(V263) && p.maybe(func() bool {
			return p.wo() && p.try(rBlockElseBlock, inherit, func() bool {
				return p.try(rBlockElseKeyword, inherit, func() bool { return p.word("else") }) && p.ifBody(&s.Else)
			}) && p.wo()
		})
		if !p.wo() || !p.words("end", "if") || !p.wo() || !p.sym(";") {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) ifBody(out *[]BlockStatement) bool {
	return p.nested(func() bool {
		var list []BlockStatement
		p.many(func() bool {
			return p.wo() && p.try(rBlockIfBodyStatement, inherit, func() bool { return p.blockStatement(&list) }) && p.wo()
		})
		*out = list
		return true
	})
}
