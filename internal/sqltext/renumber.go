package sqltext

import (
	"strconv"
	"strings"
)

// Renumber writes a statement that is to stand among others: its parameters, $n or ?, become $(n+offset), its
// comments and the semicolon at its end go. params is the number of its own parameters. ok is
// false for a text that isn't fully read: an unterminated quote, both kinds of parameters, or more than one statement.
func Renumber(sql string, offset int) (text string, params int, ok bool) {
	if len(sql) > maxText {
		return "", 0, false
	}
	var b strings.Builder
	b.Grow(len(sql) + 8)
	l := lexer{s: sql}
	over := false
	numbered, questions := false, 0
	for {
		from := l.pos
		t := l.nextRaw()
		if over && t.kind != end && t.kind != comment && !opIs(t, ';') {
			return "", 0, false
		}
		switch {
		case t.kind == end:
			if l.doubtful || numbered && questions > 0 {
				return "", 0, false
			}
			return strings.TrimSpace(b.String()), max(params, questions), true
		case t.kind == bad:
			return "", 0, false
		case t.kind == comment:
			b.WriteByte(' ')
		case opIs(t, ';'):
			over = true
		case t.kind == param:
			n, err := strconv.Atoi(sql[t.start+1 : t.end])
			if err != nil || n < 1 {
				return "", 0, false
			}
			numbered = true
			params = max(params, n)
			b.WriteString(sql[from:t.start])
			b.WriteString("$" + strconv.Itoa(n+offset))
		case t.kind == question:
			questions++
			b.WriteString(sql[from:t.start])
			b.WriteString("$" + strconv.Itoa(questions+offset))
		default:
			b.WriteString(sql[from:t.end])
		}
	}
}
