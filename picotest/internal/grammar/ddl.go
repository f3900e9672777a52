package grammar

// ddl matches statements on tables, indexes, procedures and settings.
func (p *parser) ddl(out *Statement) bool {
	return p.first(
		func() bool { return p.createTable(out) },
		func() bool { return p.dropTable(out) },
		func() bool { return p.truncate(out) },
		func() bool { return p.alterTable(out) },
		func() bool { return p.createIndex(out) },
		func() bool { return p.dropIndex(out) },
		func() bool { return p.renameIndex(out) },
		func() bool { return p.createSchema(out) },
		func() bool { return p.dropSchema(out) },
		func() bool { return p.createProc(out) },
		func() bool { return p.dropProc(out) },
		func() bool { return p.renameProc(out) },
		func() bool { return p.setParam(out) },
		func() bool { return p.setTransaction(out) },
		func() bool { return p.alterSystem(out) },
		func() bool { return p.createPartition(out) },
		func() bool { return p.backup(out) },
	)
}

// tail matches WAIT APPLIED and OPTION (TIMEOUT = …).
func (p *parser) tail(out *DDLTail) bool {
	return p.opt(func() bool { return p.w() && p.waitApplied(&out.Wait) }) && p.timeoutTail(out)
}

func (p *parser) timeoutTail(out *DDLTail) bool {
	return p.opt(func() bool { return p.w() && p.timeoutOption(&out.Timeout) })
}

func (p *parser) waitApplied(out *WaitApplied) bool {
	if p.try(rWaitAppliedGlobally, token, func() bool { return p.words("wait", "applied", "globally") }) {
		*out = WaitGlobally
		return true
	}
	if p.try(rWaitAppliedLocally, token, func() bool { return p.words("wait", "applied", "locally") }) {
		*out = WaitLocally
		return true
	}
	return false
}

func (p *parser) timeoutOption(out *string) bool {
	var v string
	if !p.word("option") || !p.wo() || !p.sym("(") || !p.wo() ||
		!p.try(rTimeout, spaced, func() bool {
			return p.word("timeout") && p.skip() && p.sym("=") && p.skip() && p.duration(&v)
		}) || !p.wo() || !p.sym(")") {
		return false
	}
	*out = v
	return true
}

// duration matches seconds, perhaps with a fraction.
func (p *parser) duration(out *string) bool {
	return p.number(rDuration, out, func() bool {
		return p.digits() && p.opt(func() bool { return p.sym(".") && p.digits() })
	})
}

