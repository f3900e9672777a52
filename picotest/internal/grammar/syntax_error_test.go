package grammar

import (
	"strings"
	"testing"
)

// The picture follows the library that the server's parser is made with: tabs are
// kept under tabs, the margin is as wide as the line's number, and a line break
// at the place itself is made visible.
func TestPicture(t *testing.T) {
	for sql, want := range map[string]string{
		"select 1\n\tfrom \tfrom":         " --> 2:8\n  |\n2 | \tfrom \tfrom\n  | \t     \t^---\n  |\n  = ",
		"select 'é', é -\n1 1":            " --> 2:3\n  |\n2 | 1 1\n  |   ^---\n  |\n  = ",
		strings.Repeat("\n", 9) + "selec": "  --> 10:1\n   |\n10 | selec\n   | ^---\n   |\n   = ",
		"select 1;\r\nselect 2\r\n":       " --> 2:1\n  |\n2 | select 2\n  | ^---\n  |\n  = ",
		"selec\r\n":                       " --> 1:1\n  |\n1 | selec\n  | ^---\n  |\n  = ",
		"select 1;\r":                     " --> 1:10\n  |\n1 | select 1;␍\n  |          ^---\n  |\n  = ",
	} {
		_, err := Parse(V262, sql)
		if err == nil {
			t.Errorf("%q read", sql)
			continue
		}
		// The two blanks before the arrow are the server's, whatever the margin.
		got, _, _ := strings.Cut(strings.TrimPrefix(err.Message, "sbroad: rule parsing error: "), "expected")
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", sql, got, want)
		}
	}
}

func TestExpectation(t *testing.T) {
	for want, rules := range map[string][]string{
		"unknown parsing error":  nil,
		"expected A":             {"A"},
		"expected A or B":        {"A", "B"},
		"expected A, B, or C":    {"A", "B", "C"},
		"expected A, B, C, or D": {"A", "B", "C", "D"},
	} {
		if got := expectation(rules); got != want {
			t.Errorf("%v: %q; want %q", rules, got, want)
		}
	}
}

// These two are in the server's own tests.
func TestErrorsKnownElsewhere(t *testing.T) {
	for sql, want := range map[string]string{
		" create table foo": "sbroad: rule parsing error:  --> 1:15\n  |\n1 |  create table foo\n  |               ^---\n  |\n  = expected IfNotExists",
		"SELECT * FRUM t":   "sbroad: rule parsing error:  --> 1:10\n  |\n1 | SELECT * FRUM t\n  |          ^---\n  |\n  = expected EOI, OrderBy, Limit, UnionOp, ExceptOp, UnionAllOp, or DqlOption",
	} {
		if _, err := Parse(V262, sql); err == nil || err.Message != want {
			t.Errorf("%q\n got %v\nwant %s", sql, err, want)
		}
	}
}
