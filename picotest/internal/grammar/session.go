package grammar

// tx matches BEGIN, COMMIT, ROLLBACK and END.
func (p *parser) tx(out *Statement) bool {
	start := p.pos
	for _, w := range [...]struct {
		r    rule
		word string
		kind TxKind
	}{{rBegin, "begin", TxBegin}, {rCommit, "commit", TxCommit}, {rRollback, "rollback", TxRollback}, {rEnd, "end", TxEnd}} {
		if p.try(w.r, inherit, func() bool { return p.word(w.word) }) {
			*out = &Tx{Span: p.since(start), Kind: w.kind}
			return true
		}
	}
	return false
}

func (p *parser) deallocate(out *Statement) bool {
	start := p.pos
	return p.try(rDeallocate, tight, func() bool {
		s := &Deallocate{}
		target := func() bool {
			return p.first(
				func() bool {
					s.All = p.word("all")
					return s.All
				},
				func() bool { return p.ident(&s.Name) },
			)
		}
		if !p.word("deallocate") || !p.first(
			func() bool { return p.w() && p.word("prepare") && p.w() && target() },
			func() bool { return p.w() && target() },
		) {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// setParam matches SET name = value and SET TIME ZONE.
func (p *parser) setParam(out *Statement) bool {
	start := p.pos
	return p.try(rSetParam, tight, func() bool {
		s := &Set{}
		if !p.word("set") || !p.w() {
			return false
		}
		p.opt(func() bool {
			return p.try(rSetScope, inherit, func() bool { return p.word("session") || p.word("local") }) && p.w()
		})
		if !p.try(rConfParam, inherit, func() bool {
			return p.first(func() bool { return p.namedParam(s) }, func() bool { return p.timeZone(s) })
		}) {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) namedParam(s *Set) bool {
	return p.try(rNamedParam, tight, func() bool {
		return p.ident(&s.Name) && p.first(
			func() bool { return p.w() && p.word("to") && p.w() },
			func() bool { return p.wo() && p.sym("=") && p.wo() },
		) && p.list(p.paramValue)
	})
}

func (p *parser) paramValue() bool {
	var text string
	var id Ident
	return p.try(rNamedParamValue, inherit, func() bool {
		return p.first(
			func() bool { return p.try(rParamValueDefault, inherit, func() bool { return p.word("default") }) },
			func() bool { return p.singleQuoted(&text) },
			func() bool { return p.ident(&id) },
			func() bool { return p.double(&text) },
			func() bool { return p.decimal(&text) },
			func() bool { return p.signed(&text) },
		)
	})
}

func (p *parser) timeZone(s *Set) bool {
	start := p.pos
	return p.try(rTimeZoneParam, tight, func() bool {
		if !p.words("time", "zone") {
			return false
		}
		s.Name = Ident{Span: p.since(start), Name: "timezone"}
		return p.w() && p.try(rTimeZoneParamValue, inherit, func() bool {
			return p.first(p.paramValue, func() bool {
				return p.try(rParamValueLocal, inherit, func() bool { return p.word("local") })
			})
		})
	})
}

// setTransaction matches SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (p *parser) setTransaction(out *Statement) bool {
	start := p.pos
	return p.try(rSetTransaction, tight, func() bool {
		if !p.word("set") || !p.w() || !p.first(
			func() bool {
				return p.try(rSetTransactionSubRule, tight, func() bool {
					return p.word("transaction") && p.w() && p.first(p.transactionMode, func() bool {
						return p.try(rTransactionSnapshot, tight, func() bool {
							var id string
							return p.word("snapshot") && p.w() && p.singleQuoted(&id)
						})
					})
				})
			},
			func() bool {
				return p.try(rSetSessionCharacteristics, tight, func() bool {
					return p.words("session", "characteristics", "as", "transaction") && p.w() && p.transactionMode()
				})
			},
		) {
			return false
		}
		*out = &Set{Span: p.since(start), Transaction: true}
		return true
	})
}

// transactionMode matches one mode. The server's grammar writes commited with one t.
func (p *parser) transactionMode() bool {
	one := func(r rule, words ...string) func() bool {
		return func() bool { return p.try(r, tight, func() bool { return p.words(words...) }) }
	}
	return p.try(rTransactionMode, inherit, func() bool {
		return p.first(
			func() bool {
				return p.try(rIsolationLevel, tight, func() bool {
					return p.words("isolation", "level") && p.w() && p.first(
						one(rSerializable, "serializable"),
						one(rRepeatableRead, "repeatable", "read"),
						one(rReadCommited, "read", "commited"),
						one(rReadUncommited, "read", "uncommited"),
					)
				})
			},
			one(rReadWrite, "read", "write"),
			one(rReadOnly, "read", "only"),
			func() bool {
				return p.try(rDeferrable, tight, func() bool {
					return p.opt(func() bool { return p.not() && p.w() }) && p.word("deferrable")
				})
			},
		)
	})
}

func (p *parser) alterSystem(out *Statement) bool {
	start := p.pos
	return p.try(rAlterSystem, tight, func() bool {
		s := &AlterSystem{}
		if !p.words("alter", "system") || !p.w() || !p.first(
			func() bool {
				return p.try(rAlterSystemSet, tight, func() bool {
					return p.word("set") && p.w() && p.ident(&s.Name) && p.first(
						func() bool { return p.wo() && p.sym("=") && p.wo() },
						func() bool { return p.w() && p.word("to") && p.w() },
					) && p.first(
						func() bool {
							s.Default = p.word("default")
							return s.Default
						},
						func() bool { return p.expr(&s.Value) },
					)
				})
			},
			func() bool {
				s.Reset = true
				return p.try(rAlterSystemReset, tight, func() bool {
					return p.word("reset") && p.w() && p.first(
						func() bool {
							s.All = p.word("all")
							return s.All
						},
						func() bool { return p.ident(&s.Name) },
					)
				})
			},
		) {
			return false
		}
		p.opt(func() bool { return p.w() && p.alterSystemTier(s) })
		if p.v.AtLeast(V261) {
			p.tail(&s.DDLTail)
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) alterSystemTier(s *AlterSystem) bool {
	return p.try(rAlterSystemTier, tight, func() bool {
		return p.word("for") && p.w() && p.first(
			func() bool {
				s.AllTiers = p.try(rAlterSystemTiersAll, tight, func() bool { return p.words("all", "tiers") })
				return s.AllTiers
			},
			func() bool {
				var id Ident
				if !p.try(rAlterSystemTierSingle, tight, func() bool { return p.word("tier") && p.w() && p.ident(&id) }) {
					return false
				}
				s.Tier = &id
				return true
			},
		)
	})
}
