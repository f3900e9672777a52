package sqltext

import "strings"

// Replaces reports whether an INSERT may take the place of rows that are there: whether REPLACE is one of its words. A
// text that isn't read to its end may.
func Replaces(sql string) bool {
	if len(sql) > maxText {
		return true
	}
	l := lexer{s: sql}
	for {
		switch t := l.next(); t.kind {
		case end:
			return false
		case bad, block:
			return true
		case word:
			if strings.EqualFold(sql[t.start:t.end], "replace") {
				return true
			}
		}
	}
}
