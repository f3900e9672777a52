package servererr

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sqlState is a SQLSTATE of a class that a server raises.
var sqlState = regexp.MustCompile(`^(0A|08|22|23|25|26|28|3D|40|42|53|54|55|57|58|XX)[0-9A-Z]{3}$`)

// TestNobodyElseReadsErrors: no other package of the driver and its tool knows a SQLSTATE or a message of the server.
// picotest and the modules that test others say such messages, and the driver doesn't read them there.
func TestNobodyElseReadsErrors(t *testing.T) {
	texts := knownTexts()
	if len(texts) < 50 {
		t.Fatalf("%d known texts: the list is broken", len(texts))
	}
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			switch filepath.ToSlash(rel) {
			case "picotest", "conformance", "contrib", "examples", "testdata", "internal/servererr", ".git":
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			if sqlState.MatchString(s) {
				t.Errorf("%s: the SQLSTATE %q belongs into internal/servererr", set.Position(lit.Pos()), s)
			}
			for _, text := range texts {
				if strings.Contains(s, text) {
					t.Errorf("%s: %q holds %q, a message of the server: that belongs into internal/servererr", set.Position(lit.Pos()), s, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("%d files looked at: the walk is broken", files)
	}
}

// hole is a hole of a pattern.
var hole = regexp.MustCompile(`\{.?\}`)

// knownTexts are the literal parts of the messages that this package reads, but for those so short that others may say them.
func knownTexts() []string {
	var texts []string
	for _, list := range [...][]form{forms[:], queryForms[:]} {
		for _, f := range list {
			for _, text := range hole.Split(string(f.text), -1) {
				if text = strings.TrimSpace(text); len(text) > len("is not a master") {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}
