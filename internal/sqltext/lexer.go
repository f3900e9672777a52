// Package sqltext is the driver's one lexer and reader of SQL texts. Routing asks it for
// keys, retries and mirroring ask it for the class of a statement, the wire asks it to strip
// comments. It reads what it is sure of and says "unknown" with a reason for the rest: a guess
// would cost a hop inside the cluster at best and a repeated write at worst.
//
// The lexical rules are those of Picodata's grammar: blanks are space, tab and line ends;
// strings stand in single quotes and identifiers in double quotes, a doubled quote standing for
// itself; unquoted identifiers are folded to lower case. Comments don't exist in that grammar,
// so they are read as PostgreSQL reads them.
package sqltext

import (
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end      kind = iota // the text is over
	word                 // keyword or unquoted identifier
	quoted               // "identifier"
	str                  // 'string'
	num                  // number, without its sign
	param                // $n
	question             // ?
	op                   // punctuation or operator
	block                // $$ … $$ or $tag$ … $tag$
	comment              // only given out by nextRaw
	bad                  // unterminated string, identifier, block or comment
)

// token is a stretch of the text. For op, first is its first byte; for word, key tells
// keywords apart; for parameters, index is the parameter's, counted from 0.
type token struct {
	start, end int32 // texts are shorter, see maxText
	index      uint16
	kind       kind
	key        keyword
	first      byte
}

// maxText bounds what is walked over, so that positions fit into a token.
const maxText = 1 << 30

// maxRead bounds what Analyze reads: a longer text is sent to any node and never run again. Reading takes time in
// proportion to the length; maxDepth, maxKeys and maxSet bound what it takes per token.
const (
	maxRead  = 1 << 20
	maxDepth = 64  // parentheses inside each other in a WHERE
	maxKeys  = 64  // equalities of a WHERE that are kept
	maxSet   = 256 // columns of a SET
)

// lexer walks over a text of at most maxText bytes. The zero value with s set is ready.
type lexer struct {
	s   string
	pos int
	// operand: the last token may end an operand, so that a minus after it may be a subtraction.
	operand bool
	// doubtful: something was seen that Picodata and PostgreSQL read differently, see nextRaw.
	doubtful bool
}

// next is the next token that isn't a comment.
func (l *lexer) next() token {
	for {
		t := l.nextRaw()
		if t.kind != comment {
			return t
		}
	}
}

// nextRaw is the next token, comments included.
//
// Two things are doubtful and marked so. "a--1" is a subtraction of a negative number for
// Picodata, which knows no comments, and a comment for everybody else; it is left to the
// server, as two operators: dropping it could drop a WHERE after it. And a word that touches a
// string, as in E'it\'s', has other rules in PostgreSQL and is a syntax error in Picodata.
func (l *lexer) nextRaw() token {
	s := l.s
	i := l.pos
	for i < len(s) && blank(s, i) {
		i++
	}
	start := i
	if i >= len(s) {
		l.pos = i
		return token{start: int32(i), end: int32(i), kind: end}
	}
	c := s[i]
	switch {
	case c == '\'':
		return l.until(start, '\'', str)
	case c == '"':
		return l.until(start, '"', quoted)
	case digit(c):
		return l.number(start)
	case c == '$':
		return l.dollar(start)
	case c == '?':
		return l.take(start, i+1, question, true)
	case c == '-' && i+1 < len(s) && s[i+1] == '-':
		if l.operand && i+2 < len(s) && digit(s[i+2]) {
			l.doubtful = true
			return l.take(start, i+1, op, false)
		}
		return l.lineComment(start)
	case c == '/' && i+1 < len(s) && s[i+1] == '*':
		return l.blockComment(start)
	case wordByte(c):
		return l.word(start)
	default:
		return l.operator(start)
	}
}

func (l *lexer) take(start, stop int, k kind, operand bool) token {
	l.pos, l.operand = stop, operand
	return token{start: int32(start), end: int32(stop), kind: k, first: l.s[start]}
}

// until reads a string or a quoted identifier; the quote is doubled to stand for itself.
func (l *lexer) until(start int, quote byte, k kind) token {
	i := start + 1
	for {
		j := strings.IndexByte(l.s[i:], quote)
		if j < 0 {
			return l.take(start, len(l.s), bad, false)
		}
		i += j + 1
		if i >= len(l.s) || l.s[i] != quote {
			return l.take(start, i, k, true)
		}
		i++
	}
}

