package servererr

import "strings"

// A pattern describes a whole message. Between its literal parts stand
//
//	{}   what the server quotes: any text, the empty one included
//	{=}  the same, and it is the object of the report
//	{*}  the same, and it holds users' data: Report.Message leaves it out
//	{n}  digits
//	{w}  a word: letters, digits and _
//	{u}  a UUID, or what stands for one in the recordings
//	{f}  a name of a file or a procedure
//
// The last four are read greedily and hold no users' words. What users may have written stands only
// in the first three, and no pattern that somebody acts on begins with one of these.
type pattern string

// match reports whether the pattern fits all of s. object is the text of {=}, shown is s without the texts of {*}.
func (p pattern) match(s string) (object, shown string, ok bool) {
	var b strings.Builder
	rest := string(p)
	hole := byte(0) // kind of the hole before the segment; 0: none, the segment begins s
	for {
		segment, next, after := cutHole(rest)
		var at, n int
		switch last := next == 0; {
		case hole == 0:
			n, ok = segmentAt(segment, s)
			ok = ok && (!last || n == len(s))
		case last:
			at, n, ok = segmentAtEnd(segment, s)
		default:
			at, n, ok = segmentWithin(segment, s)
		}
		if !ok {
			return "", "", false
		}
		switch hole {
		case '=':
			object = s[:at]
			b.WriteString(object)
		case '*':
			b.WriteString("…")
		case '}':
			b.WriteString(s[:at])
		}
		b.WriteString(s[at : at+n])
		if next == 0 {
			return object, b.String(), true
		}
		s, rest, hole = s[at+n:], after, next
	}
}

// cutHole splits a pattern at its first hole for any text. kind is '}', '=' or '*'; 0: there is none.
func cutHole(p string) (segment string, kind byte, after string) {
	for i := 0; i+1 < len(p); i++ {
		if p[i] != '{' {
			continue
		}
		switch p[i+1] {
		case '}':
			return p[:i], '}', p[i+2:]
		case '=', '*':
			return p[:i], p[i+1], p[i+3:]
		}
	}
	return p, 0, ""
}

// segmentAt matches a segment, which has no hole for any text, at the beginning of s and says how long it is.
func segmentAt(segment, s string) (n int, ok bool) {
	for segment != "" {
		if len(segment) >= 3 && segment[0] == '{' && segment[2] == '}' {
			m := class(segment[1], s[n:])
			if m == 0 {
				return 0, false
			}
			n, segment = n+m, segment[3:]
			continue
		}
		if n == len(s) || s[n] != segment[0] {
			return 0, false
		}
		n, segment = n+1, segment[1:]
	}
	return n, true
}

// segmentWithin finds the first place where the segment matches.
func segmentWithin(segment, s string) (at, n int, ok bool) {
	for at = range len(s) + 1 {
		if n, ok = segmentAt(segment, s[at:]); ok {
			return at, n, true
		}
	}
	return 0, 0, false
}

// segmentAtEnd finds the last place where the segment matches up to the end of s.
func segmentAtEnd(segment, s string) (at, n int, ok bool) {
	if segment == "" {
		return len(s), 0, true
	}
	for at = len(s); at >= 0; at-- {
		if n, ok = segmentAt(segment, s[at:]); ok && at+n == len(s) {
			return at, n, true
		}
	}
	return 0, 0, false
}

const uuidLength = 36

// class says how many bytes at the beginning of s belong to a class.
func class(c byte, s string) int {
	switch c {
	case 'n':
		return span(s, func(b byte) bool { return '0' <= b && b <= '9' })
	case 'w':
		return span(s, isWord)
	case 'f':
		return span(s, func(b byte) bool { return isWord(b) || b == '.' || b == '/' || b == '-' })
	case 'u':
		n := span(s, func(b byte) bool { return isWord(b) || b == '-' })
		if n != uuidLength && s[:n] != "UUID" {
			return 0
		}
		return n
	}
	return 0
}

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}
