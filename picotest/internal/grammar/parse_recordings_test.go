package grammar

import (
	"regexp"
	"strings"
	"testing"
)

// Every parse error that a real server gave, in both versions, comes out as it
// was, the list of rules included.
func TestRecordedParseErrors(t *testing.T) {
	n := 0
	for _, r := range recordings(t) {
		if r.err == "" {
			continue
		}
		n++
		s, err := Parse(r.version, r.sql)
		if err == nil {
			t.Errorf("%s, %s: %q read as %T; the server says %s", r.source, r.version, r.sql, s, r.err)
		} else if err.Message != r.err {
			t.Errorf("%s, %s: %q\n got %s\nwant %s", r.source, r.version, r.sql, err.Message, r.err)
		}
	}
	// So that a reader of recordings that finds nothing can't pass.
	if n < 100 {
		t.Errorf("only %d parse errors in the recordings", n)
	}
}

// What a real server could read is read.
func TestRecordedStatementsAreRead(t *testing.T) {
	n := 0
	for _, r := range recordings(t) {
		if r.err != "" {
			continue
		}
		n++
		if _, err := Parse(r.version, r.sql); err != nil {
			t.Errorf("%s, %s: %q\n%s", r.source, r.version, r.sql, err)
		}
	}
	if n < 500 {
		t.Errorf("only %d statements in the recordings", n)
	}
}

// names are the tables, columns and users of the recordings.
var names = regexp.MustCompile(`\b(dlg_\w+|tt_\w+|id|s|n|lk)\b`)

// With other names in the same statements the errors are the same, only further
// to the right by what the names before them have grown.
func TestRecordedParseErrorsWithOtherNames(t *testing.T) {
	n := 0
	for _, r := range recordings(t) {
		if r.err == "" {
			continue
		}
		_, want := Parse(r.version, r.sql)
		if want == nil {
			continue // TestRecordedParseErrors reports it
		}
		shift := 0
		for _, at := range names.FindAllStringIndex(r.sql, -1) {
			if at[0] < want.Offset {
				shift += len("renamed_")
				n++
			}
		}
		sql := names.ReplaceAllString(r.sql, "renamed_$1")
		_, got := Parse(r.version, sql)
		if got == nil {
			t.Errorf("%s: %q read, %q not", r.version, sql, r.sql)
			continue
		}
		if got.Line != want.Line || got.Col != want.Col+shift {
			t.Errorf("%s: %q fails at %d:%d; want %d:%d", r.version, sql, got.Line, got.Col, want.Line, want.Col+shift)
		}
		if g, w := strings.Join(got.Expected, " "), strings.Join(want.Expected, " "); g != w {
			t.Errorf("%s: %q expects %s; want %s", r.version, sql, g, w)
		}
	}
	if n == 0 {
		t.Error("no error has a name before it")
	}
}
