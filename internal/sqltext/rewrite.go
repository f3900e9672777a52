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

// HasOption reports whether a statement ends in an OPTION clause, outside of parentheses.
func HasOption(sql string) bool {
	if len(sql) > maxText {
		return false
	}
	depth, word := 0, false
	l := lexer{s: sql}
	for {
		t := l.next()
		switch {
		case t.kind == end || t.kind == bad:
			return false
		case opIs(t, '('):
			if word && depth == 0 {
				return true
			}
			depth++
		case opIs(t, ')'):
			depth--
		}
		word = t.key == kwOption
	}
}

// SplitValues cuts an INSERT … VALUES into what stands before its first row and what stands behind its last one, comments left
// out there. It is for texts whose Info has RowValues.
func SplitValues(sql string) (head, tail string, ok bool) {
	if len(sql) > maxRead {
		return "", "", false
	}
	r := reader{s: sql}
	if r.scan() != "" {
		return "", "", false
	}
	depth, first, last := 0, -1, -1
	for i := 0; r.at(i).kind != end; i++ {
		t := r.at(i)
		switch {
		case first < 0 && t.key == kwValues:
			first = int(t.end)
		case first < 0:
		case opIs(t, '('):
			depth++
		case opIs(t, ')'):
			if depth--; depth == 0 {
				last = int(t.end)
			}
		case depth == 0 && !opIs(t, ','):
			if last < 0 {
				return "", "", false
			}
			return sql[:first], " " + strings.TrimRight(sql[t.start:], " \t\r\n;"), true
		}
	}
	return sql[:max(first, 0)], "", last > 0
}
