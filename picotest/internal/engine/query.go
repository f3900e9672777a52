package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// instanceColumn is a column of every sharded table's rows that says which instance's copy they come from.
const instanceColumn = "\x01i"

// query is an analysed SELECT chain or VALUES list.
type query struct {
	code    string // for SQLite, with markers for tables
	columns []sourceColumn
	cores   []*core
	values  []*grammar.Row
	ctes    []*cte
	node    *grammar.Query
	// orderedBy is the column that is the only key of ORDER BY, -1 if it's more or something else.
	orderedBy int
}

// core is one SELECT of a chain.
type core struct {
	node       *grammar.SelectCore
	sources    []*source
	joinOn     []grammar.Expr
	aggregated bool
	windowed   bool
}

// distributed tells whether the rows of a SELECT's sources lie on several replicasets, so that aggregates take two stages.
func (c *core) distributed() bool {
	for _, src := range c.sources {
		switch {
		case src.table != nil && !src.table.global, src.table == nil && !src.cte && src.inner != nil && src.inner.spread():
			return true
		}
	}
	return false
}

// meets tells whether a query makes rows of several replicasets meet.
func (q *query) meets() bool {
	if len(q.cores) != 1 || len(q.node.OrderBy) > 0 || q.node.Limit != nil {
		return true
	}
	c := q.cores[0]
	return c.distributed() && (c.aggregated || c.windowed || len(c.node.GroupBy) > 0 || c.node.Distinct)
}

// spread tells whether a query's rows stay where they were found: nothing made them meet.
func (q *query) spread() bool {
	if q.node.Limit != nil || len(q.node.OrderBy) > 0 || len(q.cores) != 1 {
		return false
	}
	c := q.cores[0]
	return c.distributed() && !c.aggregated && !c.windowed && len(c.node.GroupBy) == 0 && !c.node.Distinct
}

// query analyses a query inside a scope; want types its columns where literals and parameters leave a choice.
func (a *analyzer) query(q *grammar.Query, outer *scope, want []sqlType) (*query, *Error) {
	sc := &scope{parent: outer, ctes: map[string]*cte{}}
	out := &query{node: q, orderedBy: -1}
	var with []string
	for _, c := range q.With {
		sub, err := a.query(c.Query, &scope{parent: sc}, nil)
		if err != nil {
			return nil, err
		}
		if sc.ctes[c.Name.Name] != nil {
			return nil, refuse("invalid CTE: CTE with name %q is already defined", c.Name.Name)
		}
		made := &cte{name: c.Name.Name, sqlName: a.unique(), query: sub, columns: settled(sub.columns)}
		if c.Columns != nil && len(c.Columns) != len(made.columns) {
			return nil, refuse("invalid query: expected %d columns in CTE, got %d", len(made.columns), len(c.Columns))
		}
		names := make([]string, len(made.columns))
		for i := range made.columns {
			if c.Columns != nil {
				made.columns[i] = sourceColumn{name: c.Columns[i].Name, typ: made.columns[i].typ}
			}
			made.columns[i] = a.distinctName(made.columns[i], made.columns[:i])
			names[i] = quote(made.columns[i].ref())
		}
		sc.ctes[made.name] = made
		out.ctes = append(out.ctes, made)
		with = append(with, fmt.Sprintf("%s(%s) AS (%s)", quote(made.sqlName), strings.Join(names, ", "), sub.code))
	}
	var err *Error
	if q.Values != nil {
		err = a.valuesQuery(out, sc, want)
	} else {
		err = a.chain(out, sc, want)
	}
	if err != nil {
		return nil, err
	}
	if len(with) > 0 {
		out.code = "WITH " + strings.Join(with, ", ") + " " + out.code
	}
	return out, nil
}

// valuesQuery analyses VALUES (…), (…).
func (a *analyzer) valuesQuery(out *query, sc *scope, want []sqlType) *Error {
	q := out.node
	types, err := a.valuesTypes(q.Values, sc, want)
	if err != nil {
		return err
	}
	rows := make([]string, len(q.Values))
	for i, r := range q.Values {
		if err := a.checkLiterals(r); err != nil {
			return err
		}
		rows[i] = "(" + a.emitList(r.Items, sc) + ")"
	}
	names := make([]string, len(types))
	for i, t := range types {
		name := fmt.Sprintf("COLUMN_%d", i+1)
		out.columns = append(out.columns, sourceColumn{name: name, typ: t})
		names[i] = fmt.Sprintf("column%d%s AS %s", i+1, t.collation(), quote(name))
	}
	out.values = q.Values
	out.code = "SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(rows, ", ") + ")"
	return a.tail(out, sc)
}

