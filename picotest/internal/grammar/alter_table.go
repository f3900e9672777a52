package grammar

func (p *parser) alterTable(out *Statement) bool {
	start := p.pos
	return p.try(rAlterTable, tight, func() bool {
		s := &AlterTable{}
		if !p.words("alter", "table") || !p.w() || !p.publicSchema() ||
			!p.identAs(rTableNameIdentifier, &s.Table.Ident) || !p.w() || !p.first(
			func() bool { return p.renameTable(&s.Actions) },
			func() bool { return p.columnActions(&s.Actions) },
		) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) renameTable(out *[]AlterAction) bool {
	start := p.pos
	return p.try(rAlterTableRename, inherit, func() bool {
		a := &RenameTable{}
		if !p.words("rename", "to") || !p.w() || !p.publicSchema() || !p.identAs(rTableNameIdentifier, &a.To) {
			return false
		}
		a.Span = p.since(start)
		*out = []AlterAction{a}
		return true
	})
}

func (p *parser) columnActions(out *[]AlterAction) bool {
	var list []AlterAction
	ok := p.try(rAlterTableColumnActions, inherit, func() bool {
		return p.list(func() bool {
			return p.first(
				func() bool { return p.addColumn(&list) },
				func() bool { return p.dropColumn(&list) },
				func() bool { return p.alterColumn(&list) },
				func() bool { return p.renameColumn(&list) },
			)
		})
	})
	if ok {
		*out = list
	}
	return ok
}

// columnWord matches the word COLUMN and the blanks after it, if it's there.
func (p *parser) columnWord() bool {
	return p.opt(func() bool { return p.word("column") && p.w() })
}

func (p *parser) addColumn(out *[]AlterAction) bool {
	start := p.pos
	return p.try(rAlterTableColumnAdd, inherit, func() bool {
		a := &AddColumn{}
		if !p.word("add") || !p.w() || !p.columnWord() || !p.ifNotExists(&a.IfNotExists) {
			return false
		}
		from := p.pos
		if !p.try(rAlterTableColumnAddParam, inherit, func() bool {
			c := &a.Column
			if !p.identAs(rColumnNameIdentifier, &c.Name) || !p.w() || !p.columnType(&c.Type) {
				return false
			}
			return p.opt(func() bool { return p.w() && p.columnNull(&c.Null) })
		}) {
			return false
		}
		a.Column.Span, a.Span = p.since(from), p.since(start)
		*out = append(*out, a)
		return true
	})
}

func (p *parser) dropColumn(out *[]AlterAction) bool {
	start := p.pos
	return p.try(rAlterTableColumnDrop, inherit, func() bool {
		a := &DropColumn{}
		if !p.word("drop") || !p.w() || !p.columnWord() || !p.ifExists(&a.IfExists) ||
			!p.try(rAlterTableColumnDropParam, inherit, func() bool { return p.identAs(rColumnNameIdentifier, &a.Column) }) {
			return false
		}
		a.Span = p.since(start)
		*out = append(*out, a)
		return true
	})
}

func (p *parser) alterColumn(out *[]AlterAction) bool {
	start := p.pos
	return p.try(rAlterTableColumnAlter, inherit, func() bool {
		a := &AlterColumn{}
		if !p.word("alter") || !p.w() || !p.columnWord() || !p.try(rAlterTableColumnAlterParam, inherit, func() bool {
			return p.identAs(rColumnNameIdentifier, &a.Column) && p.w() && p.first(
				func() bool {
					a.DropNotNull = p.try(rAlterTableColumnAlterDropNotNull, inherit, func() bool { return p.words("drop", "not", "null") })
					return a.DropNotNull
				},
				func() bool {
					a.SetNotNull = p.try(rAlterTableColumnAlterSetNotNull, inherit, func() bool { return p.words("set", "not", "null") })
					return a.SetNotNull
				},
				func() bool {
					a.Type = &Type{}
					return p.try(rAlterTableColumnAlterSetType, inherit, func() bool {
						return p.opt(func() bool { return p.words("set", "data") && p.w() }) &&
							p.word("type") && p.w() && p.columnType(a.Type)
					})
				},
			)
		}) {
			return false
		}
		a.Span = p.since(start)
		*out = append(*out, a)
		return true
	})
}

func (p *parser) renameColumn(out *[]AlterAction) bool {
	start := p.pos
	return p.try(rAlterTableColumnRename, inherit, func() bool {
		a := &RenameColumn{}
		if !p.word("rename") || !p.w() || !p.columnWord() || !p.try(rAlterTableColumnRenameParam, inherit, func() bool {
			return p.identAs(rColumnNameIdentifierFrom, &a.From) && p.w() && p.word("to") && p.w() &&
				p.identAs(rColumnNameIdentifierInto, &a.To)
		}) {
			return false
		}
		a.Span = p.since(start)
		*out = append(*out, a)
		return true
	})
}
