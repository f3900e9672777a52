package grammar

import "strings"

// mode says how blanks are read and whether failures are noted. The rules of the
// server's grammar inherit it from the rule that uses them unless they set it.
type mode uint8

const (
	inherit mode = iota // as in the rule around
	spaced              // blanks may stand between any two parts
	tight               // blanks only where the rule asks for them
	token               // as tight, and failures inside aren't noted
)

// maxDepth bounds nesting, to keep the stack small whatever the text is. No
// statement a person writes comes near.
const maxDepth = 1000

// parser matches one text. It works as the server's does: a method that matches
// moves pos and returns true; one that doesn't returns false and has moved pos
// only if its caller puts it back (try, opt and first do).
//
// What the error position is follows from that way of working: the start of the
// furthest rule that failed, outside of tokens. attempts are the rules that
// failed right there.
type parser struct {
	sql   string
	v     Version
	pos   int
	mode  mode
	depth int

	failPos  int
	attempts []rule

	exprs map[int]memo
}

// memo remembers what an expression at a place was, since the rules try the same
// expression under several heads (a function call, a window call, a row …) and
// would take exponential time for nested ones. The place is all it depends on, for
// an expression sets its own mode. end is -1 for none.
type memo struct {
	expr Expr
	end  int
}

// try matches a named rule; on failure pos is back where it was and the failure
// is noted.
func (p *parser) try(r rule, m mode, body func() bool) bool {
	start, outer := p.pos, p.mode
	first, before := 0, 0
	if start == p.failPos {
		first, before = len(p.attempts), len(p.attempts)
	}
	if m != inherit {
		p.mode = m
	}
	ok := body()
	// A token is noted by the rule around it, every other rule by itself.
	if m == token {
		p.mode = outer
	}
	if !ok {
		p.pos = start
		p.note(r, start, first, before)
	}
	p.mode = outer
	return ok
}

// note records that rule r failed at pos. The rules tried inside it at the very
// same place give way to it, unless there was just one: that one says it better.
func (p *parser) note(r rule, pos, first, before int) {
	if p.mode == token || pos < p.failPos {
		return
	}
	if pos > p.failPos {
		p.failPos = pos
		p.attempts = append(p.attempts[:0], r)
		return
	}
	if len(p.attempts) == before+1 {
		return
	}
	if first < len(p.attempts) {
		p.attempts = p.attempts[:first]
	}
	p.attempts = append(p.attempts, r)
}

// opt matches body if it can and is content if it can't.
func (p *parser) opt(body func() bool) bool {
	start := p.pos
	if !body() {
		p.pos = start
	}
	return true
}

// maybe is opt for callers that need to know.
func (p *parser) maybe(body func() bool) bool {
	start := p.pos
	if !body() {
		p.pos = start
		return false
	}
	return true
}

// many matches body as often as it can; body must move on when it matches.
func (p *parser) many(body func() bool) bool {
	for {
		start := p.pos
		if !body() || p.pos == start {
			p.pos = start
			return true
		}
	}
}

// first matches the first of the alternatives that matches.
func (p *parser) first(alternatives ...func() bool) bool {
	start := p.pos
	for _, a := range alternatives {
		if a() {
			return true
		}
		p.pos = start
	}
	return false
}

// word matches s, given in lower case, in any case. It doesn't look at what
// follows: `selectx` begins with the word select, as it does for the server.
func (p *parser) word(s string) bool {
	if len(p.sql)-p.pos < len(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := p.sql[p.pos+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s[i] {
			return false
		}
	}
	p.pos += len(s)
	return true
}

// words matches words with blanks between them.
func (p *parser) words(list ...string) bool {
	for i, s := range list {
		if i > 0 && !p.w() || !p.word(s) {
			return false
		}
	}
	return true
}

// sym matches s exactly.
func (p *parser) sym(s string) bool {
	if !strings.HasPrefix(p.sql[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

// blank matches one blank: space, tab, newline, or carriage return and newline.
func (p *parser) blank() bool {
	n := blankAt(p.sql, p.pos)
	p.pos += n
	return n > 0
}

func blankAt(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case ' ', '\t', '\n':
		return 1
	case '\r':
		if i+1 < len(s) && s[i+1] == '\n' {
			return 2
		}
	}
	return 0
}

// w matches one blank or more.
func (p *parser) w() bool {
	if !p.blank() {
		return false
	}
	return p.wo()
}

// wo matches blanks if there are any.
func (p *parser) wo() bool {
	for p.blank() {
	}
	return true
}

// skip matches the blanks that stand between any two parts of a spaced rule.
func (p *parser) skip() bool {
	if p.mode == spaced {
		return p.wo()
	}
	return true
}

// comma matches a comma with blanks around it.
func (p *parser) comma() bool { return p.wo() && p.sym(",") && p.wo() }

// list matches item (, item)*.
func (p *parser) list(item func() bool) bool {
	return item() && p.many(func() bool { return p.comma() && item() })
}

// spacedList is list in a spaced rule, where blanks before a comma belong to the
// list even if no comma comes.
func (p *parser) spacedList(item func() bool) bool {
	return item() && p.skip() && p.many(func() bool {
		return p.skip() && p.sym(",") && p.skip() && item()
	}) && p.skip()
}

// end matches semicolons and the end of the text.
func (p *parser) end() bool {
	return p.try(rEOF, inherit, func() bool {
		return p.many(func() bool { return p.sym(";") && p.wo() }) && p.skip() &&
			p.try(rEOI, inherit, func() bool { return p.pos == len(p.sql) })
	})
}

// since is the span from start to where the parser stands.
func (p *parser) since(start int) Span { return Span{start, p.pos} }
