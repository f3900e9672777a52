package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestCheckStatements finds what a server stops at, by its line, without a server.
func TestCheckStatements(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.sql")
	text := "select 1;\n\n-- a||b||c||d||e||f||g||h\nselect 'a||b';\nselect a\n  ||b||c||d||e||f||g||h\nfrom t;\nselect 1" +
		strings.Repeat("+1", 16) + ";\ninsert into t values (" + strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60) + ")"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSession(picotest.Start(t, picotest.Config{}))
	out, _, code := s.run(t, "check", "--statements", file)
	if code != exitFaults {
		t.Errorf("exit %d", code)
	}
	wants(t, out, ":5: 8 operands of ||", ":8: 16 arithmetic operators", ":9: parentheses nested", "3 faults, 0 warnings")
	if err := os.WriteFile(file, []byte("select a||b; select 1 + 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, s.must(t, "check", "--statements", file), "2 statements, none of which", "0 faults")
	if _, _, code := s.run(t, "check", "--statements", file+".missing"); code != exitUsage {
		t.Errorf("a missing file: exit %d", code)
	}
}
