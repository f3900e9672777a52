package picodata_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	goprinter "go/printer"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// updateAPI makes TestAPI write what it otherwise compares: go test . -run TestAPI -update
var updateAPI = flag.Bool("update", false, "write api.txt")

const (
	apiFile = "api.txt"
	module  = "github.com/picodata/go-picodata"
)

// api.txt is the exported surface of the packages that users import, one thing a line, so that a change of
// it is seen in a diff.
func TestAPI(t *testing.T) {
	var lines []string
	for _, dir := range []string{".", "options", "metadata", "balancer", "picotest"} {
		lines = append(lines, exported(t, dir)...)
	}
	for _, l := range lines {
		if strings.Contains(l, "internal/") {
			t.Errorf("%s: a type that no user can name or see the fields of", l)
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *updateAPI {
		if err := os.WriteFile(apiFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if testing.Short() && !*updateAPI {
		t.Skip("compared in the full run, without -short")
	}
	want, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, l := range lines {
		if !slices.Contains(old, l) {
			t.Errorf("new: %s", l)
		}
	}
	for _, l := range old {
		if !slices.Contains(lines, l) {
			t.Errorf("gone: %s", l)
		}
	}
	if got != string(want) {
		t.Error("the exported surface isn't what api.txt says; if that is meant, write it with: go test . -run TestAPI -update")
	}
}

// exported lists the exported declarations of a package, sorted.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	pkg, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := surface{name: path.Join(path.Base(module), dir), files: token.NewFileSet()}
	if dir == "." {
		s.name = "picodata"
	}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(s.files, path.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.internal = internalImports(file)
		for _, d := range file.Decls {
			s.decl(d)
		}
	}
	slices.Sort(s.lines)
	return s.lines
}

// internalImports maps the names under which a file knows packages that no user can import to their paths in the module.
func internalImports(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if inner, ok := strings.CutPrefix(p, module+"/"); err == nil && ok && strings.Contains(inner, "internal/") {
			name := path.Base(inner)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = inner
		}
	}
	return names
}

// surface collects the lines of one package.
type surface struct {
	name     string
	files    *token.FileSet
	internal map[string]string
	lines    []string
}

func (s *surface) add(format string, args ...any) {
	s.lines = append(s.lines, s.name+": "+fmt.Sprintf(format, args...))
}

// text is an expression on one line; names of internal packages are written with their path.
func (s *surface) text(n ast.Node) string {
	ast.Inspect(n, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && s.internal[id.Name] != "" {
				id.Name = s.internal[id.Name]
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := goprinter.Fprint(&b, s.files, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (s *surface) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}
		signature := strings.TrimPrefix(s.text(d.Type), "func")
		if d.Recv == nil {
			s.add("func %s%s", d.Name, signature)
		} else if r := s.text(d.Recv.List[0].Type); ast.IsExported(strings.TrimLeft(r, "*")) {
			s.add("method (%s) %s%s", r, d.Name, signature)
		}
	case *ast.GenDecl:
		var typ string // of a constant: that of the one before where iota goes on
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				switch {
				case spec.Type != nil:
					typ = " " + s.text(spec.Type)
				case len(spec.Values) > 0:
					typ = ""
				}
				for _, name := range spec.Names {
					if name.IsExported() {
						s.add("%s %s%s", d.Tok, name, typ)
					}
				}
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					s.typeSpec(spec)
				}
			}
		}
	}
}

// typeSpec lists a type, and its exported fields or methods each on a line.
func (s *surface) typeSpec(spec *ast.TypeSpec) {
	name := spec.Name.Name
	assign := ""
	if spec.Assign.IsValid() {
		assign = "= "
	}
	var members *ast.FieldList
	kind := ""
	switch x := spec.Type.(type) {
	case *ast.StructType:
		members, kind = x.Fields, "struct"
	case *ast.InterfaceType:
		members, kind = x.Methods, "interface"
	default:
		s.add("type %s %s%s", name, assign, s.text(spec.Type))
		return
	}
	s.add("type %s %s", name, kind)
	for _, f := range members.List {
		text := s.text(f.Type)
		if len(f.Names) == 0 && ast.IsExported(text[strings.LastIndexAny(text, ".*")+1:]) {
			s.add("type %s %s, embedded %s", name, kind, text)
		}
		for _, n := range f.Names {
			if !n.IsExported() {
				continue
			}
			if kind == "interface" {
				s.add("type %s %s, %s%s", name, kind, n, strings.TrimPrefix(text, "func"))
			} else {
				s.add("type %s %s, %s %s", name, kind, n, text)
			}
		}
	}
}
