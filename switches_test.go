package picodata_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A switch over an enumeration of this module names all of its values or has a default, so that a value that is added later
// doesn't pass through it unseen. A setting, and a plan that follows from settings, must not even become what a default does with the
// rest: such a default has to fail.
func TestSwitchesNameEveryValue(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks the module; in the full run, without -short")
	}
	out, err := osexec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,Standard", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	type unit struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		Standard                bool
	}
	var units []unit
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var u unit
		if err := dec.Decode(&u); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[u.ImportPath] = u.Export
		if u.ImportPath == module || strings.HasPrefix(u.ImportPath, module+"/") {
			units = append(units, u)
		}
	}
	fset := token.NewFileSet()
	gc := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data")
		}
		return os.Open(exports[path])
	})
	found := 0
	for _, u := range units {
		var files []*ast.File
		for _, name := range u.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		pkg, err := (&types.Config{Importer: gc}).Check(u.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SwitchStmt); ok && s.Tag != nil {
					missing, enum := forgotten(info, pkg, s)
					if enum {
						found++
					}
					if len(missing) > 0 {
						at := fset.Position(s.Pos())
						rel, _ := filepath.Rel(mustGetwd(t), at.Filename)
						t.Errorf("%s:%d: the switch knows nothing of %s: name them, or let a default fail", rel, at.Line, strings.Join(missing, ", "))
					}
				}
				return true
			})
		}
	}
	if found < 25 {
		t.Errorf("only %d switches over enumerations: the test looks at the wrong thing", found)
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// strict are the packages whose enumerations are settings and what follows from them.
var strict = []string{module + "/options", module + "/internal/route"}

// vocabularies are words of others, and news: a switch picks the few that it knows, and whatever comes is like the rest.
var vocabularies = []string{
	module + "/picotest", // the simulation's own grammar and types
	module + "/internal/sqltext", module + "/internal/servererr",
	module + "/internal/pool.EventKind", module + "/metadata.EventKind",
}

// forgotten names the values of the switch's enumeration that it neither names nor fails at. enum: it is over one.
func forgotten(info *types.Info, pkg *types.Package, s *ast.SwitchStmt) (missing []string, enum bool) {
	named, ok := types.Unalias(info.TypeOf(s.Tag)).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
		return nil, false
	}
	for _, v := range vocabularies {
		if full := named.Obj().Pkg().Path(); full+"."+named.Obj().Name() == v || full == v || strings.HasPrefix(full, v+"/") {
			return nil, false
		}
	}
	if _, basic := named.Underlying().(*types.Basic); !basic {
		return nil, false
	}
	values := map[string]string{} // by value: two names of one are one
	scope := named.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || !types.Identical(c.Type(), named) || !c.Exported() && c.Pkg() != pkg || counts(c) {
			continue
		}
		if key := c.Val().ExactString(); values[key] == "" {
			values[key] = name
		}
	}
	if len(values) < 2 {
		return nil, false
	}
	for _, stmt := range s.Body.List {
		clause := stmt.(*ast.CaseClause)
		if clause.List == nil && (!slices.Contains(strict, named.Obj().Pkg().Path()) || fails(info, clause.Body)) {
			return nil, true
		}
		for _, e := range clause.List {
			if v := info.Types[e].Value; v != nil && v.Kind() != constant.Unknown {
				delete(values, v.ExactString())
			}
		}
	}
	for _, name := range values {
		missing = append(missing, name)
	}
	slices.Sort(missing)
	return missing, true
}

// counts reports whether a constant isn't a value but how many there are, by its name.
func counts(c *types.Const) bool {
	name := strings.ToLower(c.Name())
	return strings.HasSuffix(name, "count") || strings.HasPrefix(name, "num") || name == strings.ToLower(c.Type().(*types.Named).Obj().Name())+"s"
}

// fails reports whether a default panics, or ends with an error.
func fails(info *types.Info, body []ast.Stmt) bool {
	failing := false
	for _, stmt := range body {
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" {
					failing = true
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					if tv := info.Types[r]; !tv.IsNil() && types.Implements(tv.Type, errorType) {
						failing = true
					}
				}
			}
			return true
		})
	}
	return failing
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
