package grammar

// itemKind is the part that an item plays in the row of an expression.
type itemKind uint8

const (
	operandItem itemKind = iota
	prefixItem
	infixItem
	postfixItem
)

// opKind is an operator of that row.
type opKind uint8

const (
	opNone opKind = iota
	opOr
	opAnd
	opNot
	opEscape
	opLike
	opSimilar
	opBetween
	opEq
	opNe
	opGt
	opGe
	opLt
	opLe
	opIn
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opConcat
	opIs
	opIndex
	opCast
)

// item is an operand or an operator. expr is the operand or a subscript; not is
// NOT of BETWEEN, IN and IS, and ILIKE of a LIKE; span is that of a prefix or postfix operator.
type item struct {
	kind itemKind
	op   opKind
	not  bool
	is   IsKind
	expr Expr
	typ  Type
	span Span
}

// binding says how tightly an operator binds; all infix operators associate to
// the left.
func (o opKind) binding() int {
	switch o {
	case opOr:
		return 1
	case opAnd:
		return 2
	case opNot:
		return 3
	case opEscape:
		return 4
	case opLike:
		return 5
	case opSimilar:
		return 6
	case opBetween:
		return 7
	case opEq, opNe, opGt, opGe, opLt, opLe, opIn:
		return 8
	case opConcat:
		return 9
	case opAdd, opSub:
		return 10
	case opMul, opDiv, opMod:
		return 11
	case opIs:
		return 12
	case opIndex:
		return 13
	case opCast:
		return 14
	}
	return 0
}

// tree builds the tree of a row that the grammar matched.
func tree(items []item) Expr {
	c := &climber{items: items}
	return c.climb(0)
}

type climber struct {
	items []item
	next  int
}

// climb reads operators that bind tighter than min.
func (c *climber) climb(min int) Expr {
	it := c.items[c.next]
	c.next++
	var left Expr
	if it.kind == prefixItem {
		x := c.climb(it.op.binding() - 1)
		left = &Not{Span: Span{it.span.Start, x.Pos().End}, X: x}
	} else {
		left = it.expr
	}
	for c.next < len(c.items) {
		it := c.items[c.next]
		if it.op.binding() <= min {
			break
		}
		c.next++
		if it.kind == postfixItem {
			left = postfix(left, it)
		} else {
			left = infix(left, it, c.climb(it.op.binding()))
		}
	}
	return left
}

func postfix(x Expr, it item) Expr {
	span := Span{x.Pos().Start, it.span.End}
	switch it.op {
	case opIndex:
		return &Index{Span: span, X: x, Sub: it.expr}
	case opCast:
		return &Cast{Span: span, X: x, Type: it.typ, Postfix: true}
	}
	return &Is{Span: span, X: x, Not: it.not, Kind: it.is}
}

func infix(l Expr, it item, r Expr) Expr {
	span := Span{l.Pos().Start, r.Pos().End}
	switch it.op {
	case opAnd:
		if b := openBetween(l); b != nil {
			b.High = r
			widen(l, r.Pos().End)
			return l
		}
	case opBetween:
		return &Between{Span: span, Not: it.not, X: l, Low: r}
	case opIn:
		return &In{Span: span, Not: it.not, X: l, R: r}
	case opLike:
		kind := Like
		if it.not {
			kind = ILike
		}
		return &LikeExpr{Span: span, Kind: kind, X: l, Pattern: r}
	case opSimilar:
		return &LikeExpr{Span: span, Kind: Similar, X: l, Pattern: r}
	case opEscape:
		like, ok := l.(*LikeExpr)
		if !ok || like.Escape != nil {
			return &StrayEscape{Span: span, L: l, R: r, Twice: ok}
		}
		like.Escape, like.Span = r, span
		return like
	}
	return &Binary{Span: span, Op: it.op.binary(), L: l, R: r}
}

// openBetween finds the BETWEEN at the right edge of e that still waits for the
// AND of its upper bound: AND binds looser, so it is read as a plain AND first.
func openBetween(e Expr) *Between {
	for {
		switch x := e.(type) {
		case *Between:
			if x.High != nil {
				return nil
			}
			return x
		case *Not:
			e = x.X
		case *Binary:
			if x.Op != OpAnd {
				return nil
			}
			e = x.R
		default:
			return nil
		}
	}
}

// widen moves the end of e, and of what stands at its right edge, to end.
func widen(e Expr, end int) {
	for {
		switch x := e.(type) {
		case *Between:
			x.End = end
			return
		case *Not:
			x.End = end
			e = x.X
		case *Binary:
			x.End = end
			e = x.R
		default:
			return
		}
	}
}

func (o opKind) binary() BinaryOp {
	switch o {
	case opOr:
		return OpOr
	case opAnd:
		return OpAnd
	case opNe:
		return OpNe
	case opGt:
		return OpGt
	case opGe:
		return OpGe
	case opLt:
		return OpLt
	case opLe:
		return OpLe
	case opAdd:
		return OpAdd
	case opSub:
		return OpSub
	case opMul:
		return OpMul
	case opDiv:
		return OpDiv
	case opMod:
		return OpMod
	case opConcat:
		return OpConcat
	}
	return OpEq
}
