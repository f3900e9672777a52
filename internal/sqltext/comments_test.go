package sqltext

import (
	"strings"
	"testing"
)

func TestStripComments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"select 1", "select 1"},
		{"-- ping", ""},
		{"/* only */", ""},
		{" /* a */ -- b\n ", ""},
		{"/* app='x' */ select 1", "select 1"},
		{"-- a\n-- b\nselect 1", "select 1"},
		{"select 1 /*traceparent='00-aa'*/", "select 1"},
		{"select 1 -- tail", "select 1"},
		{"select 1 -- tail\n", "select 1"},
		{"select 1; -- tail", "select 1;"},
		{"select/**/1", "select 1"},
		{"select /* a */ 1", "select  1"},
		{"select 1 -- a\n, 2", "select 1 \n, 2"},
		{"select 1 -- a\r\n, 2", "select 1 \n, 2"},
		{"select /* a /* nested */ b */ 1", "select  1"},
		{"a/*x*/--y\n/*z*/b", "a \nb"},
		// Not comments.
		{"select '-- no', '/* no */'", "select '-- no', '/* no */'"},
		{"select 'it''s -- no'", "select 'it''s -- no'"},
		{`select "a--b", "c/*d*/" from t`, `select "a--b", "c/*d*/" from t`},
		{`select "a""--b" -- yes`, `select "a""--b"`},
		{"do $$ begin -- in the block\n insert into t values (1); end $$", "do $$ begin -- in the block\n insert into t values (1); end $$"},
		{"do $$ begin end $$ -- out", "do $$ begin end $$"},
		{"select '' /* a */ ''", "select ''  ''"},
		// A minus of a negative number: what follows must not be lost.
		{"update t set a = a--1 where id = 5", "update t set a = a--1 where id = 5"},
		{"select (1)--1", "select (1)--1"},
		{"select $1--1", "select $1--1"},
		{"select a --1 comment", "select a --1 comment"},
		// … but this can't be one.
		{"select --1 comment\n 5", "select \n 5"},
		{"--1\nselect 5", "select 5"},
		{"select a -- 1", "select a"},
		{"update t set a = a --x1 where id = 5\n", "update t set a = a"},
		// Not understood: left alone.
		{"select 1 /* open", "select 1 /* open"},
		{"select 1 /* open /* */", "select 1 /* open /* */"},
		{"select 'open -- x", "select 'open -- x"},
		{`select "open -- x`, `select "open -- x`},
		{"/* a */ select 'open", "/* a */ select 'open"},
		{`select E'it\'s -- x'`, `select E'it\'s -- x'`},
		{"select $$ -- open", "select $$ -- open"},
		{"select $tag$ -- x $tag$ -- y", "select $tag$ -- x $tag$"},
	} {
		got, changed := StripComments(c.in)
		if got != c.want {
			t.Errorf("StripComments(%q) = %q, want %q", c.in, got, c.want)
		}
		if changed != (got != c.in) {
			t.Errorf("StripComments(%q): changed = %v", c.in, changed)
		}
	}
}

func TestStripCommentsDoesNotAllocateWithoutComments(t *testing.T) {
	for _, s := range []string{"select * from t where id = $1", "select '--' from t", "select 5/*"} {
		if n := testing.AllocsPerRun(100, func() { StripComments(s) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

// tokens are the texts of all tokens that aren't comments.
func tokens(s string) []string {
	l := lexer{s: s}
	var all []string
	for {
		t := l.next()
		if t.kind == end {
			return all
		}
		all = append(all, s[t.start:t.end])
	}
}

func FuzzStripComments(f *testing.F) {
	for _, s := range []string{
		"", "select 1", "-- a\nselect/*b*/1--c", "a--1", "a/**/--1", "'--'/*'*/", `"/*"--"`, "$$--$$--", "/*/**/", "*/", "-/**/-1", "/ /**/*",
		"a|/**/|b", ":/**/:", "<--\n>", "1/*x*/e5", "1--1--1", "$/**/1", "$a$ -- $a$ -- b", "E'--", "x\r\n--y\r\nz", "insert into t values (?, -1) -- x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, changed := StripComments(s)
		if again, _ := StripComments(got); again != got {
			t.Fatalf("%q became %q, then %q", s, got, again)
		}
		if changed == (got == s) {
			t.Fatalf("%q: changed = %v", s, changed)
		}
		if a, b := strings.Join(tokens(s), "\x00"), strings.Join(tokens(got), "\x00"); a != b {
			t.Fatalf("%q and %q have other tokens", s, got)
		}
	})
}
