package sqltext

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
