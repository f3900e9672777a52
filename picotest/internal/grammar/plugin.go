package grammar

// plugin matches CREATE, DROP and ALTER PLUGIN.
func (p *parser) plugin(out *Statement) bool {
	start := p.pos
	s := &PluginStatement{}
	version := func() bool {
		return p.number(rPluginVersion, &s.Version, func() bool {
			return p.digits() && p.sym(".") && p.digits() && p.sym(".") && p.digits()
		})
	}
	if !p.first(
		func() bool {
			s.Verb = "create"
			return p.try(rCreatePlugin, tight, func() bool {
				return p.words("create", "plugin") && p.w() && p.ifNotExists(&s.Exists) && p.ident(&s.Name) && p.w() &&
					version() && p.aclTail(&s.DDLTail)
			})
		},
		func() bool {
			s.Verb = "drop"
			return p.try(rDropPlugin, tight, func() bool {
				return p.words("drop", "plugin") && p.w() && p.ifExists(&s.Exists) && p.ident(&s.Name) && p.w() &&
					version() && p.opt(func() bool {
					return p.w() && p.try(rWithData, token, func() bool { return p.words("with", "data") })
				}) && p.aclTail(&s.DDLTail)
			})
		},
		func() bool {
			s.Verb = "alter"
			return p.try(rAlterPlugin, tight, func() bool {
				return p.words("alter", "plugin") && p.w() && p.ident(&s.Name) && p.w() && p.alterPlugin(s, version)
			})
		},
	) {
		return false
	}
	s.Span = p.since(start)
	*out = s
	return true
}

func (p *parser) alterPlugin(s *PluginStatement, version func() bool) bool {
	var service, tier Ident
	variant := func(r rule, body func() bool) func() bool {
		return func() bool {
			return p.try(r, tight, func() bool { return version() && p.w() && body() })
		}
	}
	tail := func() bool { return p.aclTail(&s.DDLTail) }
	return p.first(
		variant(rEnablePlugin, func() bool { return p.word("enable") && tail() }),
		variant(rDisablePlugin, func() bool { return p.word("disable") && tail() }),
		func() bool {
			return p.try(rMigrateTo, tight, func() bool {
				return p.words("migrate", "to") && p.w() && version() && p.aclWait(&s.DDLTail) &&
					p.opt(func() bool { return p.w() && p.migrateOption(&s.Timeout) })
			})
		},
		variant(rAddServiceToTier, func() bool {
			return p.words("add", "service") && p.w() && p.ident(&service) && p.w() && p.words("to", "tier") && p.w() &&
				p.ident(&tier) && tail()
		}),
		variant(rRemoveServiceFromTier, func() bool {
			return p.words("remove", "service") && p.w() && p.ident(&service) && p.w() && p.words("from", "tier") && p.w() &&
				p.ident(&tier) && tail()
		}),
		variant(rChangeConfig, func() bool {
			return p.word("set") && p.w() && p.list(func() bool {
				return p.try(rConfigKV, inherit, func() bool {
					var value string
					return p.ident(&service) && p.sym(".") && p.ident(&tier) && p.wo() && p.sym("=") && p.wo() &&
						p.singleQuoted(&value)
				})
			}) && tail()
		}),
	)
}

// aclWait matches WAIT APPLIED, if it's there and the version knows it.
func (p *parser) aclWait(out *DDLTail) bool {
	return p.opt(func() bool { return p.v.AtLeast(V261) && p.w() && p.waitApplied(&out.Wait) })
}

func (p *parser) migrateOption(timeout *string) bool {
	var rollback string
	one := func(r rule, name string, out *string) func() bool {
		return func() bool {
			return p.try(r, spaced, func() bool {
				return p.word(name) && p.skip() && p.sym("=") && p.skip() && p.duration(out)
			})
		}
	}
	return p.word("option") && p.wo() && p.sym("(") && p.wo() && p.list(func() bool {
		return p.first(one(rTimeout, "timeout", timeout), one(rRollbackTimeout, "rollback_timeout", &rollback))
	}) && p.wo() && p.sym(")")
}
