package main

import (
	"bytes"
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
	"path/filepath"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// goList asks the go command about a package and all it imports.
func goList(root, pattern string) (pkg listed, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", pattern)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return pkg, nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	exports = make(map[string]string)
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return pkg, exports, nil
		} else if err != nil {
			return pkg, nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			pkg = l
		}
	}
}

// mutants lists those of a package, in order. root is the repository's folder.
func mutants(root, pattern string) ([]*mutant, error) {
	l, exports, err := goList(root, pattern)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	var sources [][]byte
	for _, name := range l.GoFiles {
		src, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, sources = append(files, f), append(sources, src)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	pkg, err := conf.Check(l.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for i, f := range files {
		name, err := filepath.Rel(root, filepath.Join(l.Dir, l.GoFiles[i]))
		if err != nil {
			return nil, err
		}
		all = append(all, find(filepath.ToSlash(name), sources[i], fset, f, pkg, info)...)
	}
	return all, nil
}
