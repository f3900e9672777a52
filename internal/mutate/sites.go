package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// Kinds of mutants.
const (
	condition = "condition" // a condition negated, a comparison or a logical operator turned round
	boundary  = "boundary"  // < for <=, a number one higher
	call      = "call"      // a call left out
	release   = "release"   // one that gives something back
	assign    = "assign"    // an assignment left out
	field     = "field"     // another field of the same type, or one not set
	result    = "result"    // another result
	sum       = "sum"       // minus for plus
)

// mutant is one small fault: a piece of a file with something else in its place.
type mutant struct {
	file     string // relative to the repository
	line     int
	in       string // function or declaration
	kind     string
	from, to int // offsets in the file
	with     string
	was      string // for people, as is becomes
	becomes  string
}

// String is what accepted.txt knows it by. It has no line, so that it lives through changes elsewhere.
func (m *mutant) String() string {
	return fmt.Sprintf("%s %s %s: %s → %s", m.file, m.in, m.kind, m.was, m.becomes)
}

// releases are names of what gives something back.
var releases = []string{"Unlock", "RUnlock", "Close", "Stop", "Release", "release", "cancel", "Done", "Signal", "Broadcast", "close", "stop", "giveBack", "hangUp"}

// finder collects the mutants of a file.
type finder struct {
	name string
	src  []byte
	file *token.File
	info *types.Info
	pkg  *types.Package
	in   string
	out  []*mutant
}

// find lists the mutants of a file in order.
func find(name string, src []byte, fset *token.FileSet, f *ast.File, pkg *types.Package, info *types.Info) []*mutant {
	x := &finder{name: name, src: src, file: fset.File(f.Pos()), info: info, pkg: pkg}
	for _, d := range f.Decls {
		x.decl(d)
	}
	slices.SortStableFunc(x.out, func(a, b *mutant) int { return cmp.Compare(a.from, b.from) })
	return x.out
}

func (x *finder) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Body == nil || d.Name.Name == "String" {
			return // words are for people
		}
		x.in = d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			x.in = strings.TrimLeft(x.text(d.Recv.List[0].Type), "*") + "." + x.in
		}
		x.block(d.Body)
	case *ast.GenDecl:
		if d.Tok != token.CONST && d.Tok != token.VAR {
			return
		}
		for _, s := range d.Specs {
			v := s.(*ast.ValueSpec)
			x.in = v.Names[0].Name
			for _, e := range v.Values {
				if d.Tok == token.CONST {
					x.literals(e)
				}
				x.block(e)
			}
		}
	}
}

// block walks statements and whatever is below them.
func (x *finder) block(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			x.list(n.List)
		case *ast.CaseClause:
			x.list(n.Body)
		case *ast.CommClause:
			x.list(n.Body)
		case *ast.IfStmt:
			x.negate(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						x.negate(e)
					}
				}
			}
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				x.result(e)
			}
		case *ast.BinaryExpr:
			x.binary(n)
		case *ast.SelectorExpr:
			x.selector(n)
		case *ast.CompositeLit:
			x.composite(n)
		}
		return true
	})
}

