package grammar

import "strings"

func (p *parser) insert(out *Statement) bool {
	start := p.pos
	return p.try(rInsert, tight, func() bool {
		s := &Insert{Source: &Query{}}
		if !p.words("insert", "into") || !p.w() || !p.publicSchema() || !p.table(&s.Table) || !p.wo() {
			return false
		}
		if !p.maybe(func() bool { return p.targetColumns(rTargetColumns, &s.Columns) && p.w() }) {
			s.Columns = nil
		}
		if !p.first(
			func() bool { return p.selectFull(s.Source) },
			func() bool { return p.values(rInsertValues, s.Source) },
		) {
			return false
		}
		p.opt(func() bool { return p.w() && p.onConflict(&s.OnConflict) })
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// targetColumns matches names in parentheses.
func (p *parser) targetColumns(r rule, out *[]Ident) bool {
	return p.try(r, spaced, func() bool {
		*out = nil
		return p.sym("(") && p.skip() && p.spacedList(func() bool {
			var id Ident
			if !p.ident(&id) {
				return false
			}
			*out = append(*out, id)
			return true
		}) && p.sym(")")
	})
}

func (p *parser) onConflict(out **OnConflict) bool {
	start := p.pos
	c := &OnConflict{}
	body := func() bool {
		if !p.words("on", "conflict") {
			return false
		}
		if p.v.AtLeast(V262) && !p.maybe(func() bool {
			return p.wo() && p.targetColumns(rConflictTarget, &c.Target)
		}) {
			c.Target = nil
		}
		return p.w() && p.word("do") && p.w() && p.conflictAction(c)
	}
	// Before 26.2 the clause is no rule of its own, so errors point inside.
	ok := false
	if p.v.AtLeast(V262) {
		ok = p.try(rOnConflict, inherit, body)
	} else {
		ok = body()
	}
	if ok {
		c.Span = p.since(start)
		*out = c
	}
	return ok
}

func (p *parser) conflictAction(c *OnConflict) bool {
	word := func(r rule, w string, a ConflictAction) func() bool {
		return func() bool {
			c.Action = a
			return p.try(r, inherit, func() bool { return p.word(w) })
		}
	}
	return p.first(
		func() bool {
			c.Action = DoUpdate
			return p.v.AtLeast(V262) && p.doUpdate(&c.Set)
		},
		word(rDoNothing, "nothing", DoNothing),
		word(rDoReplace, "replace", DoReplace),
		word(rDoFail, "fail", DoFail),
	)
}

func (p *parser) doUpdate(out *[]Assignment) bool {
	var set []Assignment
	ok := p.try(rDoUpdate, tight, func() bool {
		return p.words("update", "set") && p.w() && p.try(rDoUpdateList, inherit, func() bool {
			return p.list(func() bool {
				var a Assignment
				start := p.pos
				if !p.try(rDoUpdateItem, spaced, func() bool { return p.doUpdateItem(&a) }) {
					return false
				}
				a.Span = p.since(start)
				set = append(set, a)
				return true
			})
		})
	})
	if ok {
		*out = set
	}
	return ok
}

func (p *parser) doUpdateItem(a *Assignment) bool {
	var table Ident
	if p.try(rDoUpdateColumnRef, inherit, func() bool {
		return p.ident(&table) && p.skip() && p.sym(".") && p.skip() && p.ident(&a.Column)
	}) {
		a.Table = &table
	} else if !p.ident(&a.Column) {
		return false
	}
	return p.wo() && p.sym("=") && p.wo() &&
		p.try(rDoUpdateExpr, spaced, func() bool { return p.expr(&a.Value) })
}

// indexedTable matches the table of UPDATE and DELETE. Until 25.5 it is the plain
// name, of which errors know as ScanTable.
func (p *parser) indexedTable(table *TableName, index **Ident) bool {
	scan := func() bool {
		return p.try(rScanTable, inherit, func() bool { return p.table(table) })
	}
	if !p.v.AtLeast(V256) {
		return scan()
	}
	return p.try(rIndexedTableScan, inherit, func() bool { return scan() && p.indexedBy(index) })
}

func (p *parser) update(out *Statement) bool {
	start := p.pos
	return p.try(rUpdate, tight, func() bool {
		s := &Update{}
		if !p.word("update") || !p.w() || !p.publicSchema() || !p.indexedTable(&s.Table, &s.IndexedBy) ||
			!p.w() || !p.word("set") || !p.w() || !p.updateList(&s.Set) {
			return false
		}
		if !p.maybe(func() bool {
			return p.w() && p.first(
				func() bool {
					s.From = &Source{}
					return p.word("from") && p.w() && p.source(s.From) && p.opt(func() bool {
						return p.w() && p.word("where") && p.w() && p.expr(&s.Where)
					})
				},
				func() bool {
					s.From = nil
					return p.where(&s.Where)
				},
			)
		}) {
			s.From, s.Where = nil, nil
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) updateList(out *[]Assignment) bool {
	return p.try(rUpdateList, inherit, func() bool {
		return p.list(func() bool {
			var a Assignment
			start := p.pos
			if !p.try(rUpdateItem, spaced, func() bool {
				return p.ident(&a.Column) && p.skip() && p.sym("=") && p.skip() && p.expr(&a.Value)
			}) {
				return false
			}
			a.Span = p.since(start)
			*out = append(*out, a)
			return true
		})
	})
}

func (p *parser) delete(out *Statement) bool {
	start := p.pos
	return p.try(rDelete, tight, func() bool {
		s := &Delete{}
		if !p.words("delete", "from") || !p.w() || !p.publicSchema() || !p.indexedTable(&s.Table, &s.IndexedBy) {
			return false
		}
		p.opt(func() bool {
			return p.w() && p.word("where") && p.w() &&
				p.try(rDeleteFilter, inherit, func() bool { return p.expr(&s.Where) })
		})
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// dqlOption matches OPTION ( … ) of a query.
func (p *parser) dqlOption(out *[]Option) bool {
	var list []Option
	ok := p.try(rDqlOption, spaced, func() bool {
		return p.word("option") && p.skip() && p.sym("(") && p.skip() && p.list(func() bool {
			var o Option
			start := p.pos
			if !p.option(&o) {
				return false
			}
			o.Span = p.since(start)
			list = append(list, o)
			return true
		}) && p.skip() && p.sym(")")
	})
	if ok {
		*out = list
	}
	return ok
}

func (p *parser) option(o *Option) bool {
	number := func(r rule, n OptionName) func() bool {
		return func() bool {
			*o = Option{Name: n}
			return p.optionOf(r, n, func() bool { return p.unsigned(&o.Number) }, o)
		}
	}
	word := func(r rule, w string) func() bool {
		return func() bool {
			start := p.pos
			ok := p.try(r, inherit, func() bool { return p.word(w) })
			if ok {
				o.Word = strings.ToLower(p.sql[start:p.pos])
			}
			return ok
		}
	}
	return p.first(
		number(rVdbeOpcodeMax, VdbeOpcodeMax),
		number(rMotionRowMax, MotionRowMax),
		func() bool {
			*o = Option{Name: ReadPreference}
			return p.v.AtLeast(V256) && p.optionOf(rReadPreference, ReadPreference, func() bool {
				return p.first(word(rLeader, "leader"), word(rReplica, "replica"), word(rAny, "any"))
			}, o)
		},
		func() bool {
			*o = Option{Name: Forward}
			return p.v.AtLeast(V262) && p.optionOf(rForward, Forward, func() bool {
				return p.first(word(rForwardOn, "on"), word(rForwardOff, "off"), word(rForwardROtoRW, "ro_to_rw"))
			}, o)
		},
	)
}

// optionOf matches name = value, where the value may be a parameter.
func (p *parser) optionOf(r rule, n OptionName, value func() bool, o *Option) bool {
	return p.try(r, inherit, func() bool {
		return p.word(n.String()) && p.skip() && p.sym("=") && p.skip() &&
			p.first(value, func() bool { return p.parameter(&o.Param) })
	})
}
