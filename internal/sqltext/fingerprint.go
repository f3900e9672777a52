package sqltext

import (
	"strconv"
	"strings"
)

// Normalize writes a text so that statements which differ only in their values look the same,
// and no value is left: literals and parameters become "?", lists of them "?…", further rows
// of VALUES are left out, comments go,
// blanks are folded, unquoted words are in lower case. What follows an unterminated quote
// is dropped, for it may be a value. It is fit for logs and errors.
func Normalize(sql string) string {
	sql = sql[:min(len(sql), maxText)]
	var b strings.Builder
	b.Grow(min(len(sql), 1024))
	l := lexer{s: sql}
	var last token // the token written last
	list := false  // "?" and "," follow each other; the comma isn't written yet
	for {
		operand := l.operand
		t := l.next()
		value := isValue(t)
		switch {
		case t.kind == end:
			if list {
				b.WriteByte(',')
			}
			return foldRows(b.String())
		case t.kind == op && t.first == ';':
			continue
		case !operand && (opIs(t, '-') || opIs(t, '+')) && int(t.end) < len(sql) && digit(sql[t.end]):
			continue // the sign of a number
		case value && list: // another item of the list
			list = false
			if !strings.HasSuffix(b.String(), "?…") {
				b.WriteString("…")
			}
			continue
		case opIs(t, ',') && isValue(last) && !list:
			list = true
			continue
		}
		if list {
			b.WriteByte(',')
			last = token{kind: op, first: ',', end: 1}
			list = false
		}
		if spaced(last, t) {
			b.WriteByte(' ')
		}
		switch {
		case l.literalOf(t):
			b.WriteByte('?')
			t.kind = str
		case value:
			b.WriteByte('?')
		case t.kind == word:
			b.WriteString(strings.ToLower(sql[t.start:t.end]))
		default:
			b.WriteString(sql[t.start:t.end])
		}
		last = t
	}
}

// literalOf reports whether t begins a literal that Picodata doesn't know and PostgreSQL does, and steps over it:
// E'it\'s', X'ab', U&'…', 0xDEADBEEF. It holds a value like any other.
func (l *lexer) literalOf(t token) bool {
	s := l.s
	switch {
	case t.kind == num && l.pos < len(s) && wordByte(s[l.pos]):
		for l.pos < len(s) && (wordByte(s[l.pos]) || digit(s[l.pos])) {
			l.pos++
		}
		return true
	case t.kind != word:
		return false
	case l.pos < len(s) && s[l.pos] == '\'':
	case l.pos+1 < len(s) && s[l.pos] == '&' && s[l.pos+1] == '\'':
		l.pos++
	default:
		return false
	}
	if prefix := s[t.start:t.end]; prefix != "e" && prefix != "E" {
		l.next()
		return true
	}
	for l.pos++; l.pos < len(s) && s[l.pos] != '\''; l.pos++ {
		if s[l.pos] == '\\' {
			l.pos++
		}
	}
	l.pos, l.operand = min(l.pos+1, len(s)), true
	return true
}

// foldRows leaves one of several rows of values that look alike.
func foldRows(s string) string {
	for _, row := range [...]string{"(?…)", "(?)"} {
		for two := row + ", " + row; strings.Contains(s, two); {
			s = strings.ReplaceAll(s, two, row)
		}
	}
	return s
}

func isValue(t token) bool {
	switch t.kind {
	case str, num, param, question, bad, block:
		return true
	}
	return false
}

// spaced: a blank is written between the two tokens. One form for all ways of writing.
func spaced(last, t token) bool {
	switch {
	case last.kind == end:
		return false
	case t.kind == op && (t.first == ',' || t.first == ')' || t.first == '.' || t.first == ']' || t.first == ':' || t.first == '['):
		return false
	case last.kind == op && (last.first == '(' || last.first == '.' || last.first == '[' || last.first == ':'):
		return false
	case t.kind == op && t.first == '(' && last.kind == word && last.key == notKeyword:
		return false // a call or a list of columns
	}
	return true
}

// Fingerprint is a short name for all texts that Normalize writes the same way: 16 hexadecimal
// digits, the same in every process and version of the driver's protocol of names.
func Fingerprint(sql string) string {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	n := Normalize(sql)
	for i := 0; i < len(n); i++ {
		h = (h ^ uint64(n[i])) * prime
	}
	s := strconv.FormatUint(h, 16)
	return "0000000000000000"[len(s):] + s
}
