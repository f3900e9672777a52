package grammar

func (p *parser) createProc(out *Statement) bool {
	start := p.pos
	return p.try(rCreateProc, tight, func() bool {
		s := &CreateProc{Proc: ProcSignature{HasParams: true}}
		if !p.words("create", "procedure") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.publicSchema() ||
			!p.ident(&s.Proc.Name) || !p.wo() || !p.procParams(&s.Proc.Params) || !p.w() {
			return false
		}
		p.opt(func() bool {
			return p.word("language") && p.w() &&
				p.try(rProcLanguage, inherit, func() bool { return p.word("sql") }) && p.w()
		})
		body := func() bool {
			return p.try(rProcBody, inherit, func() bool {
				return p.first(
					func() bool { return p.insert(&s.Body) },
					func() bool { return p.update(&s.Body) },
					func() bool { return p.delete(&s.Body) },
				)
			})
		}
		if !p.first(
			func() bool {
				return p.word("as") && p.w() && p.sym("$$") && p.wo() && body() && p.wo() && p.sym("$$")
			},
			// Only these two words must be written in lower case.
			func() bool {
				return p.word("begin") && p.w() && p.sym("atomic") && p.w() && body() && p.w() && p.sym("end")
			},
		) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) procParams(out *[]Type) bool {
	return p.try(rProcParams, spaced, func() bool {
		*out = nil
		return p.sym("(") && p.skip() && p.opt(func() bool {
			return p.list(func() bool {
				start := p.pos
				var t Type
				if !p.typeName(&t.Name) {
					return false
				}
				t.Span = p.since(start)
				*out = append(*out, t)
				return true
			})
		}) && p.skip() && p.sym(")")
	})
}

// procName matches a procedure's name and, if written, its parameter types.
func (p *parser) procName(r rule, out *ProcSignature) bool {
	if !p.identAs(r, &out.Name) {
		return false
	}
	out.HasParams = p.maybe(func() bool { return p.procParams(&out.Params) })
	return true
}

func (p *parser) procWithOptionalParams(out *ProcSignature) bool {
	return p.try(rProcWithOptionalParams, tight, func() bool { return p.procName(rIdentifier, out) })
}

func (p *parser) dropProc(out *Statement) bool {
	start := p.pos
	return p.try(rDropProc, tight, func() bool {
		s := &DropProc{}
		if !p.words("drop", "procedure") || !p.w() || !p.ifExists(&s.IfExists) || !p.publicSchema() ||
			!p.procWithOptionalParams(&s.Proc) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) renameProc(out *Statement) bool {
	start := p.pos
	return p.try(rRenameProc, tight, func() bool {
		s := &RenameProc{}
		if !p.words("alter", "procedure") || !p.w() || !p.publicSchema() || !p.procName(rOldProc, &s.Proc) || !p.w() ||
			!p.words("rename", "to") || !p.w() || !p.identAs(rNewProc, &s.To) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// call matches CALL procedure(values).
func (p *parser) call(out *Statement) bool {
	start := p.pos
	// Before 26.1 there is a rule around it which may have options of its own; to
	// the reader of an error it makes no difference.
	return p.try(rCallProc, tight, func() bool {
		s := &Call{}
		if !p.word("call") || !p.w() || !p.publicSchema() || !p.ident(&s.Name) || !p.wo() || !p.sym("(") || !p.wo() ||
			!p.try(rProcValues, spaced, func() bool {
				return p.opt(func() bool { return p.spacedList(func() bool { return p.procValue(&s.Args) }) })
			}) || !p.wo() || !p.sym(")") {
			return false
		}
		p.opt(func() bool { return p.w() && p.dqlOption(&s.Options) })
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) procValue(out *[]Expr) bool {
	var e Expr
	if !p.literal(&e) {
		var param *Param
		if !p.parameter(&param) {
			return false
		}
		e = param
	}
	*out = append(*out, e)
	return true
}
