package grammar

import (
	"strings"
	"unicode/utf8"
)

// ident matches a name. Failing, it is reported as r.
func (p *parser) identAs(r rule, out *Ident) bool {
	return p.try(r, token, func() bool {
		start := p.pos
		if p.sym(`"`) {
			if !p.quoted('"') {
				return false
			}
			// Doubled quotes stay doubled: the server only takes the outer pair off.
			*out = Ident{Span: p.since(start), Name: p.sql[start+1 : p.pos-1], Quoted: true}
			return true
		}
		if p.keyword() {
			return false
		}
		end := start
		for end < len(p.sql) && !endsName(p.sql, end) && (end > start || !isDigit(p.sql[end])) {
			_, n := utf8.DecodeRuneInString(p.sql[end:])
			end += n
		}
		if end == start {
			return false
		}
		p.pos = end
		*out = Ident{Span: p.since(start), Name: strings.ToLower(p.sql[start:end])}
		return true
	})
}

func (p *parser) ident(out *Ident) bool { return p.identAs(rIdentifier, out) }

// quoted matches up to the closing quote, which doubled stands for itself; the
// opening one has been read.
func (p *parser) quoted(q byte) bool {
	for p.pos < len(p.sql) {
		c := p.sql[p.pos]
		p.pos++
		if c != q {
			continue
		}
		if p.pos < len(p.sql) && p.sql[p.pos] == q {
			p.pos++
			continue
		}
		return true
	}
	return false
}

// table matches a table's name where the grammar wants one.
func (p *parser) table(out *TableName) bool { return p.identAs(rTable, &out.Ident) }

// publicSchema matches `public.`, if it's there.
func (p *parser) publicSchema() bool {
	return p.opt(func() bool {
		return p.first(func() bool { return p.word("public") }, func() bool { return p.sym(`"public"`) }) &&
			p.skip() && p.sym(".") && p.skip()
	})
}

// ifExists matches IF EXISTS and the blanks after it, if it's there.
func (p *parser) ifExists(out *bool) bool {
	*out = p.maybe(func() bool {
		return p.try(rIfExists, token, func() bool { return p.words("if", "exists") }) && p.w()
	})
	return true
}

// ifNotExists matches IF NOT EXISTS and the blanks after it, if it's there.
func (p *parser) ifNotExists(out *bool) bool {
	*out = p.maybe(func() bool {
		return p.try(rIfNotExists, token, func() bool { return p.words("if", "not", "exists") }) && p.w()
	})
	return true
}

// keywords are the words that can't be names unless quoted. Their order counts:
// the first that the text begins with decides, and only if the word ends there.
// So current_timestamp is no keyword, as current_time stands before it.
var keywords = [...]string{
	"all", "and", "array", "asc", "as", "begin", "between", "by", "case", "cast",
	"current_date", "current_time", "current_timestamp", "desc", "distinct",
	"else", "end", "except", "exists", "false", "filter", "from", "group",
	"having", "inner", "into", "in", "is", "join", "left", "limit",
	"localtimestamp", "localtime", "not", "null", "on", "option", "order", "or",
	"outer", "over", "primary", "select", "set", "similar", "substring", "table",
	"then", "to", "true", "union", "using", "values", "when", "where", "with", "window",
}

// keyword tells whether a keyword stands at pos.
func (p *parser) keyword() bool {
	for _, k := range keywords {
		if k == "array" && !p.v.AtLeast(V261) {
			continue
		}
		if hasWord(p.sql[p.pos:], k) {
			return endsName(p.sql, p.pos+len(k))
		}
	}
	return false
}

func hasWord(s, lower string) bool {
	return len(s) >= len(lower) && strings.EqualFold(s[:len(lower)], lower)
}

// endsName tells whether what stands at i can't be part of an unquoted name.
func endsName(s string, i int) bool {
	if i >= len(s) || blankAt(s, i) > 0 {
		return true
	}
	switch s[i] {
	case '.', ',', '(', ')', '"', ':', ';', '[', ']', '\'', '+', '-', '%', '*', '/', '>', '<', '=':
		return true
	case '|', '!':
		return strings.HasPrefix(s[i:], "||") || strings.HasPrefix(s[i:], "!=")
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
