package grammar

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse holds for any text and version: no panic, exactly one result, an
// error whose place lies in the text and is drawn as the server draws it, spans
// inside of the text, and parameters where the tree says they are.
func FuzzParse(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.sql, r.version.AtLeast(V262))
	}
	for _, a := range accepted {
		f.Add(a.sql, true)
	}
	f.Fuzz(func(t *testing.T, sql string, newest bool) {
		v := V256
		if newest {
			v = V262
		}
		s, err := Parse(v, sql)
		if (s == nil) == (err == nil) {
			t.Fatalf("tree %v, error %v", s, err)
		}
		if err != nil {
			checkError(t, sql, err)
			return
		}
		Check(s)
		Walk(s, func(n Node) bool {
			p := n.Pos()
			if p.Start < 0 || p.Start > p.End || p.End > len(sql) {
				t.Fatalf("%T has the span %v in a text of %d bytes", n, p, len(sql))
			}
			return true
		})
		for i, p := range Params(s) {
			if p.Style == QuestionParam && sql[p.Start] != '?' || p.Style == DollarParam && sql[p.Start] != '$' {
				t.Fatalf("parameter %d is not where it says: %v", i, p.Span)
			}
		}
	})
}

func checkError(t *testing.T, sql string, err *SyntaxError) {
	t.Helper()
	if err.Offset < 0 || err.Offset > len(sql) || err.Line < 1 || err.Col < 1 {
		t.Fatalf("the place %d:%d, offset %d, is outside of the text", err.Line, err.Col, err.Offset)
	}
	if utf8.ValidString(sql) && err.Offset < len(sql) && !utf8.RuneStart(sql[err.Offset]) {
		t.Fatalf("offset %d is inside of a character", err.Offset)
	}
	if len(err.Expected) == 0 {
		t.Fatal("nothing is expected")
	}
	if !strings.HasPrefix(err.Message, "sbroad: rule parsing error: ") || strings.Count(err.Message, "\n") != 5 {
		t.Fatalf("not the server's form: %q", err.Message)
	}
}