func (l *lexer) number(start int) token {
	s, i := l.s, start
	for i < len(s) && digit(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && digit(s[i]) {
			i++
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && digit(s[j]) {
			for i = j; i < len(s) && digit(s[i]); {
				i++
			}
		}
	}
	return l.take(start, i, num, true)
}

// dollar reads $n, a dollar-quoted block, or an identifier that begins with a dollar.
func (l *lexer) dollar(start int) token {
	s, i := l.s, start+1
	if i < len(s) && digit(s[i]) {
		for i < len(s) && digit(s[i]) {
			i++
		}
		return l.take(start, i, param, true)
	}
	for i < len(s) && s[i] != '$' && wordByte(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '$' {
		tag := s[start : i+1]
		if j := strings.Index(s[i+1:], tag); j >= 0 {
			return l.take(start, i+1+j+len(tag), block, false)
		}
		return l.take(start, len(s), bad, false)
	}
	return l.word(start)
}

func (l *lexer) word(start int) token {
	s, i := l.s, start+1
	for i < len(s) && (wordByte(s[i]) || digit(s[i]) || s[i] == '$') {
		i++
	}
	if i < len(s) && s[i] == '\'' {
		l.doubtful = true
	}
	t := l.take(start, i, word, true)
	t.key = keywordOf(s[start:i])
	l.operand = !t.key.reserved()
	return t
}

func (l *lexer) lineComment(start int) token {
	stop := len(l.s)
	if j := strings.IndexAny(l.s[start:], "\r\n"); j >= 0 {
		stop = start + j // either ends it, as in PostgreSQL, and stays: it is a blank
		if strings.HasPrefix(l.s[stop:], "\r\n") {
			stop++
		}
	}
	l.pos = stop
	return token{start: int32(start), end: int32(stop), kind: comment}
}

// blockComment reads /* … */, nested as in PostgreSQL.
func (l *lexer) blockComment(start int) token {
	s, depth := l.s, 1
	for i := start + 2; i+1 < len(s); i++ {
		switch {
		case s[i] == '/' && s[i+1] == '*':
			depth++
			i++
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i++
			if depth == 0 {
				l.pos = i + 1
				return token{start: int32(start), end: int32(i + 1), kind: comment}
			}
		}
	}
	return l.take(start, len(s), bad, false)
}

func (l *lexer) operator(start int) token {
	s, i := l.s, start+1
	c := s[start]
	if i < len(s) {
		switch d := s[i]; {
		case c == ':' && d == ':', c == '|' && d == '|', c == '<' && (d == '=' || d == '>'), c == '>' && d == '=', c == '!' && d == '=':
			i++
		}
	}
	return l.take(start, i, op, c == ')' || c == ']')
}

// blank is the server's WHITESPACE. A lone carriage return isn't one for the server, which
// then refuses the text, but nothing else could be meant by it.
func blank(s string, i int) bool {
	c := s[i]
	return c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

func digit(c byte) bool { return c-'0' <= 9 }

// wordByte: may begin an unquoted identifier. Bytes of letters beyond ASCII are among them.
func wordByte(c byte) bool {
	return c|0x20-'a' < 26 || c == '_' || c >= utf8.RuneSelf || c == '#' || c == '@' || c == '`' || c == '\\' || c == '~'
}

// StripComments takes the comments off a text: Picodata's grammar has none, and ORMs and
// tracing add them. A comment before or after the statement goes with the blanks around it,
// one inside becomes a single space unless a blank is there already. Strings, quoted
// identifiers and $$ blocks are never touched.
//
// A text without comments is returned as it is, without allocating, and changed is false. So
// is a text that ends inside a string, an identifier, a block or a comment, or that writes a
// string with a prefix as in E'…': there it isn't certain what is a comment, and the server's
// error is the better answer.
//
// "a--1" isn't a comment: Picodata reads it as a - (-1).
func StripComments(sql string) (stripped string, changed bool) {
	if len(sql) > maxText || !strings.Contains(sql, "--") && !strings.Contains(sql, "/*") {
		return sql, false
	}
	l := lexer{s: sql}
	var (
		b    strings.Builder
		copy int  // what lies before it is in b or dropped
		seen bool // a token was seen, so that a comment isn't a leading one
	)
	for {
		t := l.nextRaw()
		switch t.kind {
		case bad:
			return sql, false
		case word:
			if int(t.end) < len(sql) && sql[t.end] == '\'' {
				return sql, false
			}
			seen = true
		case comment:
			if !seen { // leading: the blanks before and after it go too
				copy = int(t.end)
				for copy < len(sql) && blank(sql, copy) {
					copy++
				}
				changed = true
				continue
			}
			if !changed || b.Cap() == 0 {
				b.Grow(len(sql))
			}
			changed = true
			part := sql[copy:t.start]
			b.WriteString(part)
			copy = int(t.end)
			if copy < len(sql) && sql[copy] == '\r' { // it ended the comment, and is no blank to the server
				b.WriteByte('\n')
				copy++
			}
			if !blankEnd(b.String()) && (copy >= len(sql) || !blank(sql, copy)) {
				b.WriteByte(' ')
			}
		case end:
			if !changed {
				return sql, false
			}
			if b.Len() == 0 { // leading comments only
				return sql[copy:], true
			}
			rest := sql[copy:]
			if strings.TrimRight(rest, " \t\r\n") == "" { // the last thing was a comment
				return strings.TrimRight(b.String(), " \t\r\n"), true
			}
			b.WriteString(rest)
			return b.String(), true
		default:
			seen = true
		}
	}
}

func blankEnd(s string) bool { return s != "" && blank(s, len(s)-1) }