// valuesTypes types the columns of a VALUES list: all rows agree.
func (a *analyzer) valuesTypes(rows []*grammar.Row, sc *scope, want []sqlType) ([]sqlType, *Error) {
	n := len(rows[0].Items)
	for _, r := range rows {
		if len(r.Items) != n {
			return nil, refuse("VALUES lists must all be the same length")
		}
	}
	types := make([]sqlType, n)
	for i := range types {
		list := make([]grammar.Expr, len(rows))
		for j, r := range rows {
			list[j] = r.Items[i]
		}
		w := typeUnknown
		if i < len(want) {
			w = want[i]
		}
		if len(rows) == 1 {
			t, err := a.typed(list[0], w, sc)
			if err != nil {
				return nil, err
			}
			if types[i] = a.effective(list[0]); t == typeUnknown && w != typeUnknown {
				types[i] = w
			}
			continue
		}
		err := a.root(func() (err *Error) {
			types[i], _, err = a.homogeneous("VALUES", list, w, sc)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return types, nil
}

// chain analyses SELECTs joined by set operators.
func (a *analyzer) chain(out *query, sc *scope, want []sqlType) *Error {
	var b strings.Builder
	for i, term := range out.node.Terms {
		inner := &scope{parent: sc}
		code, cols, c, err := a.selectCore(term.Core, inner, want)
		if err != nil {
			return err
		}
		out.cores = append(out.cores, c)
		if i == 0 {
			out.columns = cols
		} else {
			out.columns, cols = settled(out.columns), settled(cols)
			if len(cols) != len(out.columns) {
				return refuse("invalid node: children tuples have mismatching amount of columns. Left: %d, right: %d", len(out.columns), len(cols))
			}
			for j := range cols {
				switch l, r := out.columns[j].typ, cols[j].typ; {
				case l == typeUnknown:
					out.columns[j].typ = r
				case r == typeUnknown || l == r:
				case canCoerce(r, l) && rank(r) <= rank(l):
				case canCoerce(l, r):
					out.columns[j].typ = r
				default:
					return refuse("invalid type: Unable to unify inconsistent types: %s and %s.", l.enumName(), r.enumName())
				}
			}
			b.WriteString(map[grammar.SetOp]string{grammar.Union: " UNION ", grammar.UnionAll: " UNION ALL ", grammar.Except: " EXCEPT "}[term.Op])
		}
		b.WriteString(code)
	}
	if n := len(out.node.Terms); n > maxTerms {
		a.doomed = fmt.Sprintf("Failed to compile SQL statement: The number of UNION or EXCEPT or INTERSECT operations %d exceeds the limit (%d)", n, maxTerms)
	}
	out.code = b.String()
	return a.tail(out, sc)
}

// maxTerms is the storage's limit for the SELECTs that set operators join.
const maxTerms = 30

// tail adds ORDER BY and LIMIT. Both work on what the SELECTs put out: ORDER BY knows nothing of their sources.
func (a *analyzer) tail(out *query, sc *scope) *Error {
	if len(out.node.OrderBy) > 0 {
		src := &source{sqlName: a.unique(), inner: out}
		names := make([]string, len(out.columns))
		out.columns = settled(out.columns)
		for i, c := range out.columns {
			c.output = true
			src.columns = append(src.columns, c)
			names[i] = out.moved(quote(src.sqlName)+"."+quote(c.ref()), c)
		}
		outer := &scope{parent: sc, sources: []*source{src}}
		parts := make([]string, len(out.node.OrderBy))
		for i, o := range out.node.OrderBy {
			text, err := a.orderKey(o, src, outer)
			if err != nil {
				return err
			}
			parts[i] = text + orderSuffix(o)
		}
		if len(parts) == 1 {
			out.orderedBy = a.orderColumn(out.node.OrderBy[0].Expr, out)
		}
		out.code = "SELECT " + strings.Join(names, ", ") + " FROM (" + out.code + ") AS " + quote(src.sqlName) + " ORDER BY " + strings.Join(parts, ", ")
	}
	if l := out.node.Limit; l != nil && !l.All {
		if l.Overflow {
			return refuse("invalid query: LIMIT value doesn't fit into unsigned range")
		}
		out.code += fmt.Sprintf(" LIMIT %d", int64(min(l.Count, 1<<62)))
	}
	return nil
}

// moved is a column of rows that meet on the coordinator: what was computed takes the announced type on the way.
func (q *query) moved(text string, c sourceColumn) string {
	if !c.computed || len(q.cores) != 1 || !q.cores[0].distributed() || q.cores[0].aggregated || len(q.cores[0].node.GroupBy) > 0 {
		return text
	}
	return fmt.Sprintf("(p_moved(%s, %d)%s)", text, c.typ.code(), c.typ.collation())
}

// orderKey is one ORDER BY element: a position, or an expression over the output's columns.
func (a *analyzer) orderKey(o grammar.OrderItem, src *source, sc *scope) (string, *Error) {
	array := func(c sourceColumn) *Error {
		if c.typ.array || c.typ.base == tArrayAny {
			return refuse("invalid expression: Array is not supported as a sort type for ORDER BY")
		}
		return nil
	}
	switch k := unparen(o.Expr).(type) {
	case *grammar.Literal:
		if k.Kind == grammar.IntegerLiteral {
			n, ok := smallInt(k.Value)
			switch {
			case ok && n == 0:
				return "", refuse("invalid expression: ORDER BY position 0 is not in select list")
			case !ok || n < 1 || n > len(src.columns):
				return "", refuse("invalid expression: Ordering index (%s) is bigger than child projection output length (%d).", k.Value, len(src.columns))
			case o.Nulls != grammar.NullsDefault:
				return "", refuse("invalid expression: Nulls order is not supported for index expressions under ORDER BY")
			}
			return fmt.Sprint(n), array(src.columns[n-1])
		}
	case *grammar.Param:
		return "", refuse("invalid expression: Using parameter as a standalone ORDER BY expression doesn't influence sorting.")
	}
	if _, err := a.typed(o.Expr, typeUnknown, sc); err != nil {
		return "", err
	}
	if ref, ok := unparen(o.Expr).(*grammar.ColumnRef); ok && a.columns[ref].source != nil {
		if err := array(src.columns[a.columns[ref].index]); err != nil {
			return "", err
		}
	}
	if !refers(o.Expr) {
		return "", refuse("invalid expression: ORDER BY element that is not position and doesn't contain reference doesn't influence ordering.")
	}
	if err := a.checkLiterals(o.Expr); err != nil {
		return "", err
	}
	return compared(a.emit(o.Expr, sc), a.effective(o.Expr)), nil
}

// settled are a query's columns as others see them.
func settled(cols []sourceColumn) []sourceColumn {
	out := slices.Clone(cols)
	for i := range out {
		if out[i].inner != nil {
			out[i].typ, out[i].inner = *out[i].inner, nil
		}
	}
	return out
}

// many tells whether a query may yield several rows.
func (q *query) many() bool {
	if len(q.cores) != 1 {
		return len(q.values) != 1
	}
	c := q.cores[0]
	one := len(c.sources) == 0 || c.aggregated && len(c.node.GroupBy) == 0
	return !one && (q.node.Limit == nil || q.node.Limit.All || q.node.Limit.Count > 1)
}

// orderColumn is the output column that an ORDER BY element names, -1 if it's an expression.
func (a *analyzer) orderColumn(x grammar.Expr, out *query) int {
	switch k := unparen(x).(type) {
	case *grammar.Literal:
		n, _ := smallInt(k.Value)
		return n - 1
	case *grammar.ColumnRef:
		return a.columns[k].index
	}
	return -1
}

// refers tells whether a column or a subquery is a part of an expression.
func refers(x grammar.Expr) bool {
	found := false
	grammar.Walk(x, func(n grammar.Node) bool {
		switch n.(type) {
		case *grammar.ColumnRef, *grammar.SubQuery, *grammar.Exists:
			found = true
		}
		return !found
	})
	return found
}

// source analyses an item of FROM.
func (a *analyzer) source(s *grammar.Source, sc *scope) (src *source, code string, err *Error) {
	src = &source{sqlName: a.unique()}
	if s.Query != nil {
		q, err := a.query(s.Query, sc.parent, nil)
		if err != nil {
			return nil, "", err
		}
		src.columns, src.inner = settled(q.columns), q
		code = "(" + q.code + ")"
	} else {
		src.name = s.Table.Name
		if c := sc.cte(s.Table.Name); c != nil {
			src.columns, src.inner, src.cte = c.columns, c.query, true
			code = quote(c.sqlName)
		} else {
			t, ok := a.cat.lookup(s.Table.Name, a.sess.Version)
			if !ok {
				return nil, "", refuse("table with name %q not found", s.Table.Name)
			}
			a.use(t)
			if err := t.indexedBy(s.IndexedBy); err != nil {
				return nil, "", err
			}
			src.table = t
			src.columns = tableColumns(t)
			code = a.marker(t)
		}
	}
	if s.Alias != nil {
		src.name = s.Alias.Name
	}
	return src, code + " AS " + quote(src.sqlName), nil
}
