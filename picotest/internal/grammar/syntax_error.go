package grammar

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is the server's refusal of a text it cannot read.
type SyntaxError struct {
	// Line and Col are 1-based; Col counts characters, not bytes.
	Line, Col int
	// Offset is the byte offset of that place, at most len(sql).
	Offset int
	// Expected are the grammar rules that would have gone on from there, in the
	// server's order; an approximation, as the list changes with every version.
	Expected []string
	// Message is the whole text that the server puts in ErrorResponse's M.
	Message string
}

// Error gives the message.
func (e *SyntaxError) Error() string { return e.Message }

// syntaxError makes the error of a failed match.
func (p *parser) syntaxError() *SyntaxError {
	rules := slices.Clone(p.attempts)
	slices.Sort(rules)
	rules = slices.Compact(rules)
	e := &SyntaxError{Offset: p.failPos}
	for _, r := range rules {
		e.Expected = append(e.Expected, r.String())
	}
	e.Line, e.Col = place(p.sql, p.failPos)
	e.Message = "sbroad: rule parsing error: " + picture(p.sql, e)
	return e
}

// place gives line and column of a byte offset. A carriage return counts as a
// character unless a newline follows.
func place(sql string, offset int) (line, col int) {
	line, col = 1, 1
	for i := 0; i < offset; {
		if n := blankAt(sql, i); n == 2 || sql[i] == '\n' {
			line, col = line+1, 1
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(sql[i:])
		i += n
		col++
	}
	return line, col
}

// picture draws the line with a caret under the place and says what would fit.
func picture(sql string, e *SyntaxError) string {
	number := strconv.Itoa(e.Line)
	margin := strings.Repeat(" ", len(number))
	line := lineAt(sql, e.Offset)
	if e.Offset < len(sql) && (sql[e.Offset] == '\n' || sql[e.Offset] == '\r') {
		line = strings.NewReplacer("\r", "␍", "\n", "␊").Replace(line)
	} else {
		line = strings.NewReplacer("\r", "", "\n", "").Replace(line)
	}
	var under strings.Builder
	n := 1
	for _, c := range line {
		if n == e.Col {
			break
		}
		if c == '\t' {
			under.WriteByte('\t')
		} else {
			under.WriteByte(' ')
		}
		n++
	}
	return margin + "--> " + number + ":" + strconv.Itoa(e.Col) + "\n" +
		margin + " |\n" +
		number + " | " + line + "\n" +
		margin + " | " + under.String() + "^---\n" +
		margin + " |\n" +
		margin + " = " + expectation(e.Expected)
}

// lineAt gives the line around offset, with its newline.
func lineAt(sql string, offset int) string {
	from := strings.LastIndexByte(sql[:offset], '\n') + 1
	to := len(sql)
	if i := strings.IndexByte(sql[offset:], '\n'); i >= 0 {
		to = offset + i + 1
	}
	return sql[from:to]
}

func expectation(rules []string) string {
	switch n := len(rules); n {
	case 0:
		return "unknown parsing error"
	case 1:
		return "expected " + rules[0]
	case 2:
		return "expected " + rules[0] + " or " + rules[1]
	default:
		return "expected " + strings.Join(rules[:n-1], ", ") + ", or " + rules[n-1]
	}
}