func (p *parser) createTable(out *Statement) bool {
	start := p.pos
	return p.try(rCreateTable, tight, func() bool {
		s := &CreateTable{}
		if !p.word("create") {
			return false
		}
		if p.v.AtLeast(V261) {
			s.Unlogged = p.maybe(func() bool {
				return p.w() && p.try(rUnlogged, token, func() bool { return p.word("unlogged") })
			})
		}
		if !p.w() || !p.word("table") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.publicSchema() ||
			!p.identAs(rNewTable, &s.Table.Ident) || !p.wo() || !p.sym("(") || !p.wo() || !p.columns(&s.Columns) || !p.wo() {
			return false
		}
		p.opt(func() bool { return p.sym(",") && p.wo() && p.primaryKey(&s.PrimaryKey) })
		if !p.wo() || !p.sym(")") {
			return false
		}
		p.opt(func() bool { return p.w() && p.engine(&s.Engine) })
		if p.v.AtLeast(V261) {
			p.opt(func() bool { return p.w() && p.tableOptions(&s.Options) })
		}
		p.opt(func() bool { return p.w() && p.distribution(&s.Distribution) })
		p.opt(func() bool { return p.w() && p.waitApplied(&s.Wait) })
		s.Partitioned = p.maybe(func() bool { return p.w() && p.partition() })
		p.timeoutTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) columns(out *[]ColumnDef) bool {
	return p.try(rColumns, spaced, func() bool {
		return p.spacedList(func() bool {
			var c ColumnDef
			if !p.columnDef(&c) {
				return false
			}
			*out = append(*out, c)
			return true
		})
	})
}

func (p *parser) columnDef(c *ColumnDef) bool {
	start := p.pos
	return p.try(rColumnDef, tight, func() bool {
		if !p.ident(&c.Name) || !p.w() || !p.columnType(&c.Type) {
			return false
		}
		p.opt(func() bool { return p.w() && p.columnNull(&c.Null) })
		c.PrimaryKey = p.maybe(func() bool {
			if !p.v.AtLeast(V262) {
				return p.w() && p.primaryKeyMark()
			}
			return p.w() && p.try(rInlinePrimaryKey, inherit, func() bool {
				return p.primaryKeyMark() && p.opt(func() bool { return p.w() && p.sortOrder(&c.Order) })
			})
		})
		c.Span = p.since(start)
		return true
	})
}

func (p *parser) columnNull(out *Nullability) bool {
	return p.try(rColumnDefIsNull, inherit, func() bool {
		n := Nullable
		if p.maybe(func() bool { return p.not() && p.w() }) {
			n = NotNull
		}
		if !p.word("null") {
			return false
		}
		*out = n
		return true
	})
}

func (p *parser) primaryKeyMark() bool {
	return p.try(rPrimaryKeyMark, inherit, func() bool { return p.words("primary", "key") })
}

func (p *parser) primaryKey(out *[]KeyPart) bool {
	return p.try(rPrimaryKey, tight, func() bool {
		var parts []KeyPart
		if !p.primaryKeyMark() || !p.wo() || !p.sym("(") || !p.wo() || !p.list(func() bool { return p.keyPart(V262, &parts) }) ||
			!p.wo() || !p.sym(")") {
			return false
		}
		*out = parts
		return true
	})
}

// keyPart matches a column of a key, with ASC or DESC from a version on.
func (p *parser) keyPart(since Version, out *[]KeyPart) bool {
	var k KeyPart
	ok := false
	if p.v.AtLeast(since) {
		ok = p.try(rOrderedIdentifier, tight, func() bool {
			return p.ident(&k.Name) && p.opt(func() bool { return p.w() && p.sortOrder(&k.Order) })
		})
	} else {
		ok = p.ident(&k.Name)
	}
	if ok {
		*out = append(*out, k)
	}
	return ok
}

func (p *parser) engine(out *StorageEngine) bool {
	return p.try(rEngine, tight, func() bool {
		return p.word("using") && p.w() && p.first(
			func() bool {
				*out = EngineMemtx
				return p.try(rMemtx, inherit, func() bool { return p.word("memtx") })
			},
			func() bool {
				*out = EngineVinyl
				return p.try(rVinyl, inherit, func() bool { return p.word("vinyl") })
			},
			func() bool {
				*out = EngineDefault
				return false
			},
		)
	})
}

func (p *parser) distribution(out **Distribution) bool {
	start := p.pos
	return p.try(rDistribution, tight, func() bool {
		d := &Distribution{}
		if !p.word("distributed") || !p.w() || !p.first(
			func() bool {
				d.Global = p.try(rGlobal, inherit, func() bool { return p.word("globally") })
				return d.Global
			},
			func() bool { return p.sharding(d) },
		) {
			return false
		}
		d.Span = p.since(start)
		*out = d
		return true
	})
}

func (p *parser) sharding(d *Distribution) bool {
	return p.try(rSharding, tight, func() bool {
		return p.word("by") && p.wo() && p.sym("(") && p.wo() && p.list(func() bool {
			var id Ident
			if !p.ident(&id) {
				return false
			}
			d.Columns = append(d.Columns, id)
			return true
		}) && p.wo() && p.sym(")") && p.opt(func() bool {
			var id Ident
			if !p.w() || !p.try(rTier, tight, func() bool { return p.words("in", "tier") && p.w() && p.ident(&id) }) {
				return false
			}
			d.Tier = &id
			return true
		})
	})
}

// partition matches PARTITION BY, of which nothing is kept.
func (p *parser) partition() bool {
	return p.try(rPartition, tight, func() bool {
		return p.words("partition", "by") && p.w() &&
			p.try(rPartitionType, inherit, func() bool { return p.word("range") || p.word("list") || p.word("hash") }) &&
			p.wo() && p.try(rPartitionBySpec, spaced, func() bool {
			return p.sym("(") && p.skip() && p.spacedList(func() bool {
				var id Ident
				return p.ident(&id)
			}) && p.sym(")")
		})
	})
}

func (p *parser) createPartition(out *Statement) bool {
	start := p.pos
	return p.try(rCreatePartition, tight, func() bool {
		s := &CreatePartition{}
		if !p.words("create", "table") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.publicSchema() ||
			!p.ident(&s.Table) || !p.w() || !p.words("partition", "of") || !p.w() || !p.publicSchema() ||
			!p.ident(&s.Parent) || !p.w() || !p.partitionOf() {
			return false
		}
		p.opt(func() bool { return p.w() && p.partition() })
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) partitionOf() bool {
	value := func() bool {
		return p.try(rExprOrMinMax, inherit, func() bool {
			return p.first(
				func() bool { return p.try(rMinValue, inherit, func() bool { return p.word("minvalue") }) },
				func() bool { return p.try(rMaxValue, inherit, func() bool { return p.word("maxvalue") }) },
				func() bool {
					var e Expr
					return p.expr(&e)
				},
			)
		})
	}
	bounds := func() bool {
		return p.try(rForValuesSpecFromToRow, spaced, func() bool {
			return p.sym("(") && p.skip() && p.spacedList(value) && p.sym(")")
		})
	}
	var number Expr
	return p.try(rPartitionOfSpec, tight, func() bool {
		return p.first(
			func() bool {
				return p.words("for", "values") && p.w() && p.first(
					func() bool {
						return p.try(rForValuesSpecIn, inherit, func() bool { return p.word("in") && p.w() && p.row(&Row{}) })
					},
					func() bool {
						return p.try(rForValuesSpecFromTo, tight, func() bool {
							return p.word("from") && p.w() && bounds() && p.w() && p.word("to") && p.w() && bounds()
						})
					},
					func() bool {
						return p.try(rForValuesSpecWith, tight, func() bool {
							return p.word("with") && p.wo() && p.sym("(") && p.word("modulus") && p.w() && p.literal(&number) &&
								p.comma() && p.word("remainder") && p.w() && p.literal(&number) && p.wo() && p.sym(")")
						})
					},
				)
			},
			func() bool { return p.word("default") },
		)
	})
}

func (p *parser) dropTable(out *Statement) bool {
	start := p.pos
	return p.try(rDropTable, tight, func() bool {
		s := &DropTable{}
		if !p.words("drop", "table") || !p.w() || !p.ifExists(&s.IfExists) || !p.publicSchema() || !p.table(&s.Table) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) truncate(out *Statement) bool {
	start := p.pos
	return p.try(rTruncateTable, tight, func() bool {
		s := &Truncate{}
		if !p.word("truncate") || !p.w() || !p.opt(func() bool { return p.word("table") && p.w() }) ||
			!p.publicSchema() || !p.table(&s.Table) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) createSchema(out *Statement) bool {
	start := p.pos
	return p.try(rCreateSchema, tight, func() bool {
		s := &CreateSchema{}
		if !p.words("create", "schema") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.ident(&s.Name) {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) dropSchema(out *Statement) bool {
	start := p.pos
	return p.try(rDropSchema, tight, func() bool {
		s := &DropSchema{}
		if !p.words("drop", "schema") || !p.w() || !p.ifExists(&s.IfExists) || !p.ident(&s.Name) {
			return false
		}
		p.opt(func() bool { return p.w() && (p.word("cascade") || p.word("restrict")) })
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) backup(out *Statement) bool {
	start := p.pos
	return p.try(rBackup, tight, func() bool {
		s := &Backup{}
		if !p.word("backup") {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}
