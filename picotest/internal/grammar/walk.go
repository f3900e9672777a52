package grammar

import (
	"cmp"
	"reflect"
	"slices"
)

// Walk visits n and every expression, query, select, source, join, CTE and nested
// statement below it, in the order of the text. Where visit returns false, what
// is below is left out. n may be nil.
func Walk(n Node, visit func(Node) bool) {
	if isNil(n) || !visit(n) {
		return
	}
	w := walker(visit)
	switch n := n.(type) {
	case *Select:
		w.node(n.Query)
		w.options(n.Options)
	case *Insert:
		w.node(n.Source)
		if n.OnConflict != nil {
			w.assignments(n.OnConflict.Set)
		}
		w.options(n.Options)
	case *Update:
		w.assignments(n.Set)
		w.node(n.From)
		w.node(n.Where)
		w.options(n.Options)
	case *Delete:
		w.node(n.Where)
		w.options(n.Options)
	case *Explain:
		w.node(n.Stmt)
	case *Block:
		w.block(n.Statements)
		w.options(n.Options)
	case *BlockQuery:
		w.node(n.Stmt)
	case *BlockReturn:
		w.node(n.Stmt)
	case *BlockLet:
		w.node(n.Query)
	case *BlockIf:
		w.node(n.Cond)
		w.block(n.Then)
		w.block(n.Else)
	case *Call:
		w.exprs(n.Args)
		w.options(n.Options)
	case *CreateProc:
		w.node(n.Body)
	case *AlterSystem:
		w.node(n.Value)
	case *Query:
		w.query(n)
	case *CTE:
		w.node(n.Query)
	case *SelectCore:
		w.selectCore(n)
	case *Source:
		w.node(n.Query)
	case *Join:
		w.node(n.Source)
		w.node(n.On)
	case Expr:
		w.expr(n)
	}
}

type walker func(Node) bool

func (w walker) node(n Node) { Walk(n, w) }

func (w walker) exprs(list []Expr) {
	for _, e := range list {
		w.node(e)
	}
}

func (w walker) order(list []OrderItem) {
	for _, o := range list {
		w.node(o.Expr)
	}
}

func (w walker) options(list []Option) {
	for _, o := range list {
		w.node(o.Param)
	}
}

func (w walker) assignments(list []Assignment) {
	for _, a := range list {
		w.node(a.Value)
	}
}

func (w walker) block(list []BlockStatement) {
	for _, s := range list {
		w.node(s)
	}
}

func (w walker) query(q *Query) {
	for _, c := range q.With {
		w.node(c)
	}
	for _, t := range q.Terms {
		w.node(t.Core)
	}
	for _, r := range q.Values {
		w.node(r)
	}
	w.order(q.OrderBy)
}

func (w walker) selectCore(c *SelectCore) {
	for _, i := range c.Items {
		w.node(i.Expr)
	}
	w.node(c.From)
	for _, j := range c.Joins {
		w.node(j)
	}
	w.node(c.Where)
	w.exprs(c.GroupBy)
	w.node(c.Having)
	for _, d := range c.Windows {
		w.window(d.Window)
	}
}

func (w walker) window(s *WindowSpec) {
	if s == nil {
		return
	}
	w.exprs(s.PartitionBy)
	w.order(s.OrderBy)
	if s.Frame != nil {
		w.node(s.Frame.Start.Offset)
		if s.Frame.End != nil {
			w.node(s.Frame.End.Offset)
		}
	}
}

func (w walker) expr(e Expr) {
	switch e := e.(type) {
	case *FuncCall:
		w.exprs(e.Args)
	case *WindowCall:
		w.exprs(e.Args)
		w.node(e.Filter)
		w.window(e.Over)
	case *Cast:
		w.node(e.X)
	case *Trim:
		w.node(e.Pattern)
		w.node(e.Target)
	case *Substring:
		w.node(e.X)
		w.node(e.From)
		w.node(e.For)
	case *Paren:
		w.node(e.X)
	case *Row:
		w.exprs(e.Items)
	case *SubQuery:
		w.node(e.Query)
	case *Array:
		w.exprs(e.Items)
	case *Exists:
		w.node(e.Query)
	case *Case:
		w.node(e.Operand)
		for _, b := range e.Whens {
			w.node(b.Cond)
			w.node(b.Then)
		}
		w.node(e.Else)
	case *Not:
		w.node(e.X)
	case *Binary:
		w.node(e.L)
		w.node(e.R)
	case *Between:
		w.node(e.X)
		w.node(e.Low)
		w.node(e.High)
	case *In:
		w.node(e.X)
		w.node(e.R)
	case *LikeExpr:
		w.node(e.X)
		w.node(e.Pattern)
		w.node(e.Escape)
	case *Is:
		w.node(e.X)
	case *StrayEscape:
		w.node(e.L)
		w.node(e.R)
	case *Index:
		w.node(e.X)
		w.node(e.Sub)
	}
}

// isNil sees through interfaces that hold nil pointers, which optional parts are.
func isNil(n Node) bool {
	if n == nil {
		return true
	}
	v := reflect.ValueOf(n)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Params gives the parameters of a statement, options included, in the order of
// the text; one that is written twice is there twice.
func Params(s Statement) []*Param {
	var list []*Param
	Walk(s, func(n Node) bool {
		if p, ok := n.(*Param); ok {
			list = append(list, p)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b *Param) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// numberParams counts the question marks. It waits until the whole text has been
// matched because attempts that failed saw some of them too.
func numberParams(s Statement) {
	n := 0
	for _, p := range Params(s) {
		if p.Style == QuestionParam {
			n++
			p.Index = n
		}
	}
}
