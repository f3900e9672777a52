package sqltext

import "strings"

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
