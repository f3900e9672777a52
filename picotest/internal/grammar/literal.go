package grammar

import (
	"strconv"
	"strings"
)

// digits matches one digit or more.
func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.sql) && isDigit(p.sql[p.pos]) {
		p.pos++
	}
	return p.pos > start
}

// integer matches digits with a sign, if there is one.
func (p *parser) integer() bool {
	if p.pos < len(p.sql) && (p.sql[p.pos] == '+' || p.sql[p.pos] == '-') {
		p.pos++
	}
	return p.digits()
}

// number matches a number of one form and gives its text.
func (p *parser) number(r rule, out *string, body func() bool) bool {
	start := p.pos
	ok := p.try(r, token, body)
	if ok {
		*out = p.sql[start:p.pos]
	}
	return ok
}

func (p *parser) unsigned(out *string) bool { return p.number(rUnsigned, out, p.digits) }
func (p *parser) signed(out *string) bool   { return p.number(rInteger, out, p.integer) }

func (p *parser) decimal(out *string) bool {
	return p.number(rDecimal, out, func() bool {
		return p.integer() && p.sym(".") && p.opt(p.digits)
	})
}

func (p *parser) double(out *string) bool {
	return p.number(rDouble, out, func() bool {
		return p.integer() && p.opt(func() bool { return p.sym(".") && p.opt(p.digits) }) && p.word("e") && p.integer()
	})
}

// singleQuoted matches a string and gives its contents.
func (p *parser) singleQuoted(out *string) bool {
	return p.try(rSingleQuotedString, token, func() bool {
		start := p.pos
		if !p.sym("'") || !p.quoted('\'') {
			return false
		}
		*out = strings.ReplaceAll(p.sql[start+1:p.pos-1], "''", "'")
		return true
	})
}

func (p *parser) null() bool { return p.try(rNull, inherit, func() bool { return p.word("null") }) }
func (p *parser) bTrue() bool {
	return p.try(rTrue, inherit, func() bool { return p.word("true") })
}
func (p *parser) bFalse() bool {
	return p.try(rFalse, inherit, func() bool { return p.word("false") })
}
func (p *parser) not() bool {
	return p.try(rNotFlag, inherit, func() bool { return p.word("not") })
}

// literal matches a constant. `trueish` begins with one.
func (p *parser) literal(out *Expr) bool {
	return p.try(rLiteral, inherit, func() bool {
		start := p.pos
		l := &Literal{}
		is := func(k LiteralKind, match func(*string) bool) func() bool {
			return func() bool {
				l.Kind = k
				return match(&l.Value)
			}
		}
		bare := func(match func() bool) func(*string) bool { return func(*string) bool { return match() } }
		if !p.first(
			is(TrueLiteral, bare(p.bTrue)),
			is(FalseLiteral, bare(p.bFalse)),
			is(NullLiteral, bare(p.null)),
			is(DoubleLiteral, p.double),
			is(DecimalLiteral, p.decimal),
			is(IntegerLiteral, p.unsigned),
			is(IntegerLiteral, p.signed),
			is(StringLiteral, p.singleQuoted),
		) {
			return false
		}
		l.Span = p.since(start)
		*out = l
		return true
	})
}

// parameter matches $n or ?.
func (p *parser) parameter(out **Param) bool {
	return p.try(rParameter, inherit, func() bool {
		start := p.pos
		var digits string
		if p.try(rPgParameter, tight, func() bool { return p.sym("$") && p.unsigned(&digits) }) {
			n, err := strconv.Atoi(digits)
			if err != nil {
				n = -1
			}
			*out = &Param{Span: p.since(start), Style: DollarParam, Index: n}
			return true
		}
		if p.try(rTntParameter, token, func() bool { return p.sym("?") }) {
			*out = &Param{Span: p.since(start), Style: QuestionParam}
			return true
		}
		return false
	})
}
