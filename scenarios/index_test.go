package scenarios_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write README.md anew: go test ./scenarios -run Index -update")

// ids reads what a test's comment begins with: ids of two capitals and a number, or of words joined by hyphens.
var ids = regexp.MustCompile(`^((?:[A-Z]{2}\d+|[a-z]+(?:-[a-z]+)+)(?:, (?:[A-Z]{2}\d+|[a-z]+(?:-[a-z]+)+))*): (.*)$`)

var indexed = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)

// README.md lists every test of this folder with its ids and what it shows.
func TestIndex(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| scenario | id | shows |\n| --- | --- | --- |\n")
	fset := token.NewFileSet()
	for _, name := range files {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !indexed.MatchString(fn.Name.Name) || fn.Name.Name == "TestMain" {
				continue
			}
			shows, id := strings.Join(strings.Fields(fn.Doc.Text()), " "), ""
			if shows == "" {
				t.Errorf("%s: %s has no comment that says what it shows", name, fn.Name.Name)
			}
			if m := ids.FindStringSubmatch(shows); m != nil {
				id, shows = m[1], m[2]
			}
			fmt.Fprintf(&table, "| [`%s`](%s) | %s | %s |\n", fn.Name.Name, name, id, strings.ReplaceAll(shows, "|", `\|`))
		}
	}
	const page, mark = "README.md", "<!-- index -->\n"
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := bytes.Cut(have, []byte(mark))
	if !ok {
		t.Fatalf("%s has no %q", page, mark)
	}
	want := string(head) + mark + table.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(have) != want {
		t.Errorf("%s isn't the index of the tests here; write it with: go test ./scenarios -run Index -update", page)
	}
}
