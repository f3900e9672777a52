package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// analyzer types one statement and translates it for SQLite. It lives as long as Prepare, under the engine's lock.
type analyzer struct {
	cat        *catalog
	sess       Session
	sql        string
	params     []param
	pending    []deduced                // of the expression being typed
	types      map[grammar.Expr]sqlType // as the expression yields by itself
	casts      map[grammar.Expr]sqlType // what its surroundings make of it
	columns    map[*grammar.ColumnRef]boundColumn
	tables     []*table // in order of first use
	refs       []*table // tables by marker number
	names      int      // for unique SQLite names
	lets       map[string]sqlType
	subqueries map[grammar.Expr]*query
	cast       map[int]bool // parameters that stand under casts alone
	constants  bool         // literals go to the storage as parameters
	inBlock    bool         // a statement of a block is being analysed
	doomed     string       // what the storage will say of the statement when it gets it: an aggregate in WHERE, too few arguments
}

// param is what is known of a parameter.
type param struct {
	typ   sqlType
	known bool
	oid   uint32 // the client's, 0 if it gave none
}

func newAnalyzer(cat *catalog, s Session, sql string, oids []uint32) *analyzer {
	a := &analyzer{cat: cat, sess: s, sql: sql, types: map[grammar.Expr]sqlType{}, casts: map[grammar.Expr]sqlType{},
		columns: map[*grammar.ColumnRef]boundColumn{}, lets: map[string]sqlType{}, subqueries: map[grammar.Expr]*query{}}
	for _, oid := range oids {
		p := param{}
		if t, ok := typeOfOID(oid); ok {
			p = param{typ: t, known: true, oid: oid}
		}
		a.params = append(a.params, p)
	}
	return a
}

// param gives the place of parameter n, from 1.
func (a *analyzer) param(n int) *param {
	for len(a.params) < n {
		a.params = append(a.params, param{})
	}
	return &a.params[n-1]
}

// marker stands in the translated text for a table's rows; NUL can't come from a client.
func (a *analyzer) marker(t *table) string {
	a.refs = append(a.refs, t)
	return fmt.Sprintf("\x00%d\x00", len(a.refs)-1)
}

func (a *analyzer) use(t *table) {
	for _, u := range a.tables {
		if u.name == t.name {
			return
		}
	}
	a.tables = append(a.tables, t)
}

// unique makes a name for SQLite that no user's name equals.
func (a *analyzer) unique() string {
	a.names++
	return fmt.Sprintf("\x01s%d", a.names)
}

// deduced is a parameter's type as one place of an expression would have it.
type deduced struct {
	index int
	typ   sqlType
}

// root types a whole expression: types of parameters that f deduces count for the rest of the statement once f is through, and all
// places of the expression have to agree.
func (a *analyzer) root(f func() *Error) *Error {
	outer := a.pending
	a.pending = nil
	defer func() { a.pending = outer }()
	if err := f(); err != nil {
		return err
	}
	for _, d := range a.pending {
		p := a.param(d.index)
		if !p.known {
			p.typ, p.known = d.typ, true
			continue
		}
		if p.typ != d.typ {
			preferred, another := d.typ, p.typ
			if canCoerce(p.typ, d.typ) {
				preferred, another = p.typ, d.typ
			}
			return refuse("inconsistent types %s and %s deduced for parameter $%d, consider using transitive type casts through a common type, e.g. $%d::%s::%s and $%d::%s",
				preferred, another, d.index, d.index, preferred, another, d.index, preferred)
		}
	}
	return nil
}

// typed types an expression that stands alone.
func (a *analyzer) typed(x grammar.Expr, want sqlType, sc *scope) (t sqlType, err *Error) {
	err = a.root(func() *Error {
		var err *Error
		t, _, err = a.infer(x, want, sc)
		if err == nil {
			a.defaultText(x)
		}
		return err
	})
	return t, err
}

// describe lists types for an error: "int, text".
func describe(types []sqlType) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", ")
}

// describeAnd lists types for an error: "int, bool and text".
func describeAnd(types []sqlType) string {
	if len(types) < 2 {
		return describe(types)
	}
	return describe(types[:len(types)-1]) + " and " + types[len(types)-1].String()
}

// unparen takes parentheses off.
func unparen(x grammar.Expr) grammar.Expr {
	for {
		p, ok := x.(*grammar.Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}
