package doccheck

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promise finds the words of a sentence that says what holds whatever happens.
var promise = regexp.MustCompile(`(?i)\b(never|always|at most|at once|no more than|exactly once)\b`)

// holds is the comment that binds what a paragraph, an item of a list or a row of a table promises to the tests
// that hold it. On a line of its own it speaks of all that stands directly above.
var holds = regexp.MustCompile(`<!-- holds: ([A-Za-z0-9_ ]+) -->`)

// promising are the pages whose promises are bound: what users read about what the driver does.
func promising(name string) bool {
	switch {
	case name == "docs/README.md", name == "docs/architecture.md", name == "docs/benchmarks.md", name == "docs/licences.md":
		return false
	case name == "README.md", name == "SECURITY.md":
		return true
	}
	return strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/ru/") && !strings.HasPrefix(name, "docs/internal/")
}

// exception is a line of promises.txt: part of a line of a page, and why it is bound by no comment there, or the test that
// holds it where a comment can't stand.
type exception struct {
	page, part, why string
	used            bool
}

func readExceptions(t *testing.T) []*exception {
	t.Helper()
	raw, err := os.ReadFile("promises.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []*exception
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 3 {
			t.Fatalf("promises.txt: %q isn't PAGE | PART | WHY", line)
		}
		list = append(list, &exception{page: f[0], part: f[1], why: f[2]})
	}
	return list
}

// testNames lists every test of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				names[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// piece is what one comment speaks of: its first line's number, and its lines.
type piece struct {
	line  int
	lines []string
}

var bullet = regexp.MustCompile(`^\s*([-*]|\d+\.)\s`)

// piecesOf cuts a page into paragraphs, items and rows, without its code and headings. A comment that stands alone
// is put behind each piece of the block above.
func piecesOf(t *testing.T, name string) []piece {
	t.Helper()
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []piece
	block := 0 // the first piece of the block
	fenced, fresh := false, true
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			fenced, fresh, block = !fenced, true, len(all)
		case fenced:
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			fresh, block = true, len(all)
		case holds.MatchString(trimmed) && holds.FindString(trimmed) == trimmed:
			for i := block; i < len(all); i++ {
				all[i].lines = append(all[i].lines, trimmed)
			}
			fresh = true
		case fresh || bullet.MatchString(line) || strings.HasPrefix(trimmed, "|"):
			all = append(all, piece{line: n, lines: []string{line}})
			fresh = false
		default:
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return all
}

// TestPromises: what the pages promise is held by a test that is there.
func TestPromises(t *testing.T) {
	names := testNames(t)
	exceptions := readExceptions(t)
	bound := 0
	for _, p := range pages(t) {
		if !promising(p.name) {
			continue
		}
		for _, piece := range piecesOf(t, p.name) {
			text := strings.Join(piece.lines, " ")
			for _, m := range holds.FindAllStringSubmatch(text, -1) {
				for _, test := range strings.Fields(m[1]) {
					bound++
					if !names[test] {
						t.Errorf("%s:%d: there is no %s", p.name, piece.line, test)
					}
				}
			}
			if holds.MatchString(text) || !promise.MatchString(text) {
				continue
			}
			i := slices.IndexFunc(exceptions, func(e *exception) bool { return e.page == p.name && strings.Contains(text, e.part) })
			if i < 0 {
				t.Errorf("%s:%d: nothing holds %q: name a test in a comment <!-- holds: TestX -->, or say in promises.txt why there is none",
					p.name, piece.line, promise.FindString(text))
				continue
			}
			exceptions[i].used = true
			for _, word := range strings.Fields(exceptions[i].why) {
				if strings.HasPrefix(word, "Test") && !names[word] {
					t.Errorf("promises.txt: there is no %s", word)
				}
			}
		}
	}
	for _, e := range exceptions {
		if !e.used {
			t.Errorf("promises.txt: %s promises nothing any more with %q", e.page, e.part)
		}
	}
	if bound < 30 {
		t.Errorf("only %d bindings: the test doesn't see them", bound)
	}
}
