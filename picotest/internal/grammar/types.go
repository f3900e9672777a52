package grammar

// castTarget matches the type of a cast.
func (p *parser) castTarget(out *Type) bool {
	start := p.pos
	body := func() bool {
		if !p.typeName(&out.Name) {
			return false
		}
		out.Dims = 0
		if p.v.AtLeast(V261) && p.skip() && p.maybe(func() bool {
			return p.try(rCastArraySuffix, inherit, func() bool {
				return p.first(
					func() bool {
						return p.wo() && p.skip() && p.try(rEmptyBracket, inherit, func() bool { return p.sym("[") && p.wo() && p.sym("]") })
					},
					func() bool { return p.w() && p.arrayKeyword() },
				)
			})
		}) {
			out.Dims = 1
		}
		out.Span = p.since(start)
		return true
	}
	if !p.v.AtLeast(V261) {
		return body()
	}
	return p.try(rCastTarget, inherit, body)
}

// columnType matches the type of a column.
func (p *parser) columnType(out *Type) bool {
	start := p.pos
	return p.try(rColumnDefType, inherit, func() bool {
		if !p.first(
			func() bool {
				out.Name = TypeUnsigned
				return p.try(rDomainType, inherit, func() bool {
					return p.try(rTypeUnsigned, inherit, func() bool { return p.word("unsigned") })
				})
			},
			func() bool { return p.typeName(&out.Name) },
		) {
			return false
		}
		out.Dims = 0
		if p.v.AtLeast(V261) {
			p.opt(func() bool { return p.arraySuffix(&out.Dims) })
		}
		out.Span = p.since(start)
		return true
	})
}

func (p *parser) arraySuffix(dims *int) bool {
	n := 0
	if !p.try(rArraySuffix, inherit, func() bool {
		return p.first(
			func() bool {
				return p.wo() && p.try(rArrayBracketSuffix, inherit, func() bool {
					if !p.arrayBound() {
						return false
					}
					n = 1
					return p.many(func() bool {
						if !p.wo() || !p.arrayBound() {
							return false
						}
						n++
						return true
					})
				})
			},
			func() bool {
				n = 1
				return p.w() && p.arrayKeyword()
			},
		)
	}) {
		return false
	}
	*dims = n
	return true
}

func (p *parser) arrayBound() bool {
	return p.try(rArrayBound, inherit, func() bool {
		var size string
		return p.sym("[") && p.wo() && p.opt(func() bool { return p.unsigned(&size) }) && p.wo() && p.sym("]")
	})
}

func (p *parser) arrayKeyword() bool {
	return p.try(rArrayKeywordSuffix, inherit, func() bool {
		return p.word("array") && p.opt(func() bool {
			return p.wo() && p.try(rArraySizedBound, inherit, func() bool {
				var size string
				return p.sym("[") && p.wo() && p.unsigned(&size) && p.wo() && p.sym("]")
			})
		})
	})
}

// typeName matches a type's name. The longer of two names with the same
// beginning stands first, except that INT comes after INTEGER with a digit of its own.
func (p *parser) typeName(out *TypeName) bool {
	plain := func(r rule, t TypeName, words ...string) func() bool {
		return func() bool {
			return p.try(r, inherit, func() bool {
				for _, w := range words {
					if p.word(w) {
						*out = t
						return true
					}
				}
				return false
			})
		}
	}
	return p.try(rType, inherit, func() bool {
		return p.first(
			plain(rTypeBool, TypeBool, "boolean", "bool"),
			plain(rTypeDatetime, TypeDatetime, "datetime"),
			func() bool {
				*out = TypeDecimal
				return p.try(rTypeDecimal, inherit, p.decimalType)
			},
			plain(rTypeDouble, TypeDouble, "double"),
			func() bool {
				*out = TypeInt
				return p.try(rTypeInt, inherit, p.intType)
			},
			plain(rTypeJSON, TypeJSON, "json"),
			plain(rTypeString, TypeString, "string"),
			plain(rTypeText, TypeString, "text"),
			func() bool {
				*out = TypeString
				return p.try(rTypeVarchar, inherit, func() bool {
					return p.word("varchar") && p.skip() && p.opt(func() bool {
						var n string
						return p.sym("(") && p.wo() && p.unsigned(&n) && p.wo() && p.sym(")")
					})
				})
			},
			plain(rTypeUuid, TypeUUID, "uuid"),
		)
	})
}

func (p *parser) decimalType() bool {
	if !p.word("decimal") && !p.word("number") && !p.word("numeric") {
		return false
	}
	p.skip()
	return p.opt(func() bool {
		var n string
		return p.sym("(") && p.wo() && p.unsigned(&n) && p.wo() &&
			p.opt(func() bool { return p.sym(",") && p.wo() && p.signed(&n) && p.wo() }) && p.sym(")")
	})
}

func (p *parser) intType() bool {
	if p.word("integer") || p.word("bigint") || p.word("smallint") {
		return true
	}
	return p.word("int") && p.opt(func() bool {
		return p.skip() && (p.sym("2") || p.sym("4") || p.sym("8"))
	})
}
