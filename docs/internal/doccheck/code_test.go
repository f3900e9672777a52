package doccheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// prelude are the names that a block inside a function may use without declaring them.
const prelude = `
var (
	ctx       context.Context
	db        *sql.DB
	conn      *sql.Conn
	rows      *sql.Rows
	cfg       *options.Config
	connector *picodata.Connector
	logger    *slog.Logger
	t         *testing.T
	err       error
	id        int
	name      string
	total     string
	vault     interface {
		Password(ctx context.Context, user string) (string, error)
	}
)
`

// packages are what a block may use without importing it, by name.
var packages = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "slog": "log/slog", "os": "os", "io": "io", "sql": "database/sql",
	"time": "time", "testing": "testing", "synctest": "testing/synctest", "http": "net/http", "netip": "net/netip", "tls": "crypto/tls",
	"net": "net", "driver": "database/sql/driver", "strings": "strings", "slices": "slices", "maps": "maps", "sync": "sync",
	"picodata": "github.com/picodata/go-picodata", "options": "github.com/picodata/go-picodata/options",
	"metadata": "github.com/picodata/go-picodata/metadata", "balancer": "github.com/picodata/go-picodata/balancer",
	"picotest": "github.com/picodata/go-picodata/picotest", "pq": "github.com/lib/pq",
	"picotel": "github.com/picodata/go-picodata/contrib/picotel", "picoprom": "github.com/picodata/go-picodata/contrib/picoprom",
	"prometheus": "github.com/prometheus/client_golang/prometheus", "attribute": "go.opentelemetry.io/otel/attribute",
	"sqlx":    "github.com/jmoiron/sqlx",
	"pgxpool": "github.com/jackc/pgx/v5/pgxpool", "pgx": "github.com/jackc/pgx/v5", "pgconn": "github.com/jackc/pgx/v5/pgconn",
}

// stubs stand for packages that can't be had from the module proxy: the declarations of what the blocks use.
var stubs = map[string]string{
	"git.picodata.io/core/picodata-go":            "testdata/picodata-go/picodata.go",
	"git.picodata.io/core/picodata-go/strategies": "testdata/picodata-go/strategies/strategies.go",
	"git.picodata.io/core/picodata-go/logger":     "testdata/picodata-go/logger/logger.go",
}

// unit is one package to check.
type unit struct {
	name  string
	files []*ast.File
	// loose: it consists of blocks inside functions, which may leave variables unused.
	loose bool
}

// TestCode: every Go code block compiles.
func TestCode(t *testing.T) {
	fset := token.NewFileSet()
	var units []unit
	blocks := 0
	for _, p := range pages(t) {
		of := unitsOf(t, fset, p)
		units = append(units, of...)
		for _, u := range of {
			blocks += len(u.files)
		}
	}
	if blocks < 40 {
		t.Fatalf("only %d blocks of code", blocks)
	}
	im := newImports(t, fset, units)
	for _, u := range units {
		for _, err := range check(fset, im, u) {
			t.Error(err)
		}
	}
}

// TestCopies: a block that is a copy of a file is one to the letter, but for a licence or a build line above it.
func TestCopies(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.file == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
			if err != nil {
				t.Errorf("%s:%d: %v", p.name, b.line, err)
			} else if !strings.Contains(string(text), b.text) {
				t.Errorf("%s:%d: the code isn't what %s holds", p.name, b.line, b.file)
			}
		}
	}
}

