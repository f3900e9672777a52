package grammar

// acl matches statements on users, roles and privileges.
func (p *parser) acl(out *Statement) bool {
	return p.first(
		func() bool { return p.dropRole(out) },
		func() bool { return p.dropUser(out) },
		func() bool { return p.createRole(out) },
		func() bool { return p.createUser(out) },
		func() bool { return p.alterUser(out) },
		func() bool { return p.grant(rGrantPrivilege, "grant", "to", out) },
		func() bool { return p.grant(rRevokePrivilege, "revoke", "from", out) },
		func() bool { return p.auditPolicy(out) },
	)
}

// aclTail is tail for ACL statements, which can't wait before 26.1.
func (p *parser) aclTail(out *DDLTail) bool {
	if p.v.AtLeast(V261) {
		return p.tail(out)
	}
	return p.timeoutTail(out)
}

func (p *parser) createUser(out *Statement) bool {
	start := p.pos
	return p.try(rCreateUser, tight, func() bool {
		s := &CreateUser{}
		if !p.words("create", "user") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.ident(&s.Name) || !p.w() || !p.first(
			func() bool {
				return p.opt(func() bool { return p.word("with") && p.w() }) &&
					p.word("password") && p.w() && p.singleQuoted(&s.Password) &&
					p.opt(func() bool { return p.authMethod(&s.Auth) }) && p.aclTail(&s.DDLTail)
			},
			func() bool {
				s.Password, s.Auth = "", AuthLDAP
				return p.word("using") && p.w() && p.ldap() && p.aclTail(&s.DDLTail)
			},
		) {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) ldap() bool {
	return p.try(rLdap, inherit, func() bool { return p.word("ldap") })
}

// authMethod matches USING and a method that goes with a password.
func (p *parser) authMethod(out *AuthMethod) bool {
	if !p.w() || !p.word("using") || !p.w() {
		return false
	}
	for _, m := range [...]struct {
		r      rule
		word   string
		method AuthMethod
	}{{rChapSha1, "chap-sha1", AuthChapSHA1}, {rMd5, "md5", AuthMD5}, {rScramSha256, "scram-sha256", AuthScramSHA256}} {
		if m.method == AuthScramSHA256 && !p.v.AtLeast(Version{25, 4}) {
			continue
		}
		if p.try(m.r, inherit, func() bool { return p.word(m.word) }) {
			*out = m.method
			return true
		}
	}
	return false
}

func (p *parser) alterUser(out *Statement) bool {
	start := p.pos
	return p.try(rAlterUser, tight, func() bool {
		s := &AlterUser{}
		change := func(c UserChange, r rule, m mode, body func() bool) func() bool {
			return func() bool {
				s.Change = c
				return p.try(r, m, body)
			}
		}
		if !p.words("alter", "user") || !p.w() || !p.ident(&s.Name) || !p.w() ||
			!p.opt(func() bool { return p.word("with") && p.w() }) || !p.first(
			change(UserLogin, rAlterLogin, inherit, func() bool { return p.word("login") }),
			change(UserNoLogin, rAlterNoLogin, inherit, func() bool { return p.word("nologin") }),
			change(UserPassword, rAlterPassword, tight, func() bool {
				return p.word("password") && p.w() && p.first(
					func() bool {
						s.Auth = AuthLDAP
						return p.word("using") && p.w() && p.ldap()
					},
					func() bool {
						s.Auth = AuthDefault
						return p.singleQuoted(&s.Password) && p.opt(func() bool { return p.authMethod(&s.Auth) })
					},
				)
			}),
			change(UserRename, rAlterRename, tight, func() bool {
				return p.words("rename", "to") && p.w() && p.ident(&s.To)
			}),
		) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) dropUser(out *Statement) bool {
	start := p.pos
	return p.try(rDropUser, tight, func() bool {
		s := &DropUser{}
		if !p.words("drop", "user") || !p.w() || !p.ifExists(&s.IfExists) || !p.ident(&s.Name) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) createRole(out *Statement) bool {
	start := p.pos
	return p.try(rCreateRole, tight, func() bool {
		s := &CreateRole{}
		if !p.words("create", "role") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.ident(&s.Name) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) dropRole(out *Statement) bool {
	start := p.pos
	return p.try(rDropRole, tight, func() bool {
		s := &DropRole{}
		if !p.words("drop", "role") || !p.w() || !p.ifExists(&s.IfExists) || !p.ident(&s.Name) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) grant(r rule, verb, preposition string, out *Statement) bool {
	start := p.pos
	return p.try(r, tight, func() bool {
		s := &Grant{Revoke: r == rRevokePrivilege}
		if !p.word(verb) || !p.w() || !p.first(
			func() bool {
				return p.try(rPrivBlockPrivilege, tight, func() bool {
					return p.privilege(&s.Privilege) && p.w() && p.object(s)
				})
			},
			func() bool {
				s.Privilege, s.Object, s.Proc = RoleMembership, nil, nil
				return p.try(rPrivBlockRolePass, inherit, func() bool { return p.ident(&s.Role) })
			},
		) || !p.w() || !p.word(preposition) || !p.w() || !p.ident(&s.Grantee) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// privilegeWords are the privileges in the order in which they're tried.
var privilegeWords = [...]struct {
	r    rule
	priv Privilege
}{
	{rPrivilegeRead, PrivRead}, {rPrivilegeWrite, PrivWrite}, {rPrivilegeExecute, PrivExecute},
	{rPrivilegeCreate, PrivCreate}, {rPrivilegeAlter, PrivAlter}, {rPrivilegeDrop, PrivDrop},
	{rPrivilegeSession, PrivSession}, {rPrivilegeUsage, PrivUsage},
}

func (p *parser) privilege(out *Privilege) bool {
	for _, w := range privilegeWords {
		if p.try(w.r, inherit, func() bool { return p.word(w.priv.String()) }) {
			*out = w.priv
			return true
		}
	}
	return false
}

// object matches what a privilege is about: all objects of a kind or one of them.
func (p *parser) object(s *Grant) bool {
	all := func(r rule, w string, k ObjectKind) func() bool {
		return func() bool {
			s.Kind, s.Object = k, nil
			return p.try(r, inherit, func() bool { return p.word(w) })
		}
	}
	one := func(r rule, w string, k ObjectKind, name rule) func() bool {
		return func() bool {
			s.Kind, s.Object = k, &Ident{}
			return p.try(r, tight, func() bool { return p.words("on", w) && p.w() && p.identAs(name, s.Object) })
		}
	}
	return p.first(
		all(rPrivBlockUser, "user", ObjectUser),
		one(rPrivBlockSpecificUser, "user", ObjectUser, rIdentifier),
		all(rPrivBlockRole, "role", ObjectRole),
		one(rPrivBlockSpecificRole, "role", ObjectRole, rIdentifier),
		all(rPrivBlockTable, "table", ObjectTable),
		one(rPrivBlockSpecificTable, "table", ObjectTable, rTable),
		all(rPrivBlockProcedure, "procedure", ObjectProcedure),
		func() bool {
			s.Kind, s.Proc = ObjectProcedure, &ProcSignature{}
			if !p.try(rPrivBlockSpecificProcedure, tight, func() bool {
				return p.words("on", "procedure") && p.w() && p.procWithOptionalParams(s.Proc)
			}) {
				s.Proc = nil
				return false
			}
			s.Object = &s.Proc.Name
			return true
		},
	)
}

func (p *parser) auditPolicy(out *Statement) bool {
	start := p.pos
	return p.try(rAuditPolicy, tight, func() bool {
		s := &AuditPolicy{}
		if !p.words("audit", "policy") || !p.w() || !p.ident(&s.Name) || !p.w() || !p.first(
			func() bool {
				return p.try(rAuditPolicyOptionOn, inherit, func() bool { return p.word("by") && p.w() && p.ident(&s.User) })
			},
			func() bool {
				s.Except = true
				return p.try(rAuditPolicyOptionOff, inherit, func() bool { return p.word("except") && p.w() && p.ident(&s.User) })
			},
		) {
			return false
		}
		p.aclTail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}