// list leaves statements out. What is left out stays there behind a condition that is never true, so that whatever it
// uses is used.
func (x *finder) list(stmts []ast.Stmt) {
	for _, s := range stmts {
		kind := assign
		switch s := s.(type) {
		case *ast.ExprStmt:
			c, ok := s.X.(*ast.CallExpr)
			if !ok || x.callee(c) == "panic" {
				continue
			}
			kind = x.callKind(c)
		case *ast.DeferStmt:
			kind = x.callKind(s.Call)
		case *ast.GoStmt:
			kind = x.callKind(s.Call)
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || onlyBlank(s.Lhs) {
				if s.Tok == token.ASSIGN && len(s.Rhs) == 1 {
					if c, ok := s.Rhs[0].(*ast.CallExpr); ok { // _ = f()
						x.add(x.callKind(c), s, "if false { "+x.text(s)+" }", "left out")
					}
				}
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		x.add(kind, s, "if false { "+x.text(s)+" }", "left out")
	}
}

func (x *finder) callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func (x *finder) callKind(c *ast.CallExpr) string {
	if slices.Contains(releases, x.callee(c)) {
		return release
	}
	return call
}

func onlyBlank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// negate turns a condition round, unless turning its operator round does the same.
func (x *finder) negate(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	x.add(condition, e, "!("+x.text(e)+")", "!("+x.text(e)+")")
}

// others are operators that take the place of one.
var others = map[token.Token]struct{ op, kind string }{
	token.EQL: {"!=", condition}, token.NEQ: {"==", condition}, token.LAND: {"||", condition}, token.LOR: {"&&", condition},
	token.LSS: {"<=", boundary}, token.LEQ: {"<", boundary}, token.GTR: {">=", boundary}, token.GEQ: {">", boundary},
	token.ADD: {"-", sum}, token.SUB: {"+", sum},
}

func (x *finder) binary(e *ast.BinaryExpr) {
	o, ok := others[e.Op]
	if !ok || o.kind == sum && !x.number(e) {
		return
	}
	with := x.text(e.X) + " " + o.op + " " + x.text(e.Y)
	x.out = append(x.out, &mutant{file: x.name, line: x.file.Line(e.OpPos), in: x.in, kind: o.kind,
		from: x.file.Offset(e.OpPos), to: x.file.Offset(e.OpPos) + len(e.Op.String()), with: o.op, was: short(x.text(e)), becomes: short(with)})
	if o.kind == sum {
		x.literals(e.Y)
	}
}

func (x *finder) number(e ast.Expr) bool {
	b, ok := x.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && x.info.Types[e].Value == nil
}

// literals makes numbers one higher.
func (x *finder) literals(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.INT {
			if v, err := strconv.ParseInt(l.Value, 0, 32); err == nil {
				x.add(boundary, l, strconv.FormatInt(v+1, 10), strconv.FormatInt(v+1, 10))
			}
		}
		return true
	})
}

func (x *finder) result(e ast.Expr) {
	id, ok := e.(*ast.Ident)
	if !ok {
		return
	}
	switch {
	case id.Name == "true":
		x.add(result, e, "false", "false")
	case id.Name == "false":
		x.add(result, e, "true", "true")
	case x.info.TypeOf(id) != nil && types.Identical(x.info.TypeOf(id), types.Universe.Lookup("error").Type()):
		x.add(result, e, "nil", "nil")
	}
}

// selector mistakes a field for the next one of its type.
func (x *finder) selector(e *ast.SelectorExpr) {
	s := x.info.Selections[e]
	if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
		return
	}
	t := s.Recv()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); !ok || n.Obj().Pkg() != x.pkg {
		return
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	at := s.Index()[0]
	for i := 1; i < st.NumFields(); i++ {
		f := st.Field((at + i) % st.NumFields())
		if f.Name() != "_" && types.Identical(f.Type(), s.Obj().Type()) {
			x.out = append(x.out, &mutant{file: x.name, line: x.file.Line(e.Sel.Pos()), in: x.in, kind: field,
				from: x.file.Offset(e.Sel.Pos()), to: x.file.Offset(e.Sel.End()), with: f.Name(), was: short(x.text(e)), becomes: f.Name()})
			return
		}
	}
}

// composite leaves fields out.
func (x *finder) composite(e *ast.CompositeLit) {
	if t := x.info.TypeOf(e); t == nil {
		return
	} else if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}
	for _, el := range e.Elts {
		kv, ok := el.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		// The value stays where it is, in a function that is never called: what it uses is used.
		t := x.info.TypeOf(kv.Key.(*ast.Ident))
		if t == nil {
			continue
		}
		name := types.TypeString(t, x.qualifier)
		with := fmt.Sprintf("%s: func() (zero %s) { if false { zero = %s }; return }()", x.text(kv.Key), name, x.text(kv.Value))
		x.add(field, kv, with, "not set")
	}
}

func (x *finder) qualifier(p *types.Package) string {
	if p == x.pkg {
		return ""
	}
	return p.Name()
}

func (x *finder) add(kind string, n ast.Node, with, becomes string) {
	x.out = append(x.out, &mutant{file: x.name, line: x.file.Line(n.Pos()), in: x.in, kind: kind,
		from: x.file.Offset(n.Pos()), to: x.file.Offset(n.End()), with: with, was: short(x.text(n)), becomes: short(becomes)})
}

func (x *finder) text(n ast.Node) string {
	return string(x.src[x.file.Offset(n.Pos()):x.file.Offset(n.End())])
}

// short is a text in one line of at most 70 runes.
func short(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 70 {
		r = append(r[:67], '…')
	}
	return string(r)
}