// TestCodeFindsFaults: what doesn't compile is seen, with the page and the line.
func TestCodeFindsFaults(t *testing.T) {
	fset := token.NewFileSet()
	cases := []struct{ name, code, want string }{
		{"a call with a wrong argument", "_, err := db.ExecContext(ctx, 5)", "page.md:6:"},
		{"an unknown name of the driver", "ctx = picodata.ToInstanc(ctx, \"i1\")", "page.md:6:"},
		{"a program with an unused variable", "package main\n\nfunc main() { x := 1 }", "declared and not used"},
		{"a syntax error", "for {", "page.md:"},
		{"a function with a wrong type", "func f() int { return \"\" }", "page.md:6:"},
		{"a good fragment", "_, err := db.ExecContext(ctx, \"SELECT 1\")", ""},
		{"one that returns an error", "if err := db.PingContext(ctx); err != nil {\n\treturn err\n}", ""},
	}
	var units [][]unit
	var all []unit
	faults := make([]recorder, len(cases))
	for i, c := range cases {
		p := read("page.md", []byte("# Page\n\nWords.\n\n```go\n"+c.code+"\n```\n"))
		of := unitsOf(&faults[i], fset, p)
		units, all = append(units, of), append(all, of...)
	}
	im := newImports(t, fset, all)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			errs := faults[i].lines
			for _, u := range units[i] {
				for _, err := range check(fset, im, u) {
					errs = append(errs, err.Error())
				}
			}
			got := strings.Join(errs, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

type recorder struct{ lines []string }

func (r *recorder) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// unitsOf parses a page's Go blocks.
func unitsOf(t interface{ Errorf(string, ...any) }, fset *token.FileSet, p *page) []unit {
	var units []unit
	shared := unit{name: p.name, loose: true}
	for _, b := range p.blocks {
		if b.lang != "go" {
			continue
		}
		at := fmt.Sprintf("//line %s:%d\n", path.Base(p.name), b.line)
		if f, err := parser.ParseFile(fset, p.name, at+b.text, parser.ParseComments); err == nil {
			units = append(units, unit{name: fmt.Sprintf("%s:%d", p.name, b.line), files: []*ast.File{f}})
			continue
		} else if strings.HasPrefix(strings.TrimSpace(b.text), "package ") {
			t.Errorf("%v", err)
			continue
		}
		f, err := parser.ParseFile(fset, p.name, "package page\n"+at+b.text, 0)
		if err != nil {
			result := ""
			if strings.Contains(b.text, "return err") || strings.Contains(b.text, "return nil") || strings.Contains(b.text, "return fmt.") {
				result = "error"
			}
			end := ""
			if result != "" {
				end = "panic(0)"
			}
			f, err = parser.ParseFile(fset, p.name, fmt.Sprintf("package page\nfunc _() %s {\n%s%s\n%s}", result, at, b.text, end), 0)
		}
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		shared.files = append(shared.files, f)
	}
	if len(shared.files) > 0 {
		units = append(units, shared)
	}
	for i := range units {
		if units[i].loose {
			complete(fset, &units[i])
		}
	}
	return units
}

// complete gives the blocks of a page the prelude and the imports that they leave out.
func complete(fset *token.FileSet, u *unit) {
	declared := map[string]bool{}
	for _, f := range u.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							declared[n.Name] = true
						}
					}
				}
			}
		}
	}
	var own []string
	for line := range strings.Lines(prelude) {
		if f := strings.Fields(line); len(f) == 2 && declared[f[0]] {
			continue
		}
		own = append(own, line)
	}
	f, err := parser.ParseFile(fset, "prelude", "package page\n"+strings.Join(own, ""), 0)
	if err != nil {
		panic(err)
	}
	u.files = append(u.files, f)
	for _, f := range u.files {
		addImports(f)
	}
}

// addImports adds an import for each package name that a file uses as one.
func addImports(f *ast.File) {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] != "" {
				used[x.Name] = true
			}
		}
		return true
	})
	d := &ast.GenDecl{Tok: token.IMPORT}
	for name := range used {
		s := &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", packages[name])}}
		d.Specs = append(d.Specs, s)
		f.Imports = append(f.Imports, s)
	}
	if len(d.Specs) > 0 {
		f.Decls = append([]ast.Decl{d}, f.Decls...)
	}
}

// check type-checks a package and returns its faults.
func check(fset *token.FileSet, im types.Importer, u unit) (faults []error) {
	conf := types.Config{Importer: im, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && e.Soft && u.loose {
			return // unused variables and imports
		}
		faults = append(faults, err)
	}}
	_, _ = conf.Check("page", fset, u.files, nil)
	return faults
}

// imports finds packages by the compiler's export data, as the build would.
type imports struct {
	gc    types.Importer
	stubs map[string]*types.Package
	fset  *token.FileSet
}

func newImports(t *testing.T, fset *token.FileSet, units []unit) *imports {
	t.Helper()
	paths := []string{"context", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgxpool"}
	for _, u := range units {
		for _, f := range u.files {
			for _, s := range f.Imports {
				if p := strings.Trim(s.Path.Value, `"`); stubs[p] == "" && !slices.Contains(paths, p) {
					paths = append(paths, p)
				}
			}
		}
	}
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "--"}, paths...)...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
	}
	im := &imports{stubs: map[string]*types.Package{}, fset: fset}
	im.gc = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(export[path])
	})
	return im
}

// Import is types.Importer's.
func (im *imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	file := stubs[path]
	if file == "" {
		return im.gc.Import(path)
	}
	if p := im.stubs[path]; p != nil {
		return p, nil
	}
	f, err := parser.ParseFile(im.fset, filepath.FromSlash(file), nil, 0)
	if err != nil {
		return nil, err
	}
	conf := types.Config{Importer: im, IgnoreFuncBodies: true}
	p, err := conf.Check(path, im.fset, []*ast.File{f}, nil)
	im.stubs[path] = p
	return p, err
}
